"""The noise-aware Gaussian process: better than chance, not fooled by luck, robust."""

import math
import statistics
from collections.abc import Sequence

import pytest

from tests.benchmarks.replay.samplers import AnySampler, SpaceFilling
from tests.builders import space, spec
from tests.unit.sampler.planted import OPTIMISER, Search, begun, hill, slots_domain, tried
from tuner.nouns.model import Params, SamplerName
from tuner.study import Observation
from tuner.targets.search_space import Domain, derive

SEEDS = range(10)


@pytest.fixture
def domain() -> Domain:
    return slots_domain()


def regret(domain: Domain, sampler: AnySampler, seed: int) -> float:
    search = Search(domain, hill, sampler, seed)
    search.run(25)
    return hill({"processes": 9, "threads": 2}) - hill(search.believed_best)


@pytest.mark.full
def test_it_finds_the_planted_optimum_sooner_than_chance(domain: Domain) -> None:
    found = [regret(domain, SamplerName.GP, seed) for seed in SEEDS]
    by_chance = [regret(domain, SpaceFilling.RANDOM, seed) for seed in SEEDS]
    wins = [ours <= theirs for ours, theirs in zip(found, by_chance, strict=True)]
    assert sum(wins) >= 7
    assert statistics.median(found) <= 0.05


@pytest.mark.full
def test_it_keeps_away_from_where_others_crashed(domain: Domain) -> None:
    def narrow(params: Params) -> float | None:
        return None if int(params["processes"]) * int(params["threads"]) > 12 else hill(params)

    def crashes(sampler: AnySampler) -> int:
        searches = [Search(domain, narrow, sampler, seed).run(20) for seed in SEEDS]
        return sum(not trial.feasible for observations in searches for trial in observations)

    assert crashes(SamplerName.GP) < 0.7 * crashes(SpaceFilling.RANDOM)


def test_broken_bounds_are_avoided_however_fast_they_are() -> None:
    line = derive(
        spec(search_space=space(processes={"type": "int", "low": 1, "high": 32, "log": True}))
    )
    observations = begun(line)
    for number, processes in enumerate((16, 20, 24, 28, 32), start=1):
        params = {"processes": processes}
        observations.append(tried(number, params, math.log(processes), feasible=False))
    proposal = OPTIMISER.propose(line, observations, sampler=SamplerName.GP, seed=1)
    assert proposal is not None
    assert int(proposal.params["processes"]) < 16


def test_a_promising_but_noisy_trial_is_measured_again() -> None:
    line = derive(spec(search_space=space(processes={"type": "int", "low": 1, "high": 5})))
    observations = [
        *begun(line),
        tried(1, {"processes": 1}, -0.3, sd=0.02, may_repeat=True),
        tried(2, {"processes": 3}, 0.10, sd=0.08, may_repeat=True),
        tried(3, {"processes": 4}, 0.09, sd=0.02, may_repeat=True),
        tried(4, {"processes": 5}, -0.1, sd=0.02, may_repeat=True),
    ]
    proposal = OPTIMISER.propose(line, observations, sampler=SamplerName.GP, seed=1)
    assert proposal is not None
    assert proposal.params == {"processes": 3}
    assert proposal.gain is not None
    assert proposal.gain > 0


def test_new_params_come_before_another_block_of_known_ones(domain: Domain) -> None:
    observations = begun(domain)
    for number in range(1, 6):
        observations.append(
            tried(number, {"processes": 4 + number, "threads": 1}, 0.1, may_repeat=True)
        )
    proposal = OPTIMISER.propose(domain, observations, sampler=SamplerName.GP, seed=1)
    assert proposal is not None
    assert proposal.gain is not None
    assert proposal.params not in [trial.params for trial in observations]


def test_two_hosts_are_sent_to_different_places(domain: Domain) -> None:
    observations = Search(domain, hill, SamplerName.GP, seed=3).run(10)
    proposals: list[Params] = []
    for number in range(11, 15):
        proposal = OPTIMISER.propose(domain, observations, sampler=SamplerName.GP, seed=5)
        assert proposal is not None
        proposals.append(proposal.params)
        observations = [*observations, tried(number, proposal.params, None, feasible=True)]
    assert len({tuple(params.items()) for params in proposals}) == 4


def test_a_special_value_is_not_the_neighbour_of_small_numbers() -> None:
    """With 0 the option is off: what 1 to 16 say about each other says nothing about it."""
    lever = derive(
        spec(search_space=space(buffer={"type": "choice", "values": [0, 1, 2, 4, 8, 16, 32]}))
    )
    observations = [tried(0, {"buffer": 0}, 0.0, sd=0.002)]
    for number, size in enumerate((1, 2, 8, 16), start=1):
        observations.append(tried(number, {"buffer": size}, 0.4 + 0.01 * number, sd=0.02))
    beliefs = OPTIMISER.believe(lever, observations)
    assert beliefs[observations[0].number].mean == pytest.approx(0.0, abs=0.02)
    assert beliefs[observations[1].number].mean == pytest.approx(0.41, abs=0.03)


ODD: dict[str, Sequence[float | None]] = {
    "one score": [],
    "all equal": [0.0] * 6,
    "an outlier": [0.02, -5.0, 0.03, 0.01, -0.02],
    "half of a percent apart": [0.005, 0.0, 0.005, 0.01, 0.0],
    "factors of fifty": [3.9, 1.0, 0.2, -0.3, 2.5],
    "only crashes": [None] * 5,
}


@pytest.mark.parametrize("scores", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("dimensions", [1, 12])
def test_odd_pasts_are_survived(scores: Sequence[float | None], dimensions: int) -> None:
    cube = derive(
        spec(
            search_space=space(
                **{f"option-{n}": {"type": "int", "low": 1, "high": 20} for n in range(dimensions)}
            ),
            baseline_ini="[uwsgi]\n" + "".join(f"option-{n} = 1\n" for n in range(dimensions)),
        )
    )
    observations = begun(cube)
    for number, score in enumerate(scores, start=1):
        params = {name: 1 + number for name in cube.baseline}
        observations.append(tried(number, params, score))
    proposal = OPTIMISER.propose(cube, observations, sampler=SamplerName.GP, seed=1)
    assert proposal is not None
    assert proposal.params not in [trial.params for trial in observations]
    beliefs = OPTIMISER.believe(cube, observations)
    assert beliefs.keys() == {trial.number for trial in observations if trial.feasible}
    assert all(math.isfinite(belief.mean) and belief.sd > 0 for belief in beliefs.values())


@pytest.mark.full
def test_a_large_space_is_searched_beyond_its_sample() -> None:
    """Of 160,000 combinations a thousand are candidates; the neighbours lead to the best."""
    names = ("alpha", "beta", "gamma", "delta")
    large = derive(
        spec(
            search_space=space(**{name: {"type": "int", "low": 1, "high": 20} for name in names}),
            baseline_ini="[uwsgi]\n" + "".join(f"{name} = 1\n" for name in names),
        )
    )

    def bowl(params: Params) -> float:
        return -0.01 * sum((int(params[name]) - 13) ** 2 for name in names) / len(names)

    observations: list[Observation] = Search(large, bowl, SamplerName.GP, seed=2, noise=0.01).run(
        25
    )
    assert max(bowl(trial.params) for trial in observations) > -0.02
