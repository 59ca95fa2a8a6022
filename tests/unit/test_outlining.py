"""A space as people read it for one job."""

from typing import Any

from tests.builders import space, spec
from tests.space_jobs import job_for
from tuner.nouns.model import JobSpec
from tuner.targets.search_space import Outline, derive, outline
from tuner.targets.search_space.outlining import COUNTED, ParameterOutline


def outlined(job: JobSpec) -> Outline:
    return outline(derive(job))


def parameter(found: Outline, name: str) -> ParameterOutline:
    return next(parameter for parameter in found.parameters if parameter.name == name)


def outlined_space(**parameters: Any) -> Outline:
    return outlined(spec(search_space=space(**parameters)))


def test_a_free_parameter_has_its_bounds_and_no_reason_to_be_fixed() -> None:
    processes = parameter(outlined(job_for("default")), "processes")
    assert (processes.low, processes.high, processes.users, processes.log) == (2, 16, 2, True)
    assert processes.fixed_because == ""
    assert processes.lines == {"2..16": ("processes = 2..16",)}


def test_a_condition_that_does_not_hold_is_told_with_its_values() -> None:
    found = outlined(job_for("default", target={"target_app": "memory-hungry"}))
    assert parameter(found, "threads").fixed_because == (
        "searched only where thread_safe and not has_async; "
        "here thread_safe = false, has_async = false"
    )
    assert parameter(found, "threads").lines == {}


def test_a_parameter_without_another_value_says_so() -> None:
    found = outlined(job_for("default"))  # 32 connections do not need more than the default 100
    assert parameter(found, "listen").fixed_because == (
        "no value of the space would change this file"
    )


def test_bounds_that_meet_fix_a_parameter() -> None:
    found = outlined_space(processes={"type": "int", "low": 2, "high": 2}, b={"type": "bool"})
    assert parameter(found, "processes").fixed_because == "its bounds allow only 2"


def test_each_value_of_a_choice_is_told_with_its_lines() -> None:
    gevent = parameter(outlined(job_for("gevent")), "gevent")
    assert list(gevent.lines) == ["50", "100", "200", "500"]
    assert gevent.lines["50"] == ("gevent = 50", "gevent-monkey-patch = true", "threads = 1")
    assert gevent.note.startswith("changes how the app runs")


def test_heuristics_are_lines_or_the_reason_why_not() -> None:
    job = job_for("default", target={"target_app": "memory-hungry"}, min_processes=1)
    first, second, _, last = outlined(job).heuristics
    assert first.lines == ("processes = 3",)
    assert second.wanted == {"processes": "ceil(cpus)", "threads": 8, "thunder-lock": False}
    assert second.lines == ("processes = 1",)  # the app is not thread-safe
    assert last.lines == ("processes = 6", "thunder-lock = true")


def test_a_heuristic_that_is_none_here_says_why() -> None:
    odd = space(processes={"type": "int", "low": 1, "high": 8}).model_validate(
        {
            "parameters": {"processes": {"type": "int", "low": 1, "high": 8}},
            "constraints": [{"rule": "processes != 7", "reason": "seven is unlucky"}],
            "heuristics": [{"processes": n} for n in (2, 4, 4, 7)],
        }
    )
    found = outlined(spec(search_space=odd))  # the file has two processes
    assert [h.left_out_because for h in found.heuristics] == [
        "the same as the file",
        "",
        "the same as one above",
        "seven is unlucky",
    ]


def test_valid_combinations_are_counted_and_equal_ones_once() -> None:
    found = outlined_space(
        **{
            "processes": {"type": "int", "low": 1, "high": 3},
            "thunder-lock": {"type": "bool", "needs": "processes >= 2"},
        }
    )
    assert (found.combinations, found.combinations_are_counted) == (5, True)


def test_of_a_large_space_the_number_is_a_bound() -> None:
    found = outlined_space(
        a={"type": "int", "low": 0, "high": COUNTED},
        b={"type": "bool"},
    )
    assert (found.combinations, found.combinations_are_counted) == (2 * (COUNTED + 1), False)
