"""Apps with a database, as users bring them: their images built, their data filled, a verdict."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.patience import TEST_ENDS_WITHIN_S
from tests.service import Json, Service, is_refused_as_busy, running
from tests.variants import SHOP, write_variant
from tuner.nouns.model import Verdict
from tuner.uwsgi.derived import semantic_diff
from tuner.uwsgi.ini import IniFile

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

SHORT = {
    "preset": "demo",
    "trials": 3,
    "calibrate_blocks": 2,
    "confirm_blocks": 5,
    "cycles": 1,
    "window_s": 2.0,
    "warmup_s": 1.0,
}
OWN_INI = (SHOP / "uwsgi.ini").read_text()
UNREACHABLE = ("connection broken by", "Unable to locate package")
"""What pip and apt-get say on a machine without a package index."""


SLOW = {"postgres": {"cpus": 0.2}}
FEW = {"postgres": {"command": ["postgres", "-c", "max_connections=8"]}}


MANIFEST = Path(__file__).with_name("django-shop.yaml")
"""The shop as a cluster runs it: its images are those of IMAGES."""
IMAGES = {"shop": SHOP, "postgres": SHOP / "postgres", "redis": SHOP / "redis"}
SECRETS = {
    "SECRET_KEY": "only-for-measuring-0123456789-0123456789-0123456789",
    "DB_PASSWORD": "only-for-measuring",
    "DATABASE_URL": "postgresql://postgres:only-for-measuring@postgres:5432/shop",
}


@pytest.fixture(scope="module")
def images() -> Iterator[None]:
    """Those of the manifest; skips where they cannot be built for want of packages."""
    names = [f"uwsgi-tuner-test/{name}:1" for name in IMAGES]
    for name, folder in zip(names, IMAGES.values(), strict=True):
        build = ["docker", "build", "--network=host", "--tag", name, str(folder)]
        built = subprocess.run(build, capture_output=True, text=True, check=False, timeout=600)
        if any(words in built.stdout + built.stderr for words in UNREACHABLE):
            pytest.skip(f"needs package indexes to build the image {name}")
        assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    yield
    subprocess.run(["docker", "image", "rm", *names], capture_output=True, check=True)


@pytest.fixture(scope="module")
def service(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    apps = tmp_path_factory.mktemp("apps")
    for name, services in (("slow-postgres", SLOW), ("few-connections", FEW)):
        write_variant(apps, name, SHOP, services=services)
    tuner("app", "init", str(apps / "cluster-shop"), "--kubernetes", str(MANIFEST))
    with running(
        until="/readyz",
        measures=True,
        TUNER_TARGET_APPS=str(apps),
        TUNER_READY_TIMEOUT_S="60",
        TUNER_IMAGES_ALLOWED="docker.io/uwsgi-tuner-test/*",
        TUNER_SECRETS_ALLOWED=",".join(SECRETS),
        **SECRETS,
    ) as service:
        yield service
        service.wait_for(lambda: not service.leftovers(), 30, "nothing is left over")


def tuner(*arguments: str, **environ: str) -> str:
    """What a command of `tuner` prints."""
    command = [sys.executable, "-m", "tuner.cli", *arguments]
    ran = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def finished(service: Service, **request: Any) -> Json:
    """The job's end; skips where the images cannot be built for want of packages."""
    ended = service.finish(service.submit(**request)["id"])
    if is_refused_as_busy(ended):
        return service.succeed(**request)
    failure = ended.get("failure") or {}
    if any(words in str(failure.get("log_tail")) for words in UNREACHABLE):
        pytest.skip(f"needs package indexes to build the images: {failure['message']}")
    assert ended["state"] == "succeeded", f"{failure}\n{service.log()}"
    return ended


def test_an_app_with_its_database_gets_a_verdict(service: Service, tmp_path: Path) -> None:
    """From manifests to the ConfigMap with the answer, which `app init` reads again."""
    app = "cluster-shop"
    workload = yaml.safe_load((SHOP / "target.yaml").read_text())["workload"]
    pages = [each for each in workload["requests"] if "headers" not in each]  # no k6 is needed
    workload |= {"requests": pages}
    target = {"target_app": app}
    ended = finished(service, app=app, target=target, workload=workload, budget=SHORT, max_slots=16)
    of_job = f"/v1/jobs/{ended['id']}"
    answer = service.get(f"{of_job}/recommendation").json()
    assert answer["verdict"] in {*Verdict}
    assert "module = shop.wsgi:application" in service.get(f"/v1/apps/{app}/uwsgi.ini").text
    # The baseline answered every request as expected: with pages from the data.
    windows = service.get(f"{of_job}/trials/0?raw=1").json()["windows"]
    assert windows
    for window in windows:
        assert window["errors"] == 0, window["errors_by_class"]
        assert window["requests"] > 0
    form = ("--form", "kubernetes", "--in", str(MANIFEST))
    url = f"http://127.0.0.1:{service.port}"
    deployed = tmp_path / "deployed.yaml"
    deployed.write_text(applied(tuner("recommend", app, *form, TUNER_URL=url)))
    tuner("app", "init", str(tmp_path / app), "--kubernetes", str(deployed))
    new = IniFile.parse((tmp_path / app / "uwsgi.ini").read_text())
    assert semantic_diff(IniFile.parse(answer["uwsgi_ini"]), new) == ()
    changed = {each.option for each in semantic_diff(IniFile.parse(OF_CLUSTER), new)}
    assert changed == {line["option"] for line in answer["lines"]}


OF_CLUSTER = next(yaml.safe_load_all(MANIFEST.read_text()))["data"]["uwsgi.ini"]


def applied(answer: str) -> str:
    """The manifests with the ConfigMap of an answer, as the cluster has them afterwards."""
    config, *_ = (each for each in yaml.safe_load_all(answer) if each["kind"] == "ConfigMap")
    _, *others = yaml.safe_load_all(MANIFEST.read_text())
    return yaml.safe_dump_all([config, *others])


def test_a_database_that_is_too_slow_is_the_bottleneck(service: Service) -> None:
    ended = finished(service, kind="compare", target={"target_app": "slow-postgres"}, blocks=1)
    (arm,) = ended["report"]["arms"]
    assert arm["diagnosis"]["bottleneck"] == "backing_service", arm["diagnosis"]
    assert arm["diagnosis"]["sentence"].startswith("postgres ")
    assert arm["services"]["postgres"]["cores"] <= 0.25


def test_a_database_that_allows_too_few_connections_is_the_cause_of_errors(
    service: Service,
) -> None:
    inis = [{"name": f"{each}-threads", "ini": f"{OWN_INI}threads = {each}\n"} for each in (1, 8)]
    target = {"target_app": "few-connections"}
    ended = finished(service, kind="compare", target=target, arms=inis, blocks=1)
    fits, exceeds = ended["report"]["arms"]
    assert "service_refused" not in fits["doubts"]
    assert "service_refused" in exceeds["doubts"]
    found = exceeds["diagnosis"]
    assert found["bottleneck"] == "backing_service", found
    assert "too many clients" in found["sentence"]
    assert "16 slots" in found["sentence"]
    raw = service.get(f"/v1/jobs/{ended['id']}/windows").json()["windows"]
    refusals = [one["surroundings"]["refusal"] for one in raw if one["trial"] == 1]
    assert refusals
    assert all("too many clients" in line for line in refusals)
