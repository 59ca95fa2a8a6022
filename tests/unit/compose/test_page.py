"""docs/app-init.md: its example is what `init` makes."""

import re
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.unit.compose.conftest import made

PAGE = Path(__file__).parents[3] / "docs" / "app-init.md"


def test_the_example_of_the_page(project: Callable[..., Path]) -> None:
    compose, target = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    ini = "[uwsgi]\nhttp-socket = :8000\nmodule = shop\n"
    project(compose=compose, docker="FROM shop\n", ini=ini)
    found = made()
    described = {"description": "web of compose.yml", **yaml.safe_load(target)}
    assert yaml.safe_load(found.text) == described
    for line in target.splitlines():
        if line.startswith("#"):
            assert line.removesuffix(" [...]") in found.text
