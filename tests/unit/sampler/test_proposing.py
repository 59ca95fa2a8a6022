"""Proposals: valid, new unless wanted again, reproducible, and drawn to what works."""

import json
import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from tests.benchmarks.replay.samplers import AnySampler, SpaceFilling
from tests.builders import space, spec
from tests.unit.sampler.planted import OPTIMISER, Search, begun, hill, slots_domain, tried
from tuner.nouns.model import Params, SamplerName, TrialNumber
from tuner.study import Observation
from tuner.targets.search_space import Domain, derive

SAMPLERS: list[AnySampler] = [*SamplerName, *SpaceFilling]
TINY = {"processes": {"type": "int", "low": 2, "high": 3}}
MIXED = {
    "processes": {"type": "int", "low": 1, "high": 16, "log": True},
    "threads": {"type": "choice", "values": [1, 2, 4, 8]},
    "max-requests": {"type": "int", "low": 0, "high": 5000},
    "cheaper-step": {"type": "choice", "values": [0, 1, 4]},
    "thunder-lock": {"type": "bool", "needs": "processes >= 2"},
    "logging": {
        "type": "choice",
        "values": ["user", "errors-only", "off"],
        "emit": {"errors-only": {"log-5xx": True}, "off": {"disable-logging": True}},
    },
}


@pytest.fixture
def domain() -> Domain:
    return slots_domain()


def proposed(
    domain: Domain, observations: list[Observation], sampler: AnySampler, seed: int = 9
) -> Params:
    proposal = OPTIMISER.propose(domain, observations, sampler=sampler, seed=seed)
    assert proposal is not None
    return proposal.params


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_proposals_keep_the_rules_and_never_repeat(domain: Domain, sampler: AnySampler) -> None:
    observations = Search(domain, hill, sampler, seed=1).run(30)
    params = [dict(trial.params) for trial in observations]
    assert all(params.count(one) == 1 for one in params)
    assert not any(domain.broken(one) for one in params[1:])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_mixed_spaces_are_searched_settled_and_within_their_values(sampler: AnySampler) -> None:
    mixed = derive(spec(search_space=space(**MIXED)))
    truth = {"user": 0.0, "errors-only": 0.1, "off": 0.2}
    search = Search(mixed, lambda params: truth[str(params["logging"])], sampler, seed=3)
    for trial in search.run(12):
        assert mixed.settle(trial.params) == trial.params
        for dimension in mixed.free:
            value = trial.params[dimension.name]
            assert value in (dimension.values or range(dimension.low, dimension.high + 1))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_space_that_is_used_up_gives_nothing(sampler: AnySampler) -> None:
    small = derive(spec(search_space=space(**TINY)))
    observations = [tried(n, {"processes": 2 + n}, 0.0) for n in range(2)]
    assert OPTIMISER.propose(small, observations, sampler=sampler, seed=1) is None


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_where_nothing_new_is_left_another_block_is_asked_of_what_may_have_it(
    sampler: AnySampler,
) -> None:
    small = derive(spec(search_space=space(**TINY)))
    observations = [*begun(small), tried(1, {"processes": 3}, 0.1, may_repeat=True)]
    assert proposed(small, observations, sampler) == {"processes": 3}


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "changes",
    [
        {"score": None, "feasible": True},
        {"score": None, "feasible": False},
        {"score": 0.4, "feasible": False},
        {"score": None, "feasible": True, "told": False},
    ],
    ids=["running", "crashed", "bound broken", "host's fault"],
)
def test_what_has_no_good_score_is_not_proposed_again(
    sampler: AnySampler, changes: dict[str, object]
) -> None:
    small = derive(spec(search_space=space(**TINY)))
    other = Observation(
        **{  # type: ignore[arg-type]
            **{"number": TrialNumber(1), "params": {"processes": 3}, "may_repeat": True},
            **changes,
        }
    )
    assert OPTIMISER.propose(small, [*begun(small), other], sampler=sampler, seed=2) is None


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_on_a_plateau_it_goes_on_until_the_space_is_used_up(sampler: AnySampler) -> None:
    plateau = derive(spec(search_space=space(processes={"type": "int", "low": 1, "high": 12})))
    observations = Search(plateau, lambda params: 0.0, sampler, seed=4, noise=0.0).run(11)
    assert {int(trial.params["processes"]) for trial in observations} == set(range(1, 13))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_what_is_still_running_is_not_proposed_again(domain: Domain, sampler: AnySampler) -> None:
    observations = Search(domain, hill, sampler, seed=5).run(6)
    first = proposed(domain, observations, sampler)
    assert proposed(domain, [*observations, tried(7, first, None, feasible=True)], sampler) != first


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_files_from_outside_the_domain_are_taken_in(domain: Domain, sampler: AnySampler) -> None:
    observations = [*begun(domain), tried(1, {"processes": 100, "threads": 3}, 0.2)]
    assert not domain.broken(proposed(domain, observations, sampler))


FRESH_PROCESS = """
import json
from tests.benchmarks.replay.samplers import SpaceFilling
from tests.unit.sampler.planted import OPTIMISER, Search, hill, slots_domain
from tuner.nouns.model import SamplerName
domain = slots_domain()
observations = Search(domain, hill, SpaceFilling.RANDOM, seed=6).run(12)
found = {
    name: dict(OPTIMISER.propose(domain, observations, sampler=name, seed=77).params)
    for name in (*SamplerName, *SpaceFilling)
}
beliefs = OPTIMISER.believe(domain, observations)
print(json.dumps([found, [beliefs[trial.number].mean for trial in observations]]))
"""


@pytest.mark.full
def test_a_fresh_process_proposes_and_believes_the_same(domain: Domain) -> None:
    observations = Search(domain, hill, SpaceFilling.RANDOM, seed=6).run(12)
    found = {name.value: dict(proposed(domain, observations, name, seed=77)) for name in SAMPLERS}
    beliefs = OPTIMISER.believe(domain, observations)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH_PROCESS],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [
        found,
        [beliefs[trial.number].mean for trial in observations],
    ]


def test_the_seed_decides_where_the_past_does_not(domain: Domain) -> None:
    for sampler in SAMPLERS:
        first = [proposed(domain, begun(domain), sampler, seed=seed) for seed in range(20)]
        assert len({tuple(params.items()) for params in first}) > 1, sampler


def test_only_the_gaussian_process_says_what_it_expects(domain: Domain) -> None:
    observations = Search(domain, hill, SpaceFilling.RANDOM, seed=7).run(8)
    for sampler in SAMPLERS:
        proposal = OPTIMISER.propose(domain, observations, sampler=sampler, seed=1)
        assert proposal is not None
        assert (proposal.gain is not None) == (sampler is SamplerName.GP)


def test_what_it_expects_to_gain_shrinks_as_it_learns(domain: Domain) -> None:
    search = Search(domain, hill, SamplerName.GP, seed=8, noise=0.03)
    gains = []
    for _ in range(3):
        search.run(8)
        proposal = OPTIMISER.propose(domain, search.observations, sampler=SamplerName.GP, seed=1)
        assert proposal is not None
        assert proposal.gain is not None
        gains.append(proposal.gain)
    assert all(later < sooner for sooner, later in pairwise(gains))
    assert gains[-1] < 0.01


def test_the_sobol_sequence_goes_on_from_trial_to_trial() -> None:
    wide = derive(spec(search_space=space(processes={"type": "int", "low": 0, "high": 1023})))

    def gaps(sampler: AnySampler) -> list[int]:
        observations = Search(wide, lambda params: 0.0, sampler, seed=2).run(32)
        drawn = sorted(int(trial.params["processes"]) for trial in observations[1:])
        return [after - before for before, after in pairwise(drawn)]

    # Of 33 consecutive points of the sequence one lies in every 32nd but one; chance has no rule.
    assert max(gaps(SpaceFilling.QMC)) <= 3 * 32 < max(gaps(SpaceFilling.RANDOM))


@pytest.mark.full
def test_tpe_finds_the_planted_optimum(domain: Domain) -> None:
    observations = Search(domain, hill, SamplerName.TPE, seed=1, noise=0.0).run(30)
    best = max(observations, key=lambda trial: trial.score or 0.0)
    assert hill(best.params) > hill({"processes": 9, "threads": 2}) - 0.05


@pytest.mark.full
def test_tpe_keeps_away_from_a_cliff_that_it_was_told_of(domain: Domain) -> None:
    def crashes(told: bool) -> int:
        search = Search(domain, cliff, SamplerName.TPE, seed=1, noise=0.0)
        for _ in range(30):
            search.run(1)
            if not told:
                last = search.observations[-1]
                search.observations[-1] = tried(
                    last.number, last.params, last.score, feasible=last.feasible, told=last.feasible
                )
        return sum(not trial.feasible for trial in search.observations)

    assert crashes(told=True) < crashes(told=False)


def cliff(params: Params) -> float | None:
    """More processes are better until they do not fit any more."""
    processes = int(params["processes"])
    return None if processes > 8 else math.log(processes / 2)


def test_random_draws_are_spread_over_all_values(domain: Domain) -> None:
    observations = Search(domain, hill, SpaceFilling.RANDOM, seed=11).run(40)
    counts = np.unique(
        [int(trial.params["threads"]) for trial in observations[1:]], return_counts=True
    )
    assert list(counts[0]) == [1, 2, 4, 8]
    assert counts[1].min() >= 4
