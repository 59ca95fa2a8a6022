import math
import random
from dataclasses import asdict
from typing import Any

import pytest

from tests.answers import COMPARE_DONE, EFFECT, RECOMMENDATION
from tuner.judge import analysis
from tuner.judge.recommendation.gate import (
    Judged,
    Margins,
    fitting_blocks,
    judge,
    needed_blocks,
    resolved_margin,
    unmeasured,
)
from tuner.judge.recommendation.verdict import Outcome
from tuner.nouns.model import Failure, FailureCode, Metric
from tuner.nouns.schemas import CircumstancesAnswer, ReportAnswer

USUAL = Margins()
RPS, P95 = Metric.THROUGHPUT_RPS, Metric.LATENCY_P95_MS
OWN, NEW = COMPARE_DONE["report"]["arms"]


def effect(low: float | None, high: float | None, metric: Metric = RPS) -> dict[str, Any]:
    middle = ((low or 0.0) + (high or 0.0)) / 2
    return {**EFFECT, "metric": metric.value, "estimate": middle, "ci_low": low, "ci_high": high}


def judged(
    *effects: dict[str, Any],
    asked: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
    alone: bool = False,
    margins: Margins = USUAL,
    **new: Any,
) -> Judged:
    """The answer from these effects of the recommended file; the rest changes its arm."""
    other = {**NEW, "effects": list(effects), **new}
    arms = [other] if alone else [{**OWN, **(own or {})}, other]
    circumstances = {**RECOMMENDATION["circumstances"], "slo": {}, **(asked or {})}
    return judge(
        ReportAnswer.model_validate({"blocks": 8, "arms": arms}),
        CircumstancesAnswer.model_validate(circumstances),
        RPS,
        margins,
    )


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.09, 0.14, Outcome.HOLDS),
        (-0.019, 0.01, Outcome.HOLDS),
        (-0.05, -0.021, Outcome.DOES_NOT_HOLD),
        (-0.05, -0.01, Outcome.INCONCLUSIVE),
        (-0.05, 0.10, Outcome.INCONCLUSIVE),
        (None, 0.10, Outcome.INCONCLUSIVE),
        (-0.01, None, Outcome.HOLDS),
    ],
)
def test_it_holds_unless_it_may_be_worse_by_the_margin(
    low: float | None, high: float | None, outcome: Outcome
) -> None:
    found = judged(effect(low, high))
    assert found.outcome is outcome
    assert found.effect is not None
    assert found.blocks == 8
    of_latency = judged(
        effect(None if high is None else -high, None if low is None else -low, P95),
        asked={"objective": {"minimize": "latency_p95_ms"}},
    )
    assert of_latency.outcome is outcome


def test_a_wider_margin_lets_more_pass() -> None:
    loss = effect(-0.05, -0.01)
    assert judged(loss, margins=Margins(effect=0.06)).outcome is Outcome.HOLDS


def test_what_pays_with_latency_does_not_hold() -> None:
    gain = effect(0.09, 0.14)
    assert judged(gain, effect(-0.02, 0.049, P95)).outcome is Outcome.HOLDS
    longer = judged(gain, effect(0.06, 0.20, P95))
    assert longer.outcome is Outcome.DOES_NOT_HOLD
    assert longer.sentence == (
        "its p95 latency is at least 6.0 % longer than the baseline's; the tuner's own limit is 5 %"
    )
    maybe = judged(gain, effect(-0.02, 0.20, P95))
    assert maybe.outcome is Outcome.INCONCLUSIVE
    assert maybe.sentence == (
        "its p95 latency may be up to 20.0 % longer than the baseline's; "
        "the tuner's own limit is 5 %"
    )


def test_what_pays_with_errors_does_not_hold() -> None:
    gain = effect(0.09, 0.14)
    few = judged(gain, requests=100_000, errors_by_class={"http_502": 20})
    assert few.outcome is Outcome.HOLDS
    many = judged(gain, requests=100_000, errors_by_class={"http_502": 300, "timeout": 100})
    assert many.outcome is Outcome.DOES_NOT_HOLD
    assert "0.40 % against 0.00 %" in many.sentence
    same = judged(
        gain,
        requests=100_000,
        errors_by_class={"http_502": 400},
        own={"requests": 100_000, "errors_by_class": {"http_502": 400}},
    )
    assert same.outcome is Outcome.HOLDS
    perhaps = judged(gain, requests=1000, errors_by_class={"http_502": 1})
    assert perhaps.outcome is Outcome.INCONCLUSIVE


def test_a_file_that_does_not_run_does_not_hold_whatever_the_others_say() -> None:
    error = {"code": "bad_options", "message": "uWSGI refuses `thunder-lok`", "log_tail": ""}
    found = judged(effect(0.09, 0.14), failure=error)
    assert found.outcome is Outcome.DOES_NOT_HOLD
    assert "does not run on it: bad_options: uWSGI refuses `thunder-lok`" in found.sentence


def test_too_few_blocks_say_nothing() -> None:
    found = judged()
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "at least 4 are needed" in found.sentence


def test_an_objective_that_reports_do_not_compare_goes_by_what_the_measurement_does() -> None:
    saved = {"objective": {"maximize": "rps_per_cpu"}}
    assert judged(effect(0.0, 0.01), asked=saved).outcome is Outcome.HOLDS
    assert judged(effect(-0.2, -0.1), asked=saved).outcome is Outcome.DOES_NOT_HOLD


@pytest.mark.parametrize(
    ("slo", "outcome", "words"),
    [
        ({"latency_p95_ms": 440}, Outcome.HOLDS, ""),
        (
            {"latency_p95_ms": 400},
            Outcome.DOES_NOT_HOLD,
            "(at most 400 ms) by 7.7 %: latency_p95_ms 431, ",
        ),
        (
            {"throughput_rps": 200},
            Outcome.DOES_NOT_HOLD,
            "(at least 200 per second) by 19.3 %: throughput_rps 161.4",
        ),
        ({"throughput_rps": {"relative_to_baseline": 0.95}}, Outcome.HOLDS, ""),
        ({"throughput_rps": {"relative_to_baseline": 1.05}}, Outcome.DOES_NOT_HOLD, "at least"),
        ({"error_rate": 0.0}, Outcome.HOLDS, ""),
        ({"latency_p99_ms": 600}, Outcome.INCONCLUSIVE, "latency_p99_ms has a bound and no value"),
    ],
)
def test_the_jobs_bounds_have_to_be_kept_on_the_new_image(
    slo: dict[str, Any], outcome: Outcome, words: str
) -> None:
    found = judged(effect(0.09, 0.14), asked={"slo": slo})
    assert found.outcome is outcome
    assert words in found.sentence


def test_a_p95_that_has_a_bound_of_its_own_is_not_held_to_the_margin_as_well() -> None:
    longer = (effect(0.09, 0.14), effect(0.06, 0.20, P95))
    assert judged(*longer, asked={"slo": {"latency_p95_ms": 440}}).outcome is Outcome.HOLDS


def test_where_the_own_file_is_recommended_it_has_to_run_and_serve() -> None:
    fine = judged(alone=True)
    assert fine.outcome is Outcome.HOLDS
    assert fine.effect is None
    failing = judged(alone=True, requests=100, errors_by_class={"http_500": 1})
    assert failing.outcome is Outcome.DOES_NOT_HOLD
    assert judged(alone=True, asked={"slo": {"latency_p95_ms": 400}}).outcome is (
        Outcome.DOES_NOT_HOLD
    )


def test_an_own_file_that_does_not_run_leaves_nothing_to_compare() -> None:
    error = Failure(code=FailureCode.APP_FAILED, message="no module", log_tail="")
    found = unmeasured(error, 2)
    assert found.outcome is Outcome.DOES_NOT_HOLD
    assert found.sentence.startswith("your own file does not run on it")
    assert unmeasured(error, 1).sentence.startswith("the file does not run on it")


def test_blocks_fill_the_budget_and_are_never_too_few_for_an_interval() -> None:
    assert fitting_blocks(300, 16, at_most=256) == 18
    assert fitting_blocks(10, 16, at_most=256) == 4
    assert fitting_blocks(1e6, 16, at_most=256) == 256


def test_more_blocks_resolve_a_smaller_margin() -> None:
    margins = [resolved_margin(0.02, blocks) for blocks in (4, 8, 16, 64)]
    assert margins == sorted(margins, reverse=True)
    needed = needed_blocks(0.02, 0.02, at_most=256)
    assert needed is not None
    assert resolved_margin(0.02, needed) <= 0.02 < resolved_margin(0.02, needed - 1)
    assert needed_blocks(0.5, 0.01, at_most=256) is None


def _passed(truth: float, sd: float, blocks: int, margin: float, runs: int) -> float:
    """Share of gates that hold where the file is truly `truth` better in every log ratio."""
    draw = random.Random(7)  # noqa: S311
    held = 0
    for _ in range(runs):
        ratios = [draw.gauss(truth, sd) for _ in range(blocks)]
        found = asdict(analysis.effect_of(ratios, RPS))
        held += judged(found, margins=Margins(effect=margin)).outcome is Outcome.HOLDS
    return held / runs


@pytest.mark.parametrize(("blocks", "share"), [(4, 0.8), (6, 0.6), (16, 0.8)])
def test_a_file_that_is_as_good_passes_most_times_at_the_margin_that_blocks_resolve(
    blocks: int, share: float
) -> None:
    margin = resolved_margin(0.02, blocks)
    assert _passed(0.0, 0.02, blocks, margin, runs=400) == pytest.approx(share, abs=0.06)


def test_a_file_that_is_worse_by_the_margin_seldom_passes() -> None:
    assert _passed(math.log1p(-0.02), 0.02, 8, 0.02, runs=400) <= 0.04
