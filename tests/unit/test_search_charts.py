"""Searches, races and confirmations as SVG."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.budgets import examples
from tuner.nouns.model import (
    Factor,
    Importance,
    Look,
    Metric,
    Origin,
    Outcome,
    ParetoPoint,
    Round,
    Scalar,
    Slice,
    SlicePoint,
    Standing,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.show.charts import (
    confirmation,
    effects_chart,
    embedded,
    importance_bars,
    interval_bar,
    parallel_coordinates,
    pareto,
    race_chart,
    slice_band,
    stacked,
    style,
    trials_over_time,
    varied,
    writable,
)

SVG = "{http://www.w3.org/2000/svg}"
RPS = Metric.THROUGHPUT_RPS
BROKEN = 1.0  # excess over a bound


def look(blocks: int, z: float, bound: float, *shares: float) -> Look:
    estimate, low, high = (math.log1p(share) for share in shares)
    return Look(blocks=blocks, z=z, bound=bound, estimate=estimate, low=low, high=high)


LOOKS = [look(8, 2.1, 4.08, 0.05, -0.01, 0.11), look(12, 3.6, 3.33, 0.06, 0.02, 0.10)]


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314  our own text


def words(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter(f"{SVG}text")]


def hints(svg: str) -> list[str]:
    """What marks show when a reader points at them."""
    return [
        element.text or ""
        for p in parsed(svg).iter(f"{SVG}path")
        for element in p.iter(f"{SVG}title")
    ]


def steps(svg: str, kind: str) -> list[str]:
    """The paths of a class."""
    return [p.attrib["d"] for p in parsed(svg).iter(f"{SVG}path") if p.attrib["class"] == kind]


def trial(number: int, gain: float | None, excess: float = 0.0, /, **params: Scalar) -> Trial:
    outcome = Outcome(
        state=TrialState.INFEASIBLE if gain is None else TrialState.COMPLETE,
        score=None if gain is None else math.log1p(gain),
        constraints={"memory_mb": excess},
    )
    return Trial(
        number=TrialNumber(number),
        params=params,
        origin=Origin.SAMPLER,
        state=outcome.state,
        outcome=outcome,
    )


def standing(number: int, gain: float, margin: float = 0.02) -> Standing:
    log = math.log1p(gain)
    return Standing(
        number=TrialNumber(number), gain=log, low=log - margin, high=log + margin, blocks=4
    )


def race(*standings: Standing) -> str:
    """A round in which all but the first leave."""
    return race_chart([Round(standings=standings, survivors=1)], RPS)


def factor(name: str, gain: float, *, kept: bool = True) -> Factor:
    return Factor(
        parameters=(name,), effect=gain, low=gain - 0.02, high=gain + 0.02, p=0.01, is_kept=kept
    )


def band(*values: Scalar, parameter: str = "p", margin: float = 0.1) -> Slice:
    """No gain is expected at any of these values."""
    ends = {"low": math.log1p(-margin), "high": math.log1p(margin)}
    points = (SlicePoint(value=value, gain=0.0, **ends) for value in values)
    return Slice(parameter=parameter, points=tuple(points))


def importance(name: str, share: float) -> Importance:
    return Importance(parameter=name, share=share, low=0.0, high=1.0)


def point(number: int, *gains: float, chosen: bool = False) -> ParetoPoint:
    """A trial by its gains of throughput and memory."""
    rps, memory = math.log1p(gains[0]), -math.log1p(-gains[1])
    return ParetoPoint(
        number=TrialNumber(number),
        gains={"throughput_rps": rps, "memory_mb": memory},
        is_chosen=chosen,
    )


def every_chart(name: str = "processes") -> list[str]:
    """One of each kind, with a name that somebody else gave."""
    tried = [trial(0, 0.0, **{name: 1}), trial(1, 0.05, **{name: 4})]
    return [
        trials_over_time(tried, RPS),
        parallel_coordinates(tried, RPS, chosen=1),
        slice_band(band(name, parameter=name), RPS, users=name),
        importance_bars([importance(name, 0.7)]),
        race(standing(1, 0.1), standing(2, 0.0)),
        effects_chart([factor(name, 0.1), factor("other", 0.0, kept=False)], RPS),
        confirmation(LOOKS, [0.04, 0.06], RPS),
        pareto([point(1, 0.1, -0.1, chosen=True)], RPS, Metric.MEMORY_MB),
    ]


def test_every_chart_has_a_title_and_a_description() -> None:
    for chart in every_chart():
        for root in [parsed(chart), *parsed(chart).findall(f"{SVG}svg")]:
            if root.attrib.get("role") == "img":
                assert root.findtext(f"{SVG}title")
                assert root.findtext(f"{SVG}desc")
        assert chart.count('role="img"') == chart.count("<desc>") >= 1


def test_no_chart_refers_to_anything_outside() -> None:
    for chart in every_chart():
        bare = chart.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"http|<script|href|url\(|@import|@font-face", bare)


def test_equal_input_makes_equal_charts() -> None:
    assert every_chart() == every_chart()


@given(st.text(min_size=1, max_size=60))
@settings(max_examples=examples(40), deadline=None)
def test_a_chart_is_well_formed_with_any_name(name: str) -> None:
    for chart in every_chart(name):
        root = parsed(chart)
        assert not list(root.iter(f"{SVG}script"))


def test_characters_that_turn_the_direction_of_writing_are_shown_as_unknown() -> None:
    assert writable("a\u202eb\x00c\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert writable("größe\n\t日本") == "größe\n\t日本"


def test_broken_bounds_and_missing_results_have_marks_of_their_own() -> None:
    chart = trials_over_time(
        [trial(0, 0.0), trial(1, 0.2, BROKEN), trial(2, None), trial(3, 0.1)],
        RPS,
    )
    assert {"breaks a bound", "no result"} <= set(words(chart))
    assert "trial 1: +20.0 %, breaks a bound" in hints(chart)
    assert "trial 2: no result" in hints(chart)


def test_the_best_so_far_follows_feasible_trials_only() -> None:
    tried = [trial(0, 0.0), trial(1, 0.2, BROKEN), trial(2, 0.1), trial(3, 0.05)]
    block_options, _legend = steps(trials_over_time(tried, RPS), "s5 l5 line")
    heights = [float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", block_options)]
    assert len(set(heights)) == 2, "from the baseline up to trial 2, and never to trial 1"
    description = parsed(trials_over_time(tried, RPS)).findtext(f"{SVG}desc")
    assert "is trial 2: +10.0 %" in (description or "")


def test_a_trial_far_below_the_others_does_not_flatten_them() -> None:
    chart = trials_over_time([trial(0, 0.0), trial(1, 0.1), trial(2, -0.99)], RPS)
    assert "lower still" in words(chart)
    assert min(float(w) for w in words(chart) if re.fullmatch(r"-\d+", w)) >= -60


def test_a_gain_is_drawn_where_it_is_however_far_below_the_best() -> None:
    tried = [trial(0, 0.0), trial(1, 0.25), trial(2, 1.88)]
    assert "lower still" not in words(trials_over_time(tried, RPS))
    with_a_loss = trials_over_time([*tried, trial(3, -0.99)], RPS)
    assert "lower still" in words(with_a_loss)
    assert not any(re.fullmatch(r"-\d+", word) for word in words(with_a_loss))


def test_gains_far_below_the_best_still_end_at_places_of_their_own() -> None:
    tried = [trial(n, gain, p=n) for n, gain in enumerate((0.0, 0.25, 1.88))]
    ends = {d.split()[-1] for d in steps(parallel_coordinates(tried, RPS), "s0 thin")}
    assert len(ends) == 3


@pytest.mark.parametrize("count", [0, 1, 8, 100])
@pytest.mark.parametrize("parameters", [1, 12])
def test_any_number_of_trials_and_parameters_can_be_drawn(count: int, parameters: int) -> None:
    tried = [
        trial(n, 0.01 * n, **{f"p{k}": n * (k + 1) + 1 for k in range(parameters)})
        for n in range(count)
    ]
    for chart in (trials_over_time(tried, RPS), parallel_coordinates(tried, RPS)):
        parsed(chart)
        assert not re.search(r"nan|inf", chart)
    assert len(steps(parallel_coordinates(tried, RPS), "s0 thin")) == (count if count > 1 else 0)


def test_only_parameters_that_varied_have_an_axis() -> None:
    tried = [trial(0, 0.0, processes=1, listen=100), trial(1, 0.1, processes=4, listen=100)]
    assert varied(tried) == ["processes"]
    said = words(parallel_coordinates(tried, RPS))
    assert "processes" in said
    assert "listen" not in said


def test_true_and_one_are_two_values() -> None:
    tried = [
        trial(0, 0.0, lock=True),
        trial(1, 0.0, lock=1),
    ]
    assert {"true", "1"} <= set(words(parallel_coordinates(tried, RPS)))


def test_the_chosen_trial_stands_out_among_its_likes() -> None:
    assert len(steps(every_chart()[1], "s1 thick")) == 1


def test_a_slice_marks_the_users_value_and_the_new_one() -> None:
    said = words(slice_band(band(1, 2, 4), RPS, users=1, chosen=4))
    assert {"yours", "new"} <= set(said)
    same = words(slice_band(band(1, 2, 4), RPS, users=4, chosen=4))
    assert "yours, kept" in same
    assert "new" not in same


def test_slices_with_one_reach_have_the_same_axis() -> None:
    charts = [slice_band(band(1, margin=m), RPS, reach=(-0.4, 0.4)) for m in (0.1, 0.4)]
    narrow, wide = ([w for w in words(c) if w.lstrip("-").isdigit()] for c in charts)
    assert narrow == wide


def test_words_have_whiskers_and_numbers_a_band() -> None:
    choices = slice_band(band("user", "none"), RPS)
    assert steps(slice_band(band(1, 2), RPS), "s0 area")
    assert not steps(choices, "s0 area")
    assert {"user", "none"} <= set(words(choices))


def test_a_point_of_a_slice_without_a_known_gain_is_left_out() -> None:
    blind = SlicePoint(value=8, gain=math.inf, low=-math.inf, high=math.inf)
    known = band(1, 2)
    chart = slice_band(Slice(parameter="p", points=(*known.points, blind)), RPS)
    assert not re.search(r"nan|inf", chart)
    assert len(hints(chart)) == 2


def test_a_longer_bar_is_more_important() -> None:
    bars = importance_bars([importance("a", 0.7), importance("b", 0.1)])
    lengths = [float(re.findall(r"h([\d.]+)v", d)[0]) for d in steps(bars, "s0")]
    assert lengths[0] == pytest.approx(7 * lengths[1], rel=0.01)


def test_candidates_that_leave_a_race_are_hollow() -> None:
    chart = race(standing(4, 0.1), standing(9, -0.1))
    assert {"round 1", "trial 4", "trial 9", "stays", "leaves"} <= set(words(chart))
    assert hints(chart) == ["trial 4: +10.0 %", "trial 9: -10.0 %"]
    assert len(steps(chart, "s0 void")) == 2, "trial 9 and the legend"


def test_an_interval_without_bounds_reaches_both_edges() -> None:
    chart = race(standing(1, 0.01, math.inf))
    left, right = re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", steps(chart, "s0 line")[0])[0]
    assert (float(left), float(right)) == (190, 732)


def test_less_of_a_metric_of_which_less_is_better_is_drawn_as_a_gain() -> None:
    chart = trials_over_time([trial(0, 0.0), trial(1, 0.25)], Metric.MEMORY_MB)
    assert "less memory, %" in words(chart)
    assert "trial 1: +20.0 %" in hints(chart)


def test_a_confirmation_shows_blocks_estimates_and_the_bounds_of_both_sides() -> None:
    chart = confirmation(LOOKS, [math.log1p(g) for g in (0.04, 0.06, 0.05)], RPS)
    assert [h for h in hints(chart) if h.startswith("block ")] == [
        "block 1: +4.0 %",
        "block 2: +6.0 %",
        "block 3: +5.0 %",
    ]
    assert "after 12 blocks: z 3.60" in hints(chart)
    assert len(steps(chart, "s1 l1 line")) == 3, "the upper bounds, the lower ones, the legend"
    assert len(parsed(chart).findall(f"{SVG}svg")) == 2


def test_a_confirmation_without_looks_shows_its_blocks_alone() -> None:
    chart = confirmation([], [0.04, 0.06], RPS)
    assert len(hints(chart)) == 2
    assert "z" not in words(chart)


def test_looks_without_bounds_can_be_drawn() -> None:
    inf = float("inf")
    looks = [Look(blocks=8, z=inf, bound=inf, estimate=0.0, low=-inf, high=inf)]
    chart = confirmation(looks, [], RPS)
    parsed(chart)
    drawn = [d for path in ("s0 area", "s0 thin") for d in steps(chart, path)]
    assert drawn
    assert not any("inf" in d or "nan" in d for d in drawn)


def test_the_chosen_point_of_a_front_stands_out() -> None:
    points = [point(n, 0.1 * n, -0.1 * n, chosen=n == 2) for n in (1, 2, 3)]
    chart = pareto(points, RPS, Metric.MEMORY_MB)
    assert len(steps(chart, "s1")) == 2, "one point and the legend"
    assert "trial 2: +20.0 % and -20.0 % (chosen)" in (parsed(chart).findtext(f"{SVG}desc") or "")


def test_the_colour_of_a_small_interval_says_on_which_side_of_0_it_lies() -> None:
    assert "s2 line" in interval_bar(0.05, 0.01, 0.09, 0.1)
    assert "s4 line" in interval_bar(-0.05, -0.09, -0.01, 0.1)
    assert "s5 line" in interval_bar(0.01, -0.02, 0.04, 0.1)
    assert "s5 line" in interval_bar(0.01, None, None, 0.1)


def test_a_chart_within_a_page_leaves_its_style_to_the_page() -> None:
    both = embedded(stacked(*every_chart()[:2]))
    assert "<style>" not in both
    assert "xmlns" not in both
    assert "var(--series-0,#0b62b8)" in style()
