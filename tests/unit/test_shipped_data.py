"""Every target app of the repository with every search space, without starting it."""

import itertools

import pytest

from tests.space_jobs import FITTING
from tuner import bootstrap
from tuner.catalogue import HostCatalogue
from tuner.errors import InvalidInput
from tuner.model import TuneRequest
from tuner.search_space import derive

CATALOG = HostCatalogue.load()


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
