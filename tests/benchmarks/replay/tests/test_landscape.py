"""Truth from a record: what was planted comes back, and what lies between is sensible."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.benchmarks.replay.landscape import NULL_OPTIONS, Answer, Truth
from tests.benchmarks.replay.surface import COLUMNS, Point
from tests.benchmarks.replay.tests.recorded import by_slots, landscape, params
from tuner.nouns.model import FailureCode, Limits, Metric, Params, Slo

TRUTH = Truth.of(landscape())
IS_MEMORY = np.array([column == "memory" for column in COLUMNS])


def planted_gain(asked: Params) -> float:
    return by_slots(asked) - by_slots(params())


@pytest.mark.parametrize("processes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("logging", ["user", "errors-only"])
def test_truth_is_what_was_planted_although_the_host_drifted(processes: int, logging: str) -> None:
    asked = params(processes, threads=2, logging=logging)
    assert TRUTH.gain(asked) == pytest.approx(planted_gain(asked), abs=1e-9)


def test_the_users_own_file_gains_nothing_at_all() -> None:
    assert TRUTH.gain(params()) == 0.0


def test_between_recorded_numbers_it_is_linear_in_their_logarithm() -> None:
    low, high = (planted_gain(params(count)) for count in (4, 8))
    share = math.log2(5 / 4)
    assert TRUTH.gain(params(5)) == pytest.approx((1 - share) * low + share * high)


def test_between_two_numbers_on_two_axes_all_four_corners_count() -> None:
    shares = math.log2(3 / 2)
    corners = {(p, t): planted_gain(params(p, t)) for p in (2, 4) for t in (2, 4)}
    weights = {2: 1 - shares, 4: shares}
    wanted = sum(weights[p] * weights[t] * gain for (p, t), gain in corners.items())
    assert TRUTH.gain(params(3, 3)) == pytest.approx(wanted)


def test_beyond_what_was_recorded_the_outermost_value_holds() -> None:
    assert TRUTH.gain(params(60)) == TRUTH.gain(params(16))


def test_a_category_that_was_not_recorded_does_as_the_users_own() -> None:
    assert TRUTH.gain(params(4, logging="unheard-of")) == TRUTH.gain(params(4))


def over_the_cliff(asked: Params) -> bool:
    """Eight processes of four threads do not fit, nor do sixteen of any."""
    processes, threads = int(asked["processes"]), int(asked["threads"])
    return processes >= 16 or (processes >= 8 and threads >= 4)


@pytest.mark.parametrize(
    ("processes", "threads", "runs"),
    [(8, 2, True), (8, 4, False), (12, 4, False), (7, 4, True), (15, 2, True), (16, 1, False)],
)
def test_from_the_lowest_failing_number_on_everything_crashes(
    processes: int, threads: int, runs: bool
) -> None:
    found = Truth.of(landscape(fails=over_the_cliff)).at(params(processes, threads))
    assert isinstance(found, Point) is runs
    assert runs or found is FailureCode.OUT_OF_MEMORY


def test_a_crash_is_never_the_best_and_has_no_gain() -> None:
    truth = Truth.of(landscape(fails=over_the_cliff))
    assert truth.gain(params(16, 1)) is None
    assert not over_the_cliff(truth.best)


def test_the_standard_error_is_that_of_a_mean_of_starts() -> None:
    truth = Truth.of(landscape(start_sd=0.03, rounds=8))
    assert truth.standard_error == pytest.approx(0.03 * math.sqrt(2 / 8), rel=0.15)


def test_one_start_of_each_configuration_has_no_standard_error() -> None:
    assert math.isnan(Truth.of(landscape(rounds=1)).standard_error)


def test_a_record_without_the_users_own_file_is_refused() -> None:
    record = landscape()
    others = tuple(start for start in record.starts if start.params != params())
    with pytest.raises(ValueError, match="baseline"):
        Truth.of(record.model_copy(update={"starts": others}))


def test_the_best_in_the_space_is_the_planted_optimum() -> None:
    assert TRUTH.best_gain == pytest.approx(planted_gain(params(8, logging="errors-only")))


def slow_at_the_tail(asked: Params) -> Answer:
    """As recorded, but with eight processes the 95th percentile doubles."""
    found = TRUTH.at(asked)
    if isinstance(found, FailureCode) or asked["processes"] != 8:
        return found
    logs = found.logs.copy()
    logs[2] = TRUTH.baseline.logs[2] + math.log(2)
    return Point(logs, found.errors)


def test_what_doubles_the_95th_percentile_may_not_ship() -> None:
    truth = replace(TRUTH, answer=slow_at_the_tail)
    assert not truth.may_ship(params(8))
    assert truth.best["processes"] != 8


@pytest.mark.parametrize(("limit_mb", "may_ship"), [(60, True), (52, False)])
def test_what_fills_the_memory_limit_may_not_ship(limit_mb: int, may_ship: bool) -> None:
    """Every file of the record uses 50 MB, the user's own uses 40 here."""

    def answer(asked: Params) -> Answer:
        found = TRUTH.at(asked)
        assert isinstance(found, Point)
        is_users = asked == TRUTH.domain.baseline
        return Point(found.logs + math.log(0.8) * IS_MEMORY, found.errors) if is_users else found

    spec = TRUTH.spec.model_copy(update={"limits": Limits(memory_mb=limit_mb)})
    truth = replace(TRUTH, answer=answer, spec=spec)
    assert truth.may_ship(params(8)) is may_ship
    assert truth.may_ship(params())
    own_bound = spec.model_copy(update={"slo": Slo(memory_mb=60.0)})
    assert replace(truth, spec=own_bound).may_ship(params(8))


def test_what_breaks_a_bound_of_the_job_may_not_ship() -> None:
    limited = TRUTH.spec.model_copy(update={"slo": Slo(latency_p95_ms=20.0)})
    truth = replace(TRUTH, spec=limited)
    assert truth.may_ship(params(2)) is (by_slots(params(2)) >= 0)
    assert not truth.may_ship(params(1))


def test_on_a_null_truth_nothing_matters() -> None:
    null = TRUTH.null()
    assert {null.gain(asked) for asked in null.configurations} == {0.0}
    assert null.best_gain == 0.0


def test_planted_options_have_their_effect_and_null_options_none() -> None:
    truth = TRUTH.planted({"so-keepalive": 0.05}).with_null_options()
    plain = {**params(4), **dict.fromkeys((*NULL_OPTIONS, "so-keepalive"), False)}
    assert truth.gain({**plain, "so-keepalive": True}) == pytest.approx(
        planted_gain(params(4)) + 0.05
    )
    assert truth.gain({**plain, NULL_OPTIONS[0]: True}) == pytest.approx(planted_gain(params(4)))
    assert {"so-keepalive", *NULL_OPTIONS} <= {d.name for d in truth.domain.free}
    latency = truth.log_ratio({**plain, "so-keepalive": True}, Metric.LATENCY_P95_MS)
    assert latency == pytest.approx(-planted_gain(params(4)) - 0.05)


def test_another_users_file_is_where_gains_are_counted_from() -> None:
    truth = TRUTH.rebased(params(4, logging="errors-only"))
    assert truth.gain(truth.domain.baseline) == 0.0
    assert truth.domain.baseline["processes"] == 4
    own = planted_gain(params(4, logging="errors-only"))
    eight = {**truth.domain.baseline, "processes": 8}
    assert truth.gain(eight) == pytest.approx(planted_gain(params(8, logging="errors-only")) - own)


def test_a_nearly_best_file_is_within_one_percent_of_the_best() -> None:
    truth = TRUTH.rebased(TRUTH.nearly_best(0.005))
    assert 0 <= truth.best_gain <= 0.01


def test_what_some_options_contribute_is_taken_over_all_combinations_of_the_others() -> None:
    winner = params(8, logging="errors-only")
    assert TRUTH.effect(["logging"], winner) == pytest.approx(0.06)
    assert TRUTH.effect(["processes"], winner) == pytest.approx(0.4)
