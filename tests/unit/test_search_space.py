"""A space evaluated for one job: bounds, conditions, rules, seeds, and the lines it emits."""

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.builders import space, spec
from tests.grids import grid
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import (
    ClosedLoop,
    Constraint,
    Limits,
    MemoryLine,
    Params,
    Scalar,
    SearchSpace,
)
from tuner.targets.search_space import Domain, derive, evaluate

SPACES = Path(__file__).parents[2] / "search_spaces"
LOGGING = {
    "type": "choice",
    "values": ["user", "errors-only"],
    "emit": {"errors-only": {"disable-logging": True, "log-5xx": True}},
}


def shipped(name: str) -> SearchSpace:
    text = (SPACES / f"{name}.yaml").read_text(encoding="utf-8")
    return SearchSpace.model_validate(yaml.safe_load(text))


def default_domain(**changes: Any) -> Domain:
    return derive(spec(search_space=shipped("default"), **changes))


def values_of(domain: Domain, name: str) -> tuple[Scalar, ...]:
    return next(d.values for d in domain.dimensions if d.name == name)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("min(max(4, 4 * ceil(cpus)), 64)", 8),
        ("pow2ceil(2 * 64)", 128),
        ("pow2ceil(129)", 256),
        ("7 // 2 - -1", 4),
        ("cpus >= 1.5 and not cpus > 2", True),
        ("'errors-only'", "errors-only"),
        ("'user' == 'user' and 'kept' != 'user'", True),
        ("'1' == 1", False),
        (12, 12),
    ],
)
def test_expressions_are_arithmetic_over_the_jobs_numbers(expression: Any, value: Any) -> None:
    assert evaluate(expression, {"cpus": 1.5}) == value


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('id')",
        "cpus.__class__",
        "[1, 2]",
        "2 ** 99999999",
        "unknown + 1",
        "1 / 0",
        "1 +",
        "'a' + 1",
        "'a' < 'b'",
        "lambda: 1",
        "max()",
        "(" * 500,
    ],
)
def test_anything_else_is_refused_with_a_sentence(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        evaluate(expression, {"cpus": 1.5})


@given(st.text(max_size=30))
def test_no_text_makes_evaluation_crash(text: str) -> None:
    with suppress(ValueError):  # the one error that intake turns into a mistake of the request
        evaluate(text, {"cpus": 1})


@pytest.mark.parametrize("name", ["default", "cpu-bound", "io-bound"])
@pytest.mark.parametrize("cpus", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("concurrency", [1, 64, 2000])
def test_every_shipped_space_has_valid_seeds_for_every_size_of_box(
    name: str, cpus: float, concurrency: int
) -> None:
    domain = derive(
        spec(
            search_space=shipped(name),
            limits=Limits(cpus=cpus, memory_mb=512, somaxconn=1024),
            workload=ClosedLoop(concurrency=concurrency),
        )
    )
    for seed in domain.seeds():
        assert not domain.broken(seed)
        assert seed != domain.baseline
        assert int(domain.ini.patch(domain.changes(seed)).integer("listen", 100)) <= 1024


def test_the_default_space_has_the_five_levers() -> None:
    names = {dimension.name for dimension in default_domain().free}
    assert names == {"processes", "threads", "listen", "thunder-lock", "logging"}


def test_memory_bounds_the_processes() -> None:
    tight = MemoryLine(base_mb=20, per_process_mb=80)
    domain = derive(spec(search_space=shipped("default")), tight)
    processes = next(d for d in domain.dimensions if d.name == "processes")
    assert processes.high == math.floor((0.85 * 512 - 20) / 80)


def test_no_combination_has_more_slots_than_the_job_allows() -> None:
    free, bound = default_domain(), default_domain(max_slots=9)
    assert max(map(free.slots, free.every_valid().values())) > 9
    assert max(map(bound.slots, bound.every_valid().values())) == 9
    assert all(bound.slots(params) <= 9 for params in bound.seeds())
    assert [rule.reason for rule in bound.broken({**bound.baseline, "processes": 10})] == [
        "more slots than the job's max_slots"
    ]


def test_a_file_with_more_slots_than_the_job_allows_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^max_slots: your own file has 200 slots .*than 90"):
        default_domain(baseline_ini="[uwsgi]\nprocesses = 2\ngevent = 100\n", max_slots=90)


def test_the_users_own_value_is_always_within_reach() -> None:
    domain = default_domain(baseline_ini="[uwsgi]\nprocesses = 200\nthreads = 3\n")
    processes = next(d for d in domain.dimensions if d.name == "processes")
    assert processes.high == 200
    assert 3 in values_of(domain, "threads")


def test_threads_stay_as_they_are_where_the_app_is_not_thread_safe() -> None:
    safe = spec().target
    domain = default_domain(target=safe.model_copy(update={"thread_safe": False}))
    assert values_of(domain, "threads") == (1,)


def test_listen_is_never_lowered() -> None:
    assert values_of(default_domain(baseline_ini="[uwsgi]\nlisten = 2048\n"), "listen") == (2048,)


def test_cheaper_keeps_processes_above_it() -> None:
    domain = default_domain(baseline_ini="[uwsgi]\nprocesses = 6\ncheaper = 3\n")
    processes = next(d for d in domain.dimensions if d.name == "processes")
    assert processes.low == 4


def test_what_needs_another_parameter_falls_back_to_the_users_value() -> None:
    domain = default_domain()
    params = {**domain.baseline, "processes": 1, "thunder-lock": True}
    assert domain.settle(params)["thunder-lock"] is False


def test_only_what_differs_from_the_users_file_is_written() -> None:
    domain = default_domain()
    params = {**domain.baseline, "processes": 4, "logging": "errors-only"}
    assert domain.changes(params) == {
        "processes": "4",
        "disable-logging": "true",
        "log-4xx": "true",
        "log-5xx": "true",
    }
    assert domain.changes(domain.baseline) == {}
    assert domain.render(domain.baseline) == spec().baseline_ini


def test_the_order_of_params_does_not_change_the_file() -> None:
    domain = default_domain()
    params = {**domain.baseline, "processes": 4, "threads": 2, "logging": "errors-only"}
    assert domain.render(dict(reversed(params.items()))) == domain.render(params)


def test_a_choice_that_changes_nothing_is_no_choice() -> None:
    quiet = "[uwsgi]\ndisable-logging = true\nlog-5xx = true\n"
    domain = derive(
        spec(search_space=space(logging=LOGGING, threads={"type": "bool"}), baseline_ini=quiet)
    )
    assert values_of(domain, "logging") == ("user",)


@pytest.mark.parametrize("name", ["default", "cpu-bound", "io-bound"])
def test_heuristics_hold_for_files_that_have_their_options_already(name: str) -> None:
    quiet = "[uwsgi]\ndisable-logging = true\nlog-4xx = true\nlog-5xx = true\nlisten = 4096\n"
    domain = derive(spec(search_space=shipped(name), baseline_ini=quiet))
    assert domain.seeds()
    assert all(seed["logging"] == "user" for seed in domain.seeds())


def test_a_heuristic_that_names_no_choice_is_a_mistake() -> None:
    odd = space(logging=LOGGING, threads={"type": "bool"})
    odd = odd.model_copy(update={"heuristics": ({"logging": "quiet"},)})
    with pytest.raises(InvalidInput, match="'quiet' has no entry under emit"):
        derive(spec(search_space=odd))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"processes": {"type": "int", "low": 8, "high": 2}}, "contradictory bounds"),
        ({"processes": {"type": "int", "low": 1, "high": "nonsense"}}, "unknown name 'nonsense'"),
        ({"processes": {"type": "int", "low": 2, "high": 2}}, "nothing is left to choose"),
        ({"x": {"type": "choice", "values": ["a"], "emit": {"b": {}}}}, "no entry under emit"),
        ({"x": {"type": "bool", "needs": "y > 1"}}, "unknown name 'y'"),
        ({"x": {"type": "int", "low": 1, "high": "9" * 400}}, "not a number up to"),
    ],
)
def test_mistakes_of_a_space_are_named_with_their_path(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        derive(spec(search_space=space(**parameters)))
    assert caught.value.mistakes[0].path.startswith("search_space")


def test_params_of_an_earlier_job_come_to_the_nearest_values_of_this_one() -> None:
    domain = default_domain(limits=Limits(cpus=0.5, memory_mb=512, somaxconn=1024))
    earlier: Params = {"processes": 400, "threads": 7, "listen": 4096, "logging": "errors-only"}
    fitted = domain.fitted({**earlier, "not-here": 1})
    assert fitted is not None
    assert fitted.keys() == domain.baseline.keys()
    assert fitted["processes"] == next(d.high for d in domain.dimensions if d.name == "processes")
    assert fitted["threads"] == 8
    assert fitted["listen"] in values_of(domain, "listen")
    assert (fitted["logging"], fitted["thunder-lock"]) == ("errors-only", False)


def test_earlier_words_that_mean_nothing_here_become_the_users_own() -> None:
    domain = default_domain()
    fitted = domain.fitted({"processes": "many", "threads": "some", "logging": "loud"})
    assert fitted == domain.baseline


def test_earlier_params_that_break_a_rule_are_not_fitted() -> None:
    domain = default_domain(workload=ClosedLoop(concurrency=4))
    assert domain.fitted({"processes": 4, "threads": 32}) is None


def test_earlier_params_without_their_condition_are_settled() -> None:
    fitted = default_domain().fitted({"processes": 1, "thunder-lock": True})
    assert fitted is not None
    assert fitted["thunder-lock"] is False


def test_a_grid_holds_every_combination_of_the_given_values_once() -> None:
    domain = default_domain()
    found = grid(
        domain,
        {
            "processes": ("1", "4"),
            "threads": ("2",),
            "listen": ("100",),
            "thunder-lock": ("false", "true"),
            "logging": ("user",),
        },
    )
    slots = [(params["processes"], params["thunder-lock"]) for params in found]
    assert slots == [(1, False), (4, False), (4, True)]  # one process has nothing to lock
    assert all(params["threads"] == 2 for params in found)


def test_whole_numbers_that_a_grid_does_not_name_are_taken_at_powers_of_two() -> None:
    domain = derive(spec(search_space=space(processes={"type": "int", "low": 1, "high": 12})))
    assert [params["processes"] for params in grid(domain, {})] == [1, 2, 4, 8, 12]


def test_a_grid_keeps_the_rules_of_the_space_but_not_its_bounds() -> None:
    ruled = space().model_copy(
        update={"constraints": (Constraint(rule="processes <= 64", reason="enough"),)}
    )
    found = grid(derive(spec(search_space=ruled)), {"processes": ("8", "64", "65")})
    assert [params["processes"] for params in found] == [8, 64]


def test_a_value_that_a_grid_cannot_take_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        grid(default_domain(), {"logging": ("quiet",)})
    assert [mistake.path for mistake in caught.value.mistakes] == ["logging"]


COOKIES = {
    "type": "choice",
    "values": ["user", "off"],
    "emit": {"off": {"net.ipv4.tcp_syncookies": 0, "log-5xx": True}},
}


def test_a_kernel_setting_is_of_the_box_and_not_of_the_file() -> None:
    box = Limits(nofile=1024, sysctls={"net.ipv4.tcp_fin_timeout": 30})
    domain = derive(spec(search_space=space(cookies=COOKIES), limits=box))
    off = {"cookies": "off"}
    assert domain.changes(off) == {"net.ipv4.tcp_syncookies": "0", "log-5xx": "true"}
    assert domain.render(off) == domain.ini.patch({"log-5xx": "true"}).dump()
    settings = {"net.ipv4.tcp_fin_timeout": 30, "net.ipv4.tcp_syncookies": 0}
    assert domain.box(off) == box.model_copy(update={"sysctls": settings})
    assert domain.box(domain.baseline) == box


def test_a_kernel_setting_that_the_box_has_already_is_no_choice() -> None:
    only = {**COOKIES, "emit": {"off": {"net.ipv4.tcp_syncookies": 0}}}
    box = Limits(sysctls={"net.ipv4.tcp_syncookies": 0})
    with pytest.raises(InvalidInput, match="nothing is left to choose"):
        derive(spec(search_space=space(cookies=only), limits=box))
    assert values_of(derive(spec(search_space=space(cookies=only))), "cookies") == ("user", "off")


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("net.ipv4.tcp_mem", "1 2 3", "belongs to the whole host"),
        ("net.ipv4.tcp_syncookies", 3, "from 0 to 2"),
        ("net.core.somaxconn", 128, "limits.somaxconn"),
    ],
)
def test_a_space_sets_only_what_a_container_may_have(
    setting: str, value: int | str, reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason):
        space(box={"type": "choice", "values": ["user", "x"], "emit": {"x": {setting: value}}})


def test_a_kernel_setting_by_its_own_name_is_refused_because_nobody_knows_the_hosts_value() -> None:
    number = {"type": "choice", "values": [1024, 4096]}
    with pytest.raises(InvalidInput, match="a kernel setting is a choice with emit"):
        derive(spec(search_space=space(**{"net.ipv4.tcp_max_syn_backlog": number})))
