"""What an app may need in its container, and what is refused."""

from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from tuner.nouns.masking import masked
from tuner.nouns.model import FromWorker, HealthCheck, TargetRequest
from tuner.service.images import _secrets

SHOP = """
image: registry.example/shop/cart:1.4
env: {DEBUG: 0, RATE: 1.5, SECRET_KEY: {from_worker: SHOP_SECRET_KEY}}
user: "1000:1000"
working_dir: /srv/app
tmpfs: [/tmp, "/scratch:size=64m"]
shm_mb: 128
host_header: shop.example
"""


def test_numbers_of_yaml_are_texts_and_secrets_are_names() -> None:
    shop = TargetRequest.model_validate(yaml.safe_load(SHOP))
    secret = FromWorker(from_worker="SHOP_SECRET_KEY")
    assert shop.env == {"DEBUG": "0", "RATE": "1.5", "SECRET_KEY": secret}
    assert TargetRequest.model_validate_json(shop.model_dump_json()) == shop


@pytest.mark.parametrize("name", ["discovery.type", "A-B", "1A", "xpack.security.enabled"])
def test_a_variable_has_any_name_that_docker_takes(name: str) -> None:
    shop = TargetRequest.model_validate({"image": "shop", "env": {name: "x"}})
    assert shop.env == {name: "x"}


@pytest.mark.parametrize(
    "needs",
    [
        {"env": {"A=B": "1"}},
        {"env": {"A": True}},
        {"env": {"A": {"from_worker": ""}}},
        {"env": {"A": "\0"}},
        {"user": "root; id"},
        {"working_dir": "app"},
        {"tmpfs": ["tmp"]},
        {"tmpfs": ["/tmp:exec,size=1g"]},
        {"shm_mb": 0},
        {"host_header": "shop.example\r\nX: y"},
        {"files": {"/srv/../etc/passwd": "x"}},
        {"files": {"local.py": "x"}},
        {"files": {"/srv/a": "x"}, "executables": ["/srv/b"]},
        {"secrets": {"../passwd": {"from_worker": "A"}}},
        {"secrets": {"key": "in the open"}},
        {"secrets": {"key": {"file": "key.txt"}}},
        {"secrets": ["key"]},
    ],
)
def test_other_needs_are_refused(needs: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TargetRequest.model_validate({"image": "shop", **needs})


def test_a_worker_gives_away_what_its_operator_names_and_nothing_of_ours() -> None:
    environ = {"SHOP_KEY": "k", "SHOP_EMPTY": "", "TUNER_API_KEY": "t", "HOME": "/"}
    assert _secrets(("SHOP_*",), environ) == {"SHOP_KEY": "k"}
    assert _secrets(("*",), environ) == {"SHOP_KEY": "k", "HOME": "/"}
    assert _secrets((), environ) == {}


def test_documents_have_the_names_of_variables_only() -> None:
    target = TargetRequest.model_validate(yaml.safe_load(SHOP))
    assert set(masked(target).env.values()) == {"***", FromWorker(from_worker="SHOP_SECRET_KEY")}


@pytest.mark.parametrize("test", [[], ["CMD"], ["NONE"], ["echo", "1"]])
def test_a_health_check_without_a_command_is_a_mistake(test: list[str]) -> None:
    with pytest.raises(ValidationError, match="give a text for a shell"):
        HealthCheck.model_validate({"test": test})
