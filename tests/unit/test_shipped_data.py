"""Every target app of the repository makes a job with every search space, without starting it."""

import itertools

import pytest

from tuner import bootstrap
from tuner.catalog import Catalog
from tuner.model import JobRequest
from tuner.search_space import derive

CATALOG = Catalog.load()


@pytest.mark.parametrize(
    ("app", "space"), [*itertools.product(sorted(CATALOG.apps), sorted(CATALOG.spaces))]
)
def test_every_app_goes_with_every_space(app: str, space: str) -> None:
    request = JobRequest.model_validate(
        {"app": app, "target": {"target_app": app}, "search_space": space}
    )
    domain = derive(bootstrap.resolver(CATALOG)(request))
    assert domain.free
    assert domain.render(domain.baseline) == CATALOG.apps[app].baseline_ini
