"""Optuna behind ask and tell: valid, new, reproducible, and drawn to what works."""

import math

import pytest

from tests.builders import space, spec
from tuner.model import Constraint, Params, TrialNumber
from tuner.sampler import OptunaSampler
from tuner.search_space import Domain, derive
from tuner.study import Past

SAMPLER = OptunaSampler()


@pytest.fixture
def domain() -> Domain:
    return derive(
        spec(
            search_space=space(
                processes={"type": "int", "low": 1, "high": 32, "log": True},
                threads={"type": "choice", "values": [1, 2, 4, 8]},
            ).model_copy(
                update={"constraints": (Constraint(rule="processes * threads <= 64", reason="x"),)}
            )
        )
    )


def run(domain: Domain, trials: int) -> list[Past]:
    """A search on a landscape whose best is at 16 slots, without noise."""
    past = [Past(number=TrialNumber(0), params=domain.baseline, score=0.0, feasible=True)]
    for number in range(1, trials + 1):
        params = SAMPLER.propose(domain, past, seed=number)
        assert params is not None
        past.append(
            Past(number=TrialNumber(number), params=params, score=score(params), feasible=True)
        )
    return past


def score(params: Params) -> float:
    return 2 - abs(math.log(int(params["processes"]) * int(params["threads"]) / 16))


def test_proposals_are_valid_and_never_repeat(domain: Domain) -> None:
    params = [dict(trial.params) for trial in run(domain, 30)]
    assert all(params.count(one) == 1 for one in params)
    assert not any(domain.broken(one) for one in params[1:])


def test_the_same_past_and_seed_give_the_same_proposal(domain: Domain) -> None:
    past = run(domain, 8)
    first = SAMPLER.propose(domain, past, seed=9)
    assert OptunaSampler().propose(domain, past, seed=9) == first


def test_it_finds_the_planted_optimum(domain: Domain) -> None:
    assert max(trial.score or 0 for trial in run(domain, 30)) > 1.85


def test_a_space_that_is_used_up_gives_nothing() -> None:
    small = derive(spec(search_space=space(processes={"type": "int", "low": 2, "high": 3})))
    past = [
        Past(number=TrialNumber(n), params={"processes": 2 + n}, score=0.0, feasible=True)
        for n in range(2)
    ]
    assert SAMPLER.propose(small, past, seed=1) is None


def test_on_a_plateau_it_goes_on_until_the_space_is_used_up() -> None:
    plateau = derive(spec(search_space=space(processes={"type": "int", "low": 1, "high": 12})))
    past = [Past(number=TrialNumber(0), params=plateau.baseline, score=0.0, feasible=True)]
    for number in range(1, 12):
        params = SAMPLER.propose(plateau, past, seed=number)
        assert params is not None
        past.append(Past(number=TrialNumber(number), params=params, score=0.0, feasible=True))
    assert {int(trial.params["processes"]) for trial in past} == set(range(1, 13))


def test_crashes_keep_it_away_from_the_cliff(domain: Domain) -> None:
    def crashes(told: bool) -> int:
        past = [Past(number=TrialNumber(0), params=domain.baseline, score=0.0, feasible=True)]
        for number in range(1, 31):
            params = SAMPLER.propose(domain, past, seed=number)
            assert params is not None
            slots = int(params["processes"])
            broke = slots > 8
            # More processes are better until they do not fit any more.
            value = None if broke else math.log(slots)
            past.append(
                Past(
                    number=TrialNumber(number),
                    params=params,
                    score=value,
                    feasible=not broke,
                    told=told or not broke,
                )
            )
        return sum(not trial.feasible for trial in past)

    assert crashes(told=True) < crashes(told=False)


def test_what_is_still_running_is_not_proposed_again(domain: Domain) -> None:
    past = run(domain, 6)
    first = SAMPLER.propose(domain, past, seed=99)
    assert first is not None
    running = Past(number=TrialNumber(7), params=first, score=None, feasible=True)
    assert SAMPLER.propose(domain, [*past, running], seed=99) != first
