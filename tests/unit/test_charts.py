"""Windows and latencies as SVG."""

import random
import re
from dataclasses import fields
from datetime import timedelta
from xml.etree import ElementTree

import pytest

from tests import builders
from tuner.nouns.model import Doubt, Histogram, Phase
from tuner.nouns.schemas import WindowAnswer
from tuner.show.charts import latency_percentiles, stacked, windows_over_time

SVG = "{http://www.w3.org/2000/svg}"


def windows(rates: list[float], void: int | None = None) -> list[WindowAnswer]:
    """A window every 3 s, two in a block."""
    found = []
    for n, rate in enumerate(rates):
        window = builders.window(
            rps=rate,
            started_at=builders.NOON + timedelta(seconds=3 * n),
            doubts=(Doubt.PORTS_EXHAUSTED,) if n == void else (),
        )
        own = {field.name: getattr(window, field.name) for field in fields(window)}
        found.append(WindowAnswer(**own, block=n // 2, phase=Phase.COMPARE, host=None, trial=0))
    return found


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314  our own text


def marks(svg: str, arm: int) -> list[tuple[float, str]]:
    """Height of the first point and class of every mark of an arm, the legend's left out."""
    found = [
        (float(re.match(r"M[\d.]+ ([\d.]+)", path.attrib["d"])[1]), path.attrib["class"])  # type: ignore[index]
        for path in parsed(svg).iter(f"{SVG}path")
        if path.attrib["class"].split()[0] == f"s{arm}" and "line" not in path.attrib["class"]
    ]
    return [mark for mark in found if mark[0] > 60]


def words(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter(f"{SVG}text")]


def test_every_window_is_a_mark_and_more_requests_are_higher() -> None:
    chart = windows_over_time({"a.ini": windows([100.0, 110.0, 90.0, 105.0])})
    heights = [height for height, _ in marks(chart, 0)]
    assert len(heights) == 4
    assert heights[1] < heights[3] < heights[0] < heights[2]


def test_a_void_window_is_hollow() -> None:
    chart = windows_over_time({"a.ini": windows([100.0, 110.0], void=1)})
    assert [kind for _, kind in marks(chart, 0)] == ["s0", "s0 void"]


def test_every_other_block_is_shaded() -> None:
    chart = windows_over_time({"a.ini": windows([100.0] * 8)})
    assert chart.count('class="band"') == 2


def test_axes_have_labels_with_units() -> None:
    said = words(windows_over_time({"a.ini": windows([100.0, 20.0])}))
    assert "time since the first window, s" in said
    assert "requests/s" in said
    histogram = builders.histogram(float(n) for n in range(1, 2000))
    said = words(latency_percentiles({"a.ini": histogram}))
    assert "latency, ms (log)" in said
    assert {"50", "95", "99", "99.9"} <= set(said)


def test_an_axis_that_does_not_start_at_zero_says_so() -> None:
    said = words(windows_over_time({"a.ini": windows([100.0, 98.0])}))
    assert "requests/s (axis does not start at 0)" in said


def test_names_are_escaped_and_long_ones_cut() -> None:
    chart = windows_over_time({'<&">.ini': windows([1.0]), "long" * 30: windows([2.0])})
    said = words(chart)
    assert '<&">.ini' in said
    assert any(name.startswith("longlong") and name.endswith("…") for name in said)


def test_a_chart_has_a_description_in_words() -> None:
    root = parsed(latency_percentiles({"a.ini": builders.histogram([10.0] * 100)}))
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert title.text == "Latency by percentile"
    assert description is not None
    assert "a.ini 50 % within 10" in (description.text or "")
    assert root.attrib["role"] == "img"


def test_a_curve_ends_where_fewer_than_ten_requests_lie_beyond() -> None:
    draw = random.Random(1)  # noqa: S311

    def reach(requests: int) -> float:
        times = builders.histogram(draw.lognormvariate(2, 0.5) for _ in range(requests))
        chart = latency_percentiles({"a.ini": times})
        line = next(p for p in parsed(chart).iter(f"{SVG}path") if "line" in p.attrib["class"])
        return float(re.findall(r"([\d.]+) [\d.]+", line.attrib["d"])[-1])

    assert reach(500) < reach(2000) < reach(20_000) == pytest.approx(reach(50_000))


def test_nothing_measured_is_an_empty_chart() -> None:
    both = stacked(windows_over_time({"a": []}), latency_percentiles({"a": Histogram()}))
    assert marks(both, 0) == []
    assert len(parsed(both).findall(f"{SVG}svg")) == 2


def test_stacked_charts_lie_below_each_other_in_one_file() -> None:
    one = windows_over_time({"a": windows([1.0, 2.0])})
    root = parsed(stacked(one, one, one))
    charts = root.findall(f"{SVG}svg")
    assert [chart.attrib["y"] for chart in charts] == ["0", "360", "720"]
    assert root.attrib["height"] == "1080"


def test_a_chart_needs_nothing_else_and_follows_the_readers_colours() -> None:
    chart = stacked(windows_over_time({"a": windows([1.0])}))
    assert "prefers-color-scheme:dark" in chart
    assert not re.search(r"<script|href|url\(|@import|@font-face", chart)


def test_equal_rates_and_rates_of_zero_can_be_drawn() -> None:
    for rate in (0.0, 100.0):
        chart = windows_over_time({"a": windows([rate] * 3)})
        assert "nan" not in chart
        assert len(marks(chart, 0)) == 3
