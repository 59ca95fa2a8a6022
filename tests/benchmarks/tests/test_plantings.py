"""The planted truths as jobs: valid, true to what they say, and judged by the file alone."""

import json

import pytest

from tests import plants
from tests.plants import GAIN, HARMFUL_SEED, NOTHING, PARAMETERS, PLANTINGS, Planting
from tuner.nouns.model import JobSpec, Params, TuneRequest
from tuner.study import resolve
from tuner.targets.catalogue import HostCatalogue
from tuner.targets.search_space import Domain, derive
from tuner.uwsgi.ini import IniFile

ALL = (*PLANTINGS, NOTHING, plants.TWO_LARGE_GAINS)


def domain_of(planting: Planting) -> Domain:
    return derive(spec_of(planting))


def spec_of(planting: Planting) -> JobSpec:
    """As the service takes it: through JSON, with every check."""
    body = json.loads(json.dumps(planting.request()))
    return resolve(TuneRequest.model_validate(body), HostCatalogue.load([plants.TARGET_APPS]))


def shipped(planting: Planting, params: Params) -> str:
    domain = domain_of(planting)
    return domain.render({**domain.baseline, **params})


@pytest.mark.parametrize("planting", ALL, ids=lambda planting: planting.name)
def test_every_planting_is_a_job_with_its_plants_in_the_file(planting: Planting) -> None:
    spec = spec_of(planting)
    assert [dimension.name for dimension in derive(spec).free] == list(PARAMETERS)
    (told,) = (
        value.removeprefix("PLANTS=")
        for value in IniFile.parse(spec.baseline_ini).values("env")
        if value.startswith("PLANTS=")
    )
    assert tuple(json.loads(told)) == planting.plants


@pytest.mark.parametrize("planting", ALL, ids=lambda planting: planting.name)
def test_nothing_planted_is_switched_on_in_the_users_own_file(planting: Planting) -> None:
    ini = IniFile.parse(planting.baseline_ini)
    for plant in planting.plants:
        assert ini.get(plant["option"]) not in (None, plant["value"])


@pytest.mark.parametrize("planting", ALL, ids=lambda planting: planting.name)
def test_every_plant_can_be_reached_and_every_trap_is_tried_for_certain(planting: Planting) -> None:
    domain = domain_of(planting)
    for plant in planting.plants:
        name = plant["option"]
        values = next(d.values for d in domain.dimensions if d.name == name)
        files = [domain.render({**domain.baseline, name: value}) for value in values]
        assert plant["value"] in [IniFile.parse(file).get(name) for file in files]
    tried = [plants.changed(planting.baseline_ini, domain.render(s)) for s in domain.seeds()]
    assert all(any(option in file for file in tried) for option in planting.refuse)


def test_a_heuristic_with_everything_sets_every_parameter() -> None:
    (heuristic,) = domain_of(HARMFUL_SEED).seeds()
    file = shipped(HARMFUL_SEED, heuristic)
    assert plants.changed(HARMFUL_SEED.baseline_ini, file).keys() == PARAMETERS.keys()


def test_a_file_without_the_gain_does_not_pass() -> None:
    assert GAIN.wrong_with(GAIN.baseline_ini) == ("vacuum is not in the file",)
    assert GAIN.wrong_with(shipped(GAIN, {"vacuum": True})) == ()


def test_a_file_with_the_trap_does_not_pass_whatever_else_it_holds() -> None:
    both = shipped(HARMFUL_SEED, {"vacuum": True, "reload-mercy": 30})
    assert HARMFUL_SEED.wrong_with(both) == ("vacuum = true is in the file",)
    assert HARMFUL_SEED.wrong_with(shipped(HARMFUL_SEED, {"reload-mercy": 30})) == ()
    assert HARMFUL_SEED.wrong_with(HARMFUL_SEED.baseline_ini) == ()


def test_a_gain_is_as_much_less_work() -> None:
    assert plants.gains(0.25) == pytest.approx(0.8)
    assert plants.gains(-0.40) == pytest.approx(1 / 0.6)
