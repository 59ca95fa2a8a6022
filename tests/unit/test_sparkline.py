"""The answers of an app as a small picture."""

import re
from xml.etree import ElementTree as XML

import pytest

from tests.finished_jobs import effect
from tuner.nouns.model import Metric
from tuner.show import charts


def heights(svg: str) -> list[float]:
    """The height of each point, in pixels from the top."""
    found = re.findall(r'class="s0" d="M[\d.]+ ([\d.]+)a', svg)
    return [float(number) for number in found]


def test_better_is_above_and_the_words_say_the_same() -> None:
    svg = charts.sparkline([effect(-0.05, 0.01), effect(0.10, 0.02)])
    XML.fromstring(svg)  # noqa: S314  our own
    first, second = heights(svg)
    assert first > second
    assert "<title>effects, the oldest first: -5.0 %, +10.0 %</title>" in svg


def test_less_latency_is_better() -> None:
    first, second = heights(
        charts.sparkline(
            [
                effect(0.05, 0.01, Metric.LATENCY_P95_MS),
                effect(-0.10, 0.02, Metric.LATENCY_P95_MS),
            ]
        )
    )
    assert first > second


def test_an_answer_without_a_figure_leaves_its_place_empty() -> None:
    assert charts.sparkline([]) == charts.sparkline([None]) == ""
    svg = charts.sparkline([effect(0.05, 0.01), None, effect(0.05, 0.01)])
    assert len(heights(svg)) == 2


def test_an_interval_without_bounds_and_no_effect_at_all_fit_in() -> None:
    wide = effect(0.0, float("inf"))
    svg = charts.sparkline([wide, effect(0.0, 0.0)])
    assert "nan" not in svg
    assert "inf" not in svg


@pytest.mark.parametrize("estimate", [0.098, -0.098, 0.0])
@pytest.mark.parametrize("answers", [1, 3])
def test_dots_and_intervals_are_inside_of_the_picture(estimate: float, answers: int) -> None:
    own = effect(estimate, 0.03)
    drawn = charts.sparkline([own] * answers)
    height = float(re.findall(r'height="(\d+)"', drawn)[0])
    ends = [float(y) for y in re.findall(r"M[\d.]+ (-?[\d.]+)", drawn)]
    ends += [float(y) for y in re.findall(r"V(-?[\d.]+)", drawn)]
    assert all(3 < y < height - 3 for y in ends), drawn
