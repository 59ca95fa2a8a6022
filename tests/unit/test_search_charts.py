"""Searches, races and confirmations as SVG."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.charts import (
    Attempt,
    Bar,
    Glance,
    Guess,
    Row,
    Spot,
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
LABEL = "more requests per second, %"
LOOKS = [
    Glance(blocks=8, z=2.1, bound=4.08, gain=0.05, low=-0.01, high=0.11),
    Glance(blocks=12, z=3.6, bound=3.33, gain=0.06, low=0.02, high=0.10),
]


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314  our own text


def words(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter(f"{SVG}text")]


def hints(svg: str) -> list[str]:
    """What marks say to who points at them."""
    return [
        element.text or ""
        for p in parsed(svg).iter(f"{SVG}path")
        for element in p.iter(f"{SVG}title")
    ]


def steps(svg: str, kind: str) -> list[str]:
    """The paths of a class."""
    return [p.attrib["d"] for p in parsed(svg).iter(f"{SVG}path") if p.attrib["class"] == kind]


def attempt(number: int, gain: float | None, *, feasible: bool = True, **values: int) -> Attempt:
    return Attempt(number=number, gain=gain, is_feasible=feasible, values=values)


def row(name: str, gain: float, *, faint: bool = False) -> Row:
    return Row(name=name, gain=gain, low=gain - 0.02, high=gain + 0.02, is_faint=faint)


def every_chart(name: str = "processes") -> list[str]:
    """One of each kind, with a name that somebody else gave."""
    tried = [
        Attempt(number=0, gain=0.0, values={name: 1}),
        Attempt(number=1, gain=0.05, values={name: 4}, is_chosen=True),
    ]
    return [
        trials_over_time(tried, LABEL),
        parallel_coordinates(tried, LABEL),
        slice_band(name, [Guess(value=name, gain=0.1, low=0.0, high=0.2)], LABEL, users=name),
        importance_bars([Bar(name=name, share=0.7, low=0.5, high=0.9)]),
        race_chart([[row(name, 0.1), row("other", 0.0, faint=True)]], LABEL),
        effects_chart([row(name, 0.1)], LABEL),
        confirmation(LOOKS, [0.04, 0.06], LABEL),
        pareto([Spot(number=1, across=0.1, up=-0.1, is_chosen=True)], LABEL, name),
    ]


def test_every_chart_has_a_title_and_a_description_for_who_cannot_see_it() -> None:
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
@settings(max_examples=40, deadline=None)
def test_whatever_a_name_holds_the_chart_is_well_formed(name: str) -> None:
    for chart in every_chart(name):
        root = parsed(chart)
        assert not list(root.iter(f"{SVG}script"))


def test_characters_that_turn_the_direction_of_writing_are_shown_as_unknown() -> None:
    assert writable("a\u202eb\x00c\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert writable("größe\n\t日本") == "größe\n\t日本"


def test_trials_that_broke_a_bound_and_trials_without_a_result_are_told_apart() -> None:
    chart = trials_over_time(
        [attempt(0, 0.0), attempt(1, 0.2, feasible=False), attempt(2, None), attempt(3, 0.1)],
        LABEL,
    )
    assert {"breaks a bound", "no result"} <= set(words(chart))
    assert "trial 1: +20.0 %, breaks a bound" in hints(chart)
    assert "trial 2: no result" in hints(chart)


def test_the_best_so_far_follows_feasible_trials_only() -> None:
    tried = [attempt(0, 0.0), attempt(1, 0.2, feasible=False), attempt(2, 0.1), attempt(3, 0.05)]
    block_options, _legend = steps(trials_over_time(tried, LABEL), "s5 l5 line")
    heights = [float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", block_options)]
    assert len(set(heights)) == 2, "from the baseline up to trial 2, and never to trial 1"
    description = parsed(trials_over_time(tried, LABEL)).findtext(f"{SVG}desc")
    assert "is trial 2: +10.0 %" in (description or "")


def test_a_trial_far_below_the_others_does_not_flatten_them() -> None:
    chart = trials_over_time([attempt(0, 0.0), attempt(1, 0.1), attempt(2, -0.99)], LABEL)
    assert "lower still" in words(chart)
    assert min(float(w) for w in words(chart) if re.fullmatch(r"-\d+", w)) >= -60


def test_a_gain_is_drawn_where_it_is_however_far_below_the_best() -> None:
    tried = [attempt(0, 0.0), attempt(1, 0.25), attempt(2, 1.88)]
    assert "lower still" not in words(trials_over_time(tried, LABEL))
    with_a_loss = trials_over_time([*tried, attempt(3, -0.99)], LABEL)
    assert "lower still" in words(with_a_loss)
    assert not any(re.fullmatch(r"-\d+", word) for word in words(with_a_loss))


def test_gains_far_below_the_best_still_end_at_places_of_their_own() -> None:
    tried = [attempt(n, gain, p=n) for n, gain in enumerate((0.0, 0.25, 1.88))]
    ends = {d.split()[-1] for d in steps(parallel_coordinates(tried, LABEL), "s0 thin")}
    assert len(ends) == 3


@pytest.mark.parametrize("count", [0, 1, 8, 100])
@pytest.mark.parametrize("parameters", [1, 12])
def test_any_number_of_trials_and_parameters_can_be_drawn(count: int, parameters: int) -> None:
    tried = [
        Attempt(
            number=n,
            gain=0.01 * n,
            values={f"p{k}": n * (k + 1) + 1 for k in range(parameters)},
        )
        for n in range(count)
    ]
    for chart in (trials_over_time(tried, LABEL), parallel_coordinates(tried, LABEL)):
        parsed(chart)
        assert not re.search(r"nan|inf", chart)
    assert len(steps(parallel_coordinates(tried, LABEL), "s0 thin")) == (count if count > 1 else 0)


def test_only_parameters_that_varied_have_an_axis() -> None:
    tried = [attempt(0, 0.0, processes=1, listen=100), attempt(1, 0.1, processes=4, listen=100)]
    assert varied(tried) == ["processes"]
    said = words(parallel_coordinates(tried, LABEL))
    assert "processes" in said
    assert "listen" not in said


def test_true_and_one_are_two_values() -> None:
    tried = [
        Attempt(number=0, gain=0.0, values={"lock": True}),
        Attempt(number=1, gain=0.0, values={"lock": 1}),
    ]
    assert {"true", "1"} <= set(words(parallel_coordinates(tried, LABEL)))


def test_the_chosen_trial_stands_out_among_its_likes() -> None:
    assert len(steps(every_chart()[1], "s1 thick")) == 1


def test_a_slice_marks_the_users_value_and_the_new_one() -> None:
    guesses = [Guess(value=n, gain=0.0, low=-0.1, high=0.1) for n in (1, 2, 4)]
    said = words(slice_band("processes", guesses, LABEL, users=1, chosen=4))
    assert {"yours", "new"} <= set(said)
    same = words(slice_band("processes", guesses, LABEL, users=4, chosen=4))
    assert "yours, kept" in same
    assert "new" not in same


def test_slices_with_one_reach_have_the_same_axis() -> None:
    guess = Guess(value=1, gain=0.0, low=-0.1, high=0.1)
    wide = Guess(value=1, gain=0.0, low=-0.4, high=0.4)
    numbers = [
        [
            w
            for w in words(slice_band("p", [g], LABEL, reach=(-0.4, 0.4)))
            if w.lstrip("-").isdigit()
        ]
        for g in (guess, wide)
    ]
    assert numbers[0] == numbers[1]


def test_words_have_whiskers_and_numbers_a_band() -> None:
    numbers = [Guess(value=n, gain=0.0, low=-0.1, high=0.1) for n in (1, 2)]
    choices = [Guess(value=w, gain=0.0, low=-0.1, high=0.1) for w in ("user", "none")]
    assert steps(slice_band("p", numbers, LABEL), "s0 area")
    assert not steps(slice_band("p", choices, LABEL), "s0 area")
    assert {"user", "none"} <= set(words(slice_band("p", choices, LABEL)))


def test_a_longer_bar_is_more_important() -> None:
    bars = [Bar(name=n, share=s, low=0.0, high=1.0) for n, s in (("a", 0.7), ("b", 0.1))]
    lengths = [float(re.findall(r"h([\d.]+)v", d)[0]) for d in steps(importance_bars(bars), "s0")]
    assert lengths[0] == pytest.approx(7 * lengths[1], rel=0.01)


def test_who_has_to_leave_a_race_is_hollow() -> None:
    chart = race_chart([[row("trial 4", 0.1), row("trial 9", -0.1, faint=True)]], LABEL)
    assert {"round 1", "trial 4", "trial 9", "stays", "leaves"} <= set(words(chart))
    assert hints(chart) == ["trial 4: +10.0 %", "trial 9: -10.0 %"]
    assert len(steps(chart, "s0 void")) == 2, "trial 9 and the legend"


def test_an_interval_without_bounds_reaches_both_edges() -> None:
    chart = race_chart([[Row(name="a", gain=0.01, low=None, high=None)]], LABEL)
    left, right = re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", steps(chart, "s0 line")[0])[0]
    assert (float(left), float(right)) == (190, 732)


def test_a_confirmation_shows_blocks_estimates_and_the_bounds_of_both_sides() -> None:
    chart = confirmation(LOOKS, [0.04, 0.06, 0.05], LABEL)
    assert [h for h in hints(chart) if h.startswith("block ")] == [
        "block 1: +4.0 %",
        "block 2: +6.0 %",
        "block 3: +5.0 %",
    ]
    assert "after 12 blocks: z 3.60" in hints(chart)
    assert len(steps(chart, "s1 l1 line")) == 3, "the upper bounds, the lower ones, the legend"
    assert len(parsed(chart).findall(f"{SVG}svg")) == 2


def test_a_confirmation_without_looks_shows_its_blocks_alone() -> None:
    chart = confirmation([], [0.04, 0.06], LABEL)
    assert len(hints(chart)) == 2
    assert "z" not in words(chart)


def test_looks_without_bounds_can_be_drawn() -> None:
    inf = float("inf")
    looks = [Glance(blocks=8, z=None, bound=inf, gain=0.0, low=None, high=None)]
    chart = confirmation(looks, [], LABEL)
    parsed(chart)
    drawn = [d for path in ("s0 area", "s0 thin") for d in steps(chart, path)]
    assert drawn
    assert not any("inf" in d or "nan" in d for d in drawn)


def test_the_chosen_spot_of_a_front_is_told_apart() -> None:
    spots = [Spot(number=n, across=0.1 * n, up=-0.1 * n, is_chosen=n == 2) for n in (1, 2, 3)]
    chart = pareto(spots, LABEL, "less memory, %")
    assert len(steps(chart, "s1")) == 2, "one spot and the legend"
    assert "trial 2: +20.0 % and -20.0 % (chosen)" in (parsed(chart).findtext(f"{SVG}desc") or "")


def test_a_small_interval_says_by_its_colour_on_which_arm_it_lies() -> None:
    assert "s2 line" in interval_bar(0.05, 0.01, 0.09, 0.1)
    assert "s4 line" in interval_bar(-0.05, -0.09, -0.01, 0.1)
    assert "s5 line" in interval_bar(0.01, -0.02, 0.04, 0.1)
    assert "s5 line" in interval_bar(0.01, None, None, 0.1)


def test_a_chart_within_a_page_leaves_its_style_to_the_page() -> None:
    both = embedded(stacked(*every_chart()[:2]))
    assert "<style>" not in both
    assert "xmlns" not in both
    assert "var(--series-0,#0b62b8)" in style()
