"""Figures of several arms as SVG, over the rungs of a ladder or side by side."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from tests import comparisons
from tests.comparisons import RUNGS
from tests.unit.test_charts import SVG, parsed, words
from tuner.nouns.model import Figure, Metric, Rung
from tuner.show.charts import arms_chart, ladder_chart, seconds_chart

RPS = Metric.THROUGHPUT_RPS


def figures(metric: Metric = RPS, arms: int = 2) -> dict[str, list[Figure]]:
    found = comparisons.report_of(rungs=RUNGS, arms=arms)
    return {arm.name: [f for f in arm.figures if f.metric is metric] for arm in found.arms}


def one(value: float, metric: Metric = RPS, width: float = 0.1) -> Figure:
    low, high = value * (1 - width), value * (1 + width)
    return Figure(metric=metric, value=value, ci_low=low, ci_high=high)


def classes(svg: str, word: str) -> list[str]:
    """The classes of all paths that have this one."""
    found = (path.attrib["class"] for path in parsed(svg).iter(f"{SVG}path"))
    return [kind for kind in found if word in kind.split()]


def hints(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter(f"{SVG}title")][1:]


def test_each_arm_has_a_line_with_a_mark_and_an_interval_at_each_rung() -> None:
    chart = ladder_chart(RPS, figures())
    assert classes(chart, "line") == ["s0 l0 line", "s1 l1 line"]
    assert len(classes(chart, "thin")) == 2 * len(RUNGS), "intervals"
    assert len(hints(chart)) == 2 * len(RUNGS)
    assert hints(chart)[0].startswith("arm-0.ini, 100 connections: 1 002.5 (975.5 .. 1 030.0)")


def test_connections_are_logarithmic() -> None:
    line = next(
        p
        for p in parsed(ladder_chart(RPS, figures())).iter(f"{SVG}path")
        if "line" in p.attrib["class"].split()
    )
    first, second, third = (float(x) for x in re.findall(r"([\d.]+) [\d.]+", line.attrib["d"]))
    assert second - first == pytest.approx(third - second, abs=0.2)
    assert {"100", "1 000", "10 000", "connections (log)"} <= set(
        words(ladder_chart(RPS, figures()))
    )


def test_paths_lie_by_the_sizes_of_their_answers() -> None:
    found = {"a": [replace(one(1.0), rung=path) for path in ("/512k", "/4k", "/64k")]}
    chart = ladder_chart(RPS, found, kb={"/4k": 4.0, "/64k": 64.0, "/512k": 512.0})
    assert {"4", "64", "512", "size of the answer, KB (log)"} <= set(words(chart))
    assert hints(chart)[1].startswith("a, /4k: 1.00")


@pytest.mark.parametrize("kb", [{}, {"/a": 4.0, "/a/longer/path/of/it": 4.0}])
def test_paths_of_one_size_lie_beside_each_other_under_their_names(kb: dict[Rung, float]) -> None:
    found = {"a": [replace(one(1.0), rung=path) for path in ("/a", "/a/longer/path/of/it")]}
    assert {"/a", "/a/longer/pat…", "path"} <= set(words(ladder_chart(RPS, found, kb=kb)))


def test_a_chart_of_parts_says_what_they_are_of() -> None:
    chart = ladder_chart(RPS, figures(), label="requests/s, % of nginx")
    assert "requests/s, % of nginx" in words(chart)
    assert "requests/s, % of nginx over connections" in words(chart)


@pytest.mark.parametrize("arms", [2, 6, 7, 16])
def test_no_two_arms_look_alike_and_each_has_its_name_beside_its_line(arms: int) -> None:
    chart = ladder_chart(RPS, figures(arms=arms))
    drawn = classes(chart, "line")
    assert len(set(drawn)) == arms
    at = {
        text.text: float(text.attrib["y"])
        for text in parsed(chart).iter(f"{SVG}text")
        if (text.text or "").startswith("arm-")
    }
    heights = sorted(at.values())
    assert len(heights) == arms
    assert all(b - a >= 14.9 for a, b in pairwise(heights))
    assert heights[0] > 0
    assert heights[-1] < float(parsed(chart).attrib["height"])


def test_the_order_of_names_is_the_order_of_the_ends_of_lines() -> None:
    chart = ladder_chart(RPS, figures(arms=4))
    names = [name for name in words(chart) if name.startswith("arm-")]
    assert names == ["arm-3.ini", "arm-2.ini", "arm-1.ini", "arm-0.ini"], "the fastest on top"


def test_an_arm_without_a_figure_at_a_rung_has_a_shorter_line() -> None:
    found = figures()
    found["arm-1.ini"] = found["arm-1.ini"][:2]
    assert len(hints(ladder_chart(RPS, found))) == 5
    found["arm-1.ini"] = []
    assert len(hints(ladder_chart(RPS, found))) == 3
    assert ladder_chart(RPS, {"a": []}).count("<title>") == 1, "an empty chart"


def test_an_axis_is_logarithmic_where_figures_differ_by_far() -> None:
    assert "p95, ms (log)" in words(
        ladder_chart(Metric.LATENCY_P95_MS, figures(Metric.LATENCY_P95_MS))
    )
    assert "requests/s" in words(ladder_chart(RPS, figures()))


def test_shares_are_drawn_in_percent_and_errors_of_zero_can_be_drawn() -> None:
    chart = ladder_chart(Metric.TARGET_CPU, figures(Metric.TARGET_CPU))
    assert "CPU, % of its limit" in words(chart)
    assert "90.0" in hints(chart)[0]
    none = {"a": [Figure(metric=Metric.ERROR_RATE, value=0.0, ci_low=0.0, ci_high=0.001)]}
    assert "nan" not in arms_chart(Metric.ERROR_RATE, {"a": none["a"][0]})
    assert "errors, %" in words(arms_chart(Metric.ERROR_RATE, {"a": none["a"][0]}))


def test_arms_of_one_load_are_points_with_intervals_one_below_the_other() -> None:
    chart = arms_chart(RPS, {"today.ini": one(100.0), "threads.ini": one(150.0)})
    assert len(classes(chart, "line")) == 2, "intervals"
    assert hints(chart) == [
        "today.ini: 100.0 (90.0 .. 110.0)",
        "threads.ini: 150.0 (135.0 .. 165.0)",
    ]
    assert {"today.ini", "threads.ini"} <= set(words(chart))


def test_an_interval_beyond_the_edge_ends_in_an_arrow_there_and_one_block_has_none() -> None:
    for high in (None, 1000.0):
        arms = {"a": replace(one(100.0), ci_high=high), "b": one(50.0)}
        paths = parsed(arms_chart(RPS, arms)).iter(f"{SVG}path")
        goes_on, ends_here = (p.attrib["d"] for p in paths if "line" in p.attrib["class"].split())
        interval, *arrow = goes_on.rpartition("H")[2].split("M")
        assert float(interval) == pytest.approx(760 - 28)
        assert len(arrow) == 1
        assert ends_here.count("M") == 1
    alone = replace(one(100.0), ci_low=None, ci_high=None)
    assert classes(arms_chart(RPS, {"a": alone}), "line") == []
    with_rung = replace(alone, rung=10)
    assert classes(ladder_chart(RPS, {"a": [with_rung]}), "thin") == []


def ends(svg: str) -> list[tuple[float, float]]:
    """The last point of each line."""
    lines = (p.attrib["d"] for p in parsed(svg).iter(f"{SVG}path") if "line" in p.attrib["class"])
    return [(float(x), float(y)) for x, y in (d.split("L")[-1].split() for d in lines)]


def test_each_arm_has_a_line_over_the_seconds_of_its_window() -> None:
    chart = seconds_chart("Memory", "memory, MB", {"a": [10, 20, 30, 40], "b": [], "c": [5, 5]})
    assert classes(chart, "line") == ["s0 l0 line", "s2 l2 line"]
    (a_x, a_y), (c_x, c_y) = ends(chart)
    assert a_x > c_x, "a shorter window has a shorter line"
    assert a_y < c_y, "less memory is lower"
    assert {"Memory", "memory, MB", "seconds since the load began", "a", "c"} <= set(words(chart))
    assert "0.2" in words(chart), "a tick: all of it took a second"
    described = parsed(chart).find(f"{SVG}desc")
    assert described is not None
    assert described.text == "memory, MB, at most: a 40; b none; c 5"


def test_a_queue_that_stays_empty_is_a_line_on_the_floor() -> None:
    chart = seconds_chart("Listen queue", "connections that wait", {"a": [0, 0, 0]})
    assert ends(chart)[0][1] == pytest.approx(260 - 52)
    assert classes(seconds_chart("Listen queue", "connections", {"a": []}), "line") == []


def test_a_chart_of_many_arms_over_a_long_window_stays_small() -> None:
    arms = {f"arm-{n}": [n + step % 7 / 3 for step in range(480)] for n in range(16)}
    chart = seconds_chart("CPU", "CPU, % of its limit", arms)
    assert len(chart) < 120_000
    assert len(set(classes(chart, "line"))) == 16


def test_names_are_text_in_every_chart() -> None:
    name = '</title><script>alert("1")</script>'
    for chart in (
        seconds_chart(name, name, {name: [1.0]}),
        arms_chart(RPS, {name: one(1.0)}),
        ladder_chart(RPS, {name: figures()["arm-0.ini"]}),
    ):
        assert "<script" not in chart
        assert any(word.startswith("</title><script") for word in words(chart))


def test_numbers_of_rungs_do_not_lie_on_each_other_and_the_top_one_is_always_there() -> None:
    rungs = (100, 6_000, 8_000, 9_000, 10_000)
    chart = ladder_chart(RPS, {"a": [replace(one(1.0), rung=rung) for rung in rungs]})
    assert {"100", "6 000", "10 000"} <= set(words(chart))
    assert not {"8 000", "9 000"} & set(words(chart))
