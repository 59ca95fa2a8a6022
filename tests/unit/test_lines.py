"""Changed options with what each contributes."""

import math

import pytest

from tests.builders import space, spec
from tuner.judge.recommendation import changed_lines
from tuner.judge.recommendation.lines import notes_on
from tuner.nouns.model import Ablation, ChangedLine, Effect, Factor, Metric, Objective, Params
from tuner.targets.search_space import derive

SPEC = spec(
    search_space=space(
        processes={"type": "int", "low": 1, "high": 8},
        threads={"type": "choice", "values": [1, 2]},
        logging={
            "type": "choice",
            "values": ["user", "errors-only"],
            "emit": {"errors-only": {"disable-logging": True, "log-5xx": True}},
        },
    )
)
DOMAIN = derive(SPEC)
PARAMS: Params = {
    "logging": "errors-only",
    "processes": 4,
    "threads": 2,
}  # as a store may order them


def factor(*parameters: str, effect: float, half: float = 0.01) -> Factor:
    return Factor(
        parameters=parameters,
        effect=effect,
        low=effect - half,
        high=effect + half,
        p=0.01,
        is_kept=True,
    )


def lines(ablation: Ablation | None, objective: Objective = SPEC.objective) -> list[ChangedLine]:
    return list(changed_lines(DOMAIN, PARAMS, ablation, objective))


def test_lines_come_in_the_order_of_the_space_whatever_that_of_the_params() -> None:
    assert [line.option for line in lines(None)] == [
        "processes",
        "threads",
        "disable-logging",
        "log-5xx",
    ]
    assert [line.baseline_value for line in lines(None)] == ["2", None, None, None]


def test_options_of_one_factor_share_its_effect() -> None:
    ablation = Ablation(factors=(factor("processes", "threads", effect=0.1),), runs=24, sd=0.02)
    effects = [line.effect for line in lines(ablation)]
    assert effects[0] == effects[1]
    assert effects[0] is not None
    assert effects[0].estimate == pytest.approx(math.expm1(0.1))
    assert effects[2:] == [None, None]


def test_less_is_shown_as_less_where_less_is_better() -> None:
    ablation = Ablation(factors=(factor("logging", effect=0.1),), runs=24, sd=0.02)
    effect = lines(ablation, Objective(minimize=Metric.MEMORY_MB))[2].effect
    assert effect is not None
    assert effect.estimate == pytest.approx(math.expm1(-0.1))
    assert effect.ci_low < effect.estimate < effect.ci_high


def test_an_effect_without_bounds_is_none() -> None:
    ablation = Ablation(factors=(factor("logging", effect=0.1, half=math.inf),), runs=24, sd=0.02)
    assert lines(ablation)[2].effect is None


def test_a_line_that_was_measured_apart_has_its_effect_in_a_note() -> None:
    factors = (factor("processes", effect=0.1), factor("threads", "logging", effect=0.0))
    notes = notes_on(lines(Ablation(factors=factors, runs=24, sd=0.02)), None)
    assert notes["processes"] == (
        "processes was 2; +10.5 % requests per second (95 % CI +9.4 % .. +11.6 %), ablated"
    )
    assert notes["threads"].startswith("threads was not set; +0.0 % requests per second")
    assert notes["threads"].endswith("ablated together with disable-logging and log-5xx")


def test_lines_without_an_effect_of_their_own_are_confirmed_together() -> None:
    assert set(notes_on(lines(None), None).values()) == {
        "processes was 2; confirmed together with the others",
        "threads was not set; confirmed together with the others",
        "disable-logging was not set; confirmed together with the others",
        "log-5xx was not set; confirmed together with the others",
    }


def test_the_only_line_has_the_effect_of_the_whole() -> None:
    whole = Effect(metric=Metric.THROUGHPUT_RPS, estimate=0.2, ci_low=0.1, ci_high=0.3)
    assert notes_on(lines(None)[:1], whole) == {
        "processes": "processes was 2; +20.0 % requests per second (95 % CI +10.0 % .. +30.0 %),"
        " confirmed"
    }
