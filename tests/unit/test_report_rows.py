"""The blocks of a comparison as CSV."""

import io
from dataclasses import replace
from typing import Any

import pandas
import pytest

from tests import comparisons
from tests.comparisons import RUNGS
from tuner.judge import report
from tuner.judge.report.figures import SHOWN
from tuner.nouns.model import Doubt, History, Limits, Measurement, Window


def read(found: History) -> Any:
    return pandas.read_csv(io.StringIO(report.csv_of(found.job, found.measurements)))


def test_there_is_a_row_for_each_arm_rung_and_block() -> None:
    table = read(comparisons.history(rungs=RUNGS))
    assert len(table) == 2 * len(RUNGS) * 4
    assert not table.duplicated(["arm", "connections", "block"]).any()
    assert sorted(table.arm.unique()) == ["arm-0.ini", "arm-1.ini"]
    assert sorted(table.connections.unique()) == list(RUNGS)
    assert sorted(table.block.unique()) == [1, 2, 3, 4]
    assert set(table.host) == {"bench-1"}


def test_each_row_has_the_box_of_its_arm() -> None:
    found = comparisons.history()
    boxes = (Limits(cpus=0.5, memory_mb=256), None)
    variants = tuple(
        variant.model_copy(update={"limits": box})
        for variant, box in zip(found.job.spec.variants, boxes, strict=True)
    )
    boxed = found.job.spec.model_copy(update={"variants": variants, "limits": Limits(cpus=2)})
    table = read(replace(found, job=replace(found.job, spec=boxed)))
    seen = set(zip(table.arm, table.limit_cpus, table.limit_memory_mb, strict=True))
    assert seen == {("arm-0.ini", 0.5, 256), ("arm-1.ini", 2.0, 512)}


def test_a_column_has_one_type() -> None:
    table = read(comparisons.history(rungs=RUNGS))
    for name in ("job", "connections", "block", "windows", "void_windows", "requests", "errors"):
        assert table[name].dtype == "int64", name
    for metric in SHOWN:
        assert table[metric.value].dtype.kind in "if", metric
    assert pandas.to_datetime(table.started_at).dt.tz is not None


def test_the_figures_of_the_report_follow_from_the_rows() -> None:
    found = comparisons.history(rungs=RUNGS)
    table = read(found)
    assert found.job.report is not None
    for arm in found.job.report.arms:
        for figure in arm.figures:
            here = (table.arm == arm.name) & (table.connections == figure.rung)
            values = table[here][figure.metric.value].sort_values()
            assert figure.trimmed_mean == pytest.approx(values.iloc[1:-1].mean(), rel=1e-4)
            assert 0.999 * values.min() <= figure.value <= 1.001 * values.max()


def test_errors_have_a_column_for_each_class_and_rungs_without_any_count_none() -> None:
    table = read(comparisons.history(rungs=RUNGS))
    by_rung = table.groupby("connections").errors_reset.sum()
    assert by_rung.to_dict() == {100: 0, 1_000: 0, 10_000: 2 * 4 * 30}


def test_a_void_window_counts_and_has_no_figures() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        doubts = (Doubt.PORTS_EXHAUSTED, Doubt.ERRORS) if arm else ()
        return comparisons.window(arm, connections, noise, doubts=doubts)

    table = read(comparisons.history(comparisons.blocks((None,), 2, 4, made)))
    void = table[table.arm == "arm-1.ini"]
    assert set(void.void_windows) == {1}
    assert void.throughput_rps.isna().all()
    assert set(void.doubts) == {"errors ports_exhausted"}
    assert (void.requests > 0).all()
    assert set(table[table.arm == "arm-0.ini"].connections) == {64}


def test_blocks_that_failed_and_blocks_to_come_have_no_rows() -> None:
    done: list[Measurement] = comparisons.blocks((None,), 2, 2)
    waiting = replace(done[0], result=None)
    table = read(comparisons.history([*done, comparisons.broken(None), waiting]))
    assert len(table) == 4


def test_a_job_without_blocks_has_the_names_alone() -> None:
    found = comparisons.history([])
    assert report.csv_of(found.job, found.measurements).startswith(
        "job,app,arm,limit_cpus,limit_memory_mb,rung,connections,block,"
    )
    assert len(read(found)) == 0
