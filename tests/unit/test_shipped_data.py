"""Every target app of the repository with every search space, without starting it."""

import itertools
import os
from pathlib import Path

import pytest
import yaml

from tests.space_jobs import FITTING
from tuner.cli.compare import our_suites, suite_of
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import CompareRequest, TuneRequest
from tuner.service import bootstrap
from tuner.targets.catalogue import HostCatalogue
from tuner.targets.search_space import derive

COMPOSE = "docker-compose.yml"
CATALOG = HostCatalogue.load()
BUILT = [
    pytest.param(app.folder / service.build, id=f"{name}-{service_name}")
    for name, app in sorted(CATALOG.apps.items())
    for service_name, service in app.app.services.items()
    if service.build is not None
]
COMPOSED = sorted(name for name, app in CATALOG.apps.items() if (app.folder / COMPOSE).exists())


@pytest.mark.parametrize(
    ("app", "space"), [*itertools.product(sorted(CATALOG.apps), sorted(CATALOG.spaces))]
)
def test_every_app_goes_with_every_space_or_is_told_what_is_missing(app: str, space: str) -> None:
    wanted = {**FITTING[space], "target": {"target_app": app}}
    request = TuneRequest.model_validate({"app": app, "search_space": space, **wanted})
    lacking = {f"{space}: {rule.reason}" for rule in CATALOG.spaces[space].requires}
    try:
        domain = derive(bootstrap.resolver(CATALOG)(request))
    except InvalidInput as refused:
        told = {m.message for m in refused.mistakes if m.path == "search_space"}
        assert told
        assert told <= lacking
    else:
        assert domain.free
        assert domain.render(domain.baseline) == CATALOG.apps[app].baseline_ini


@pytest.mark.parametrize("app", sorted(CATALOG.apps))
@pytest.mark.parametrize("space", ["default", "cpu-bound", "io-bound"])
def test_the_general_spaces_refuse_no_app(app: str, space: str) -> None:
    request = {"app": app, "target": {"target_app": app}, "search_space": space}
    assert derive(bootstrap.resolver(CATALOG)(TuneRequest.model_validate(request))).free


@pytest.mark.parametrize("folder", BUILT)
def test_a_service_is_built_on_the_base_image_and_can_be_entered(folder: Path) -> None:
    lines = (folder / "Dockerfile").read_text().splitlines()
    assert "FROM ${BASE_IMAGE}" in lines
    assert os.access(folder / "entrypoint.sh", os.X_OK)


@pytest.mark.parametrize("file", ["Dockerfile", "entrypoint.sh"])
def test_the_databases_of_all_apps_are_built_alike(file: str) -> None:
    """Each app has its own copy, because a user copies the folder of one app."""
    copies = {app.folder / "postgres" / file for app in CATALOG.apps.values()}
    found = [copy.read_text() for copy in copies if copy.exists()]
    assert len(found) >= 2
    assert len(set(found)) == 1


@pytest.mark.parametrize("app", COMPOSED)
def test_the_compose_file_beside_an_app_has_the_same_services(app: str) -> None:
    known = CATALOG.apps[app]
    composed = yaml.safe_load((known.folder / COMPOSE).read_text())["services"]
    assert {*composed} - {"web"} == {*known.app.services}
    for name, service in known.app.services.items():
        assert {*composed[name].get("environment", {})} == {*service.env}
        assert [volume.partition(":")[2] for volume in composed[name]["volumes"]] == [
            *service.volumes
        ]


@pytest.mark.parametrize("name", our_suites())
def test_every_suite_is_a_comparison_that_can_be_submitted(name: str) -> None:
    spec = bootstrap.resolver(CATALOG)(CompareRequest.model_validate(suite_of(name)))
    assert len(spec.variants) > 1
    assert any(not target.is_uwsgi for target in spec.targets)
