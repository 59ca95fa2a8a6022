"""What the model has learnt about parameters."""

import math

import pytest

from tests.benchmarks.replay.samplers import SpaceFilling
from tests.builders import space, spec
from tests.unit.sampler.planted import OPTIMISER, Search, begun, hill, slots_domain, tried
from tuner.nouns.model import Params, SamplerName
from tuner.targets.search_space import Domain, derive


@pytest.fixture
def domain() -> Domain:
    """Only processes matter; threads, thunder-lock and the backlog do nothing."""
    return derive(
        spec(
            search_space=space(
                processes={"type": "int", "low": 1, "high": 32, "log": True},
                threads={"type": "choice", "values": [1, 2, 4, 8]},
                listen={"type": "choice", "values": [100, 1024]},
                **{"thunder-lock": {"type": "bool", "needs": "processes >= 2"}},
            )
        )
    )


def ramp(params: Params) -> float:
    return 0.15 * math.log2(int(params["processes"]) / 2)


@pytest.mark.full
def test_the_planted_parameter_is_named_and_its_interval_excludes_the_others(
    domain: Domain,
) -> None:
    for seed in range(3):
        past = Search(domain, ramp, SamplerName.TPE, seed, noise=0.05).run(25)
        first, *others = OPTIMISER.explain(domain, past, domain.baseline)[0]
        assert first.parameter == "processes"
        assert 0.0 <= first.low <= first.share <= first.high <= 1.0
        assert all(other.high < first.low for other in others)
        assert [other.share for other in others] == sorted(
            (other.share for other in others), reverse=True
        )


@pytest.mark.full
def test_slices_cover_the_truth_mostly() -> None:
    domain = slots_domain()
    inside = []
    for seed in range(5):
        past = Search(domain, hill, SpaceFilling.RANDOM, seed, noise=0.05).run(25)
        at = {"processes": 7, "threads": 2}
        for found in OPTIMISER.explain(domain, past, at)[1]:
            for point in found.points:
                truth = hill({**at, found.parameter: point.value})
                inside.append(point.low <= truth <= point.high)
    assert len(inside) >= 5 * 14
    assert sum(inside) / len(inside) >= 0.8


def test_slices_hold_the_value_at_hand_and_no_more_than_a_dozen(domain: Domain) -> None:
    past = Search(domain, ramp, SpaceFilling.RANDOM, seed=1).run(10)
    at = {"processes": 13, "threads": 2, "listen": 100, "thunder-lock": True}
    slices = {found.parameter: found.points for found in OPTIMISER.explain(domain, past, at)[1]}
    values = [int(point.value) for point in slices["processes"]]
    assert 13 in values
    assert values == sorted(set(values))
    assert 8 <= len(values) <= 12
    assert all(point.low <= point.gain <= point.high for point in slices["processes"])


def test_slices_leave_out_what_breaks_a_rule_or_means_nothing(domain: Domain) -> None:
    past = Search(domain, ramp, SpaceFilling.RANDOM, seed=1).run(10)
    alone = {"processes": 1, "threads": 1, "listen": 100, "thunder-lock": False}
    slices = {found.parameter: found.points for found in OPTIMISER.explain(domain, past, alone)[1]}
    assert [point.value for point in slices["thunder-lock"]] == [False]
    bounded = slots_domain()
    past = Search(bounded, hill, SpaceFilling.RANDOM, seed=1).run(10)
    at = {"processes": 2, "threads": 8}
    slices = {found.parameter: found.points for found in OPTIMISER.explain(bounded, past, at)[1]}
    assert max(int(point.value) for point in slices["processes"]) <= 64 // 8


def test_too_few_scores_explain_nothing(domain: Domain) -> None:
    past = [
        *begun(domain),
        *(tried(n, {**domain.baseline, "processes": 2 + n}, 0.1) for n in (1, 2)),
    ]
    assert OPTIMISER.explain(domain, past, domain.baseline) == ((), ())
