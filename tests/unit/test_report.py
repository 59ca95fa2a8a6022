"""Blocks of a comparison to its answer."""

import math
from dataclasses import replace
from typing import Any

import pytest

from tests import comparisons
from tests.builders import at_speed, block, histogram, history, job, spec, window
from tests.comparisons import PATHS, RUNGS
from tuner.judge import report
from tuner.nouns.model import (
    ArmReport,
    Bottleneck,
    Doubt,
    Failure,
    FailureCode,
    Figure,
    JobKind,
    Limits,
    Measurement,
    Metric,
    OverTime,
    Phase,
    Report,
    RequestFigures,
    ServerFigures,
    ServiceFigures,
    Spread,
    Variant,
    Verdict,
    Window,
)

RATES = (100.0, 102.0, 98.0, 101.0, 99.0, 100.0, 103.0, 97.0)
FILES = tuple(
    Variant(name=f"{letter}.ini", ini=f"[uwsgi]\nprocesses = {n}\n")
    for n, letter in enumerate("abc", 2)
)


def comparison(blocks: list[Measurement], files: int = 2, **changes: Any) -> Report:
    chosen = spec(kind=JobKind.COMPARE, variants=FILES[:files], **changes)
    done = job(spec=chosen, phase=Phase.COMPARE)
    return report.build(history(job=done, measurements=tuple(blocks)))


def compared(*windows: Window, sequence: int = 1, arms: tuple[int, ...] = (0, 1)) -> Measurement:
    return block(windows, phase=Phase.COMPARE, sequence=sequence, arms=arms)


def faster(factor: float, **changes: Any) -> list[Measurement]:
    """Eight blocks in which the second file is faster by a factor; `changes` goes to it."""
    return [
        compared(window(0, rate), window(1, rate * factor, **changes), sequence=n)
        for n, rate in enumerate(RATES, 1)
    ]


def figure(arm: ArmReport, metric: Metric, concurrency: int | None = None) -> Figure:
    return next(f for f in arm.figures if (f.metric, f.rung) == (metric, concurrency))


def test_each_file_has_the_figures_of_its_services() -> None:
    redis = {"redis": ServiceFigures(cores=0.1, cpu=0.2, memory_mb=9.0)}
    first, second = comparison(faster(1.0, services=redis)).arms
    assert (first.services, second.services) == ({}, redis)


def watched(arm: int, rate: float, index: int, queue: int, **changes: Any) -> Window:
    return window(arm, rate, index=index, over_time=OverTime(queue=(queue,)), **changes)


def test_the_typical_window_of_a_file_is_the_one_of_median_throughput() -> None:
    void = {"doubts": (Doubt.PORTS_EXHAUSTED,)}
    blocks = [
        compared(watched(0, 100.0, 0, 7), watched(1, 50.0, 1, 8), sequence=4),
        compared(watched(0, 300.0, 0, 9), watched(1, 70.0, 1, 10), sequence=5),
        compared(watched(0, 200.0, 2, 11), watched(1, 1.0, 3, 12, **void), sequence=6),
    ]
    first, second, third = (arm.typical for arm in comparison(blocks, files=3).arms)
    assert first is not None
    assert (first.block, first.index, first.over_time.queue) == (6, 2, (11,))
    assert first.rung is None
    assert second is not None
    assert (second.block, second.index) == (4, 1), "the lower one of two"
    assert third is None


def test_the_typical_window_is_of_the_highest_rung_that_was_measured() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        broke = (arm == 1 and connections > RUNGS[0]) or connections == RUNGS[2]
        seen = OverTime() if broke else OverTime(queue=(connections,))
        return comparisons.window(arm, connections, noise, over_time=seen)

    found = comparisons.report_of(comparisons.blocks(RUNGS, 2, 2, made), rungs=RUNGS)
    first, second = (arm.typical for arm in found.arms)
    assert first is not None
    assert (first.rung, first.over_time.queue) == (RUNGS[1], (RUNGS[1],))
    assert second is None


def test_each_file_has_its_figures_with_an_interval_over_the_blocks() -> None:
    first, second = comparison(faster(1.2)).arms
    rate = figure(first, Metric.THROUGHPUT_RPS)
    assert rate.value == pytest.approx(100, abs=0.5)
    assert rate.ci_low is not None
    assert rate.ci_high is not None
    assert 97 <= rate.ci_low < rate.value < rate.ci_high <= 103
    assert figure(second, Metric.THROUGHPUT_RPS).value == pytest.approx(1.2 * rate.value)
    assert (first.name, first.blocks, first.windows, first.requests) == ("a.ini", 8, 8, 800)


def test_effects_and_verdict_are_against_the_first_file() -> None:
    first, second = comparison(faster(1.2, memory_mb=100.0)).arms
    assert (first.effects, first.verdict) == ((), None)
    effects = {effect.metric: effect for effect in second.effects}
    assert effects[Metric.THROUGHPUT_RPS].estimate == pytest.approx(0.2)
    assert effects[Metric.MEMORY_MB].estimate == pytest.approx(1.0)
    assert second.verdict is Verdict.BETTER


def stepwise(*factors: float) -> Report:
    """The report of steps: each file has its own factor of the first one's throughput."""
    blocks = [
        compared(
            *(window(arm, rate * factor) for arm, factor in enumerate(factors)),
            sequence=n,
            arms=tuple(range(len(factors))),
        )
        for n, rate in enumerate(RATES, 1)
    ]
    return comparison(blocks, files=len(factors), compare_with="previous")


def test_a_step_is_compared_with_the_one_before_it_and_with_the_first_file() -> None:
    first, second, third = stepwise(1.0, 1.2, 1.2 * 1.1).arms
    assert first.step is None
    assert second.step is not None
    assert third.step is not None
    assert (second.step.after, third.step.after) == ("a.ini", "b.ini")
    assert third.step.changes == ("-processes = 3", "+processes = 4")
    assert third.step.effects[0].estimate == pytest.approx(0.1)
    assert third.effects[0].estimate == pytest.approx(0.32)
    assert (third.step.verdict, third.step.is_real) == (Verdict.BETTER, True)


def test_a_step_without_an_effect_is_noise_and_a_loss_is_real() -> None:
    _, second, third = stepwise(1.2, 1.2, 0.9).arms
    assert second.step is not None
    assert third.step is not None
    assert (second.step.verdict, second.step.is_real) == (Verdict.NO_DIFFERENCE, False)
    assert (third.step.verdict, third.step.is_real) == (Verdict.WORSE, True)


def test_files_that_are_no_steps_have_none() -> None:
    assert [arm.step for arm in comparison(faster(1.2)).arms] == [None, None]


def test_a_file_is_diagnosed_in_its_own_box() -> None:
    large = FILES[1].model_copy(update={"limits": Limits(memory_mb=52)})
    blocks = faster(1.0, memory_mb=50.0)
    chosen = spec(kind=JobKind.COMPARE, variants=(FILES[0], large))
    done = history(job=job(spec=chosen, phase=Phase.COMPARE), measurements=tuple(blocks))
    assert [arm.diagnosis.bottleneck for arm in report.build(done).arms] == [
        Bottleneck.UNKNOWN,
        Bottleneck.MEMORY,
    ]


def test_equal_files_do_not_differ() -> None:
    assert comparison(faster(1.0)).arms[1].verdict is Verdict.NO_DIFFERENCE


def test_one_block_gives_figures_without_an_interval_and_no_effects() -> None:
    first, second = comparison(faster(1.2)[:1]).arms
    rate = figure(first, Metric.THROUGHPUT_RPS)
    assert rate.value == pytest.approx(100)
    assert (rate.ci_low, rate.ci_high) == (None, None)
    assert second.effects == ()
    assert second.verdict is Verdict.INCONCLUSIVE


def test_one_file_alone_is_reported_too() -> None:
    blocks = [compared(window(0, rate), arms=(0,), sequence=n) for n, rate in enumerate(RATES, 1)]
    found = comparison(blocks, files=1)
    assert [arm.name for arm in found.arms] == ["a.ini"]
    assert found.blocks == 8


def test_void_windows_are_counted_and_named_and_used_for_nothing() -> None:
    blocks = faster(1.2)
    void = window(1, 10.0, doubts=(Doubt.COUNTER_MISMATCH,))
    blocks[0] = compared(*blocks[0].windows, void)
    second = comparison(blocks).arms[1]
    assert figure(second, Metric.THROUGHPUT_RPS).value == pytest.approx(120, abs=1)
    assert second.windows == 9
    assert second.doubts == (Doubt.COUNTER_MISMATCH,)


def test_a_file_whose_starts_differ_by_far_says_so() -> None:
    blocks = [
        compared(window(0, rate), window(1, rate * (0.6 if n % 2 else 1.0)), sequence=n)
        for n, rate in enumerate(RATES, 1)
    ]
    first, second = comparison(blocks).arms
    assert Doubt.UNSTABLE_START in second.doubts
    assert Doubt.UNSTABLE_START not in first.doubts


def test_p99_needs_requests_enough_in_a_window_or_in_the_block() -> None:
    few = comparison(faster(1.2)).arms[1]
    assert all(f.metric is not Metric.LATENCY_P99_MS for f in few.figures)
    many = comparison(faster(1.2, requests=6000)).arms[1]
    assert figure(many, Metric.LATENCY_P99_MS).value == pytest.approx(30.0)
    latencies = histogram([20.0] * 4930 + [80.0] * 70)
    pooled = comparison(faster(1.2, histogram=latencies)).arms[1]
    assert figure(pooled, Metric.LATENCY_P99_MS).value == pytest.approx(80.0, rel=0.01)
    assert pooled.latency.total == 8 * 5000


def test_effects_are_at_equal_speed_of_the_cpu_and_figures_are_as_counted() -> None:
    blocks = [
        compared(at_speed(0, 100.0, 20.0), at_speed(1, 100.0 - 5 * n, 20.0 - n), sequence=n)
        for n, _ in enumerate(RATES, 1)
    ]
    second = comparison(blocks).arms[1]
    effects = {effect.metric: effect.estimate for effect in second.effects}
    assert effects[Metric.THROUGHPUT_RPS] == pytest.approx(0)
    assert figure(second, Metric.THROUGHPUT_RPS).value < 95


def test_p99_is_not_below_p95_where_all_have_one_latency() -> None:
    latencies = histogram([5001.0] * 5000)
    assert latencies.percentile_ms(0.99) == pytest.approx(4997, abs=1)  # the middle of its bucket
    given_up = comparison(faster(1.2, latency_p95_ms=5001.0, histogram=latencies)).arms[1]
    assert figure(given_up, Metric.LATENCY_P99_MS).value == pytest.approx(5001.0)


def test_every_rung_of_a_ladder_has_its_figures_and_effects_are_over_all() -> None:
    first, second = comparisons.report_of(rungs=RUNGS).arms
    for rung in RUNGS:
        own = figure(first, Metric.THROUGHPUT_RPS, rung).value
        assert figure(second, Metric.THROUGHPUT_RPS, rung).value == pytest.approx(2 * own)
    assert {effect.metric: effect for effect in second.effects}[
        Metric.THROUGHPUT_RPS
    ].estimate == pytest.approx(1.0)
    assert (second.blocks, second.windows) == (4, 12)
    assert Doubt.UNSTABLE_START not in second.doubts


def test_paths_are_rungs_and_each_rung_has_its_effect() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        return replace(comparisons.window(2 * arm, connections, noise), arm=arm)

    small, large = comparisons.blocks(PATHS[:1], 2, 4), comparisons.blocks(PATHS[1:], 2, 4, made)
    first, second = comparisons.report_of([*small, *large], rungs=PATHS).arms
    assert [rung.rung for rung in second.rungs] == [*PATHS]
    effects = [rung.effect for rung in second.rungs]
    found = [effect.estimate for effect in effects if effect is not None]
    assert found == pytest.approx([1.0, 2.0, 2.0])
    assert [rung.effect for rung in first.rungs] == [None] * 3
    assert {rung.best for rung in (*first.rungs, *second.rungs)} == {second.name}
    of_best = [rung.against_best for rung in first.rungs]
    lower = [effect.estimate for effect in of_best if effect is not None]
    assert lower == pytest.approx([-1 / 2, -2 / 3, -2 / 3])
    assert [rung.against_best for rung in second.rungs] == [None] * 3


def test_memory_at_a_low_rung_does_not_follow_that_of_the_top_rung() -> None:
    first = comparisons.report_of(rungs=RUNGS).arms[0]
    peaks = [figure(first, Metric.MEMORY_PEAK_MB, rung).value for rung in RUNGS]
    assert peaks == pytest.approx([21.0, 30.0, 120.0])


def test_errors_doubts_and_the_limit_are_known_at_each_rung() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        doubts = (Doubt.CLIENT_SATURATED,) if connections == 10_000 else ()
        return comparisons.window(arm, connections, noise, doubts=doubts)

    rungs = (*range(100, 111), 10_000)
    arm = comparisons.report_of(comparisons.blocks(rungs, 1, 4, made), rungs=rungs, arms=1).arms[0]
    low, top = arm.rungs[0], arm.rungs[-1]
    assert (low.rung, low.errors_by_class, low.doubts) == (100, {}, ())
    assert (top.rung, top.errors_by_class) == (10_000, {"reset": 120})
    assert top.doubts == (Doubt.CLIENT_SATURATED,)
    assert (top.bottleneck, low.bottleneck) == (Bottleneck.APP_ERRORS, Bottleneck.CPU_QUOTA)
    assert arm.doubts == (Doubt.CLIENT_SATURATED,), "a twelfth of all windows, but a whole rung"


def test_a_file_that_breaks_at_a_rung_keeps_the_effect_of_the_rungs_below() -> None:
    below = comparisons.blocks(RUNGS[:2], 2, 4)
    alone = comparisons.blocks(RUNGS[2:], 1, 4)
    blocks = [*below, comparisons.broken(10_000), *alone]
    first, second = comparisons.report_of(blocks, rungs=RUNGS).arms
    assert [rung.failure for rung in second.rungs] == [None, None, comparisons.DIED]
    assert second.failure is comparisons.DIED
    assert second.effects[0].estimate == pytest.approx(1.0)
    assert {figure.rung for figure in second.figures} == {100, 1_000}
    assert {figure.rung for figure in first.figures} == set(RUNGS)


def test_an_error_rate_is_the_mean_of_the_blocks_and_may_be_zero() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        return comparisons.window(arm, connections, noise, errors=0, sent=2000)

    first = comparisons.report_of(comparisons.blocks((None,), 1, 4, made), arms=1).arms[0]
    none = figure(first, Metric.ERROR_RATE)
    requests = first.requests
    assert (none.value, none.ci_low) == (0.0, 0.0)
    assert none.ci_high == pytest.approx(3.689 / requests, rel=0.001)
    some = figure(comparisons.report_of(rungs=RUNGS).arms[0], Metric.ERROR_RATE, 10_000)
    assert some.value == pytest.approx(30 / 2030, rel=0.01)
    assert some.ci_low is not None
    assert some.ci_high is not None
    assert 0 < some.ci_low < some.value < some.ci_high < 1


def test_cpu_peak_memory_and_bytes_are_figures_too() -> None:
    windows = [
        window(0, target_cpu=0.5, server=ServerFigures(memory_peak_mb=peak), body_bytes=2**21)
        for peak in (30.0, 40.0)
    ]
    arm = comparison([compared(*windows, arms=(0,))], files=1).arms[0]
    assert figure(arm, Metric.TARGET_CPU).value == pytest.approx(0.5)
    assert figure(arm, Metric.MEMORY_PEAK_MB).value == 40.0, "the peak of a block, not a mean"
    assert figure(arm, Metric.MB_PER_S).value == pytest.approx(2.0)


def test_connections_per_request_are_a_mean_which_may_be_0() -> None:
    kept = [
        compared(
            *(
                window(0, server=ServerFigures(connections_per_request=share))
                for share in (0.0, of_block)
            ),
            arms=(0,),
        )
        for of_block in (0.0, 0.2)
    ]
    report = comparison(kept, files=1)
    found = figure(report.arms[0], Metric.CONNECTIONS_PER_REQUEST)
    assert found.value == pytest.approx(0.05)
    assert found.ci_low == 0.0


def test_what_no_window_knows_is_no_figure() -> None:
    unknown = {"target_cpu": None, "body_bytes": None}
    metrics = {found.metric for found in comparison(faster(1.0, **unknown)).arms[1].figures}
    assert metrics == {
        *(Metric.THROUGHPUT_RPS, Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS),
        *(Metric.ERROR_RATE, Metric.MEMORY_MB),
    }


def test_a_trimmed_mean_leaves_out_the_highest_and_the_lowest_block() -> None:
    rates = (100.0, 103.0, 50.0, 500.0)
    blocks = [compared(window(0, rate), arms=(0,), sequence=n) for n, rate in enumerate(rates)]
    arm = comparison(blocks, files=1).arms[0]
    assert figure(arm, Metric.THROUGHPUT_RPS).trimmed_mean == pytest.approx(101.5)
    few = comparison(blocks[:3], files=1).arms[0]
    assert figure(few, Metric.THROUGHPUT_RPS).trimmed_mean is None


def test_a_file_that_fails_is_reported_with_its_reason_and_the_others_are_measured_on() -> None:
    broken = Failure(code=FailureCode.BAD_OPTIONS, message="unknown option", arm=1)
    failed = block(phase=Phase.COMPARE, sequence=1, arms=(0, 1, 2), failure=broken)
    rest = [
        compared(window(0, rate), window(1, rate * 1.2), sequence=n, arms=(0, 2))
        for n, rate in enumerate(RATES, 2)
    ]
    first, second, third = comparison([failed, *rest], files=3).arms
    assert first.failure is None
    assert second.failure is broken
    assert (second.figures, second.blocks) == ((), 0)
    assert second.verdict is Verdict.INCONCLUSIVE
    assert third.effects[0].estimate == pytest.approx(0.2)


def test_connect_times_and_the_share_over_the_limit_are_of_all_windows() -> None:
    def burst(p95_ms: float, over: float, sent: int) -> Window:
        connect = Spread(p50_ms=1.0, p95_ms=p95_ms, max_ms=2 * p95_ms)
        return window(0, connect=connect, over_limit=over, sent=sent)

    blocks = [compared(burst(10.0, 0.0, 300), burst(30.0, 0.5, 100), burst(20.0, 0.1, 100))]
    arm = comparison(blocks, files=1).arms[0]
    assert arm.connect == Spread(p50_ms=1.0, p95_ms=20.0, max_ms=40.0)
    assert arm.over_limit == pytest.approx((0.5 * 100 + 0.1 * 100) / 500)
    assert arm.proxy is None


def test_the_diagnosis_reads_processes_from_the_files_own_text() -> None:
    blocks = faster(1.2, busy=1.0, target_cpu=0.1)
    second = comparison(blocks).arms[1]
    assert second.diagnosis.bottleneck is Bottleneck.IO_WAIT
    assert "all 3 slots are" in second.diagnosis.sentence


def test_errors_add_up_by_class() -> None:
    blocks = faster(1.0, errors=2, errors_by_class={"http_500": 2})
    assert comparison(blocks).arms[1].errors_by_class == {"http_500": 16}


def test_the_figures_of_a_request_are_of_all_usable_windows() -> None:
    one = RequestFigures(request=1, sent=10, failed=2, max_ms=7.0, histogram=histogram([7.0]))
    void = window(1, by_request=(one,), doubts=(Doubt.COUNTER_MISMATCH,))
    blocks = [*faster(1.0, by_request=(one,)), compared(window(0), void, sequence=9)]
    first, second = comparison(blocks).arms
    assert first.by_request == ()
    (found,) = second.by_request
    assert (found.request, found.sent, found.failed, found.max_ms) == (1, 80, 16, 7.0)
    assert found.histogram.total == 8


def test_a_bound_that_two_unlike_blocks_put_beyond_all_numbers_is_left_out() -> None:
    blocks = [compared(window(0, rate), arms=(0,)) for rate in (1.0, 1000.0)]
    rate = figure(comparison(blocks, files=1).arms[0], Metric.THROUGHPUT_RPS)
    assert rate.value == pytest.approx(math.sqrt(1000))
    assert rate.ci_high is None


def test_without_blocks_there_is_a_report_without_figures() -> None:
    found = comparison([])
    assert found.blocks == 0
    assert all(arm.figures == () for arm in found.arms)
