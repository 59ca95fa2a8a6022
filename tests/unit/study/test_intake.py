"""A request becomes a job, or every mistake in it is named."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.builders import INI, space
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import (
    NO_CAPACITY,
    Budget,
    CalibrateRequest,
    CompareRequest,
    Danger,
    JobKind,
    Limits,
    Metric,
    Params,
    RelativeBound,
    SamplerName,
    TargetApp,
    TuneRequest,
    wants_kept,
)
from tuner.study import intake as mistakes_module
from tuner.study import resolve
from tuner.targets.catalogue import CataloguedApp, HostCatalogue
from tuner.uwsgi.lint import RULES


def known(app: TargetApp, ini: str = INI) -> CataloguedApp:
    return CataloguedApp(app=app, folder=Path("/nowhere"), baseline_ini=ini)


MIXED = TargetApp(name="mixed", description="d", build=".", limits=Limits(cpus=2.0))
ONE_APP = HostCatalogue(apps={"mixed": known(MIXED)}, spaces={"default": space()})


def request(**changes: Any) -> TuneRequest:
    """`ini` is the text of the present file."""
    if "ini" in changes:
        changes["baseline"] = {"ini": changes.pop("ini")}
    return TuneRequest.model_validate({"app": "shop", "target": {"target_app": "mixed"}, **changes})


def mistakes(**changes: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        resolve(request(**changes), ONE_APP)
    return {mistake.path: mistake.message for mistake in caught.value.mistakes}


def test_only_images_that_the_operator_allows_may_run() -> None:
    asked = request(target={"image": "registry.example/shop/cart:1"}, ini=INI)
    assert resolve(asked, ONE_APP, images_allowed=["registry.example/shop/*"])
    with pytest.raises(InvalidInput, match=r"^target\.image: TUNER_IMAGES_ALLOWED") as refused:
        resolve(asked, ONE_APP, images_allowed=["docker.io/*", "registry.example/other/*"])
    assert len(refused.value.mistakes) == 1


def test_the_target_app_supplies_what_the_request_leaves_out() -> None:
    spec = resolve(request(), ONE_APP)
    assert spec.baseline_ini == INI
    assert spec.limits.cpus == 2.0
    assert spec.target.target_app == "mixed"


def test_a_preset_is_resolved_and_its_numbers_may_be_replaced() -> None:
    spec = resolve(request(budget={"preset": "demo", "trials": 3}), ONE_APP)
    assert isinstance(spec.budget, Budget)
    assert (spec.budget.trials, spec.budget.confirm_blocks) == (3, 8)


def test_an_image_is_its_own_target() -> None:
    spec = resolve(request(target={"image": "shop:1.4", "port": 9000}, ini=INI), ONE_APP)
    assert (spec.target.image, spec.target.port, spec.target.target_app) == ("shop:1.4", 9000, None)


def test_all_mistakes_come_at_once_each_with_its_path() -> None:
    found = mistakes(
        target={"target_app": "nowhere"},
        search_space="nowhere",
        ini="[uwsgi]\nlisten = 9000\nprocesses = 2\ncheaper = 2\n",
        limits={"cpus": 1, "memory_mb": 20, "somaxconn": 1024},
        objective={"minimize": "latency_p99_ms"},
    )
    assert set(found) == {
        "target.target_app",
        "search_space",
        "baseline.ini:2",
        "baseline.ini:4",
        "limits.memory_mb",
        "objective.minimize",
    }
    assert "somaxconn, which is 1024" in found["baseline.ini:2"]


@pytest.mark.parametrize("text", ["", "hello", "[django]\nprocesses = 2\n"])
def test_what_uwsgi_would_not_find_a_section_in_is_no_ini(text: str) -> None:
    assert "[uwsgi]" in mistakes(ini=text)["baseline.ini"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<uwsgi></uwsgi>", "xml"),
        ('{"uwsgi": {}}', "json"),
        ("uwsgi:\n  processes: 2\n", "yaml"),
    ],
)
def test_another_format_is_named_with_the_command_that_converts_it(text: str, name: str) -> None:
    found = mistakes(ini=text)["baseline.ini:1"]
    assert name.upper() in found
    assert f"--{name} FILE" in found


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("if-env = SHOP", "never closed"),
        ("ini = :uwsgi", "itself"),
        ("include =", "no file"),
    ],
)
def test_what_uwsgi_cannot_read_is_told_with_its_line(line: str, word: str) -> None:
    text = f"{INI}{line}\n"
    found = mistakes(ini=text)
    assert word in found[f"baseline.ini:{len(INI.splitlines()) + 1}"]


def test_the_line_that_counts_is_the_one_that_is_named() -> None:
    text = "[uwsgi]\nlisten = 9000\n; listen = 5\nlisten = 8000\n"
    assert set(mistakes(ini=text)) == {"baseline.ini:4"}


@pytest.mark.parametrize(
    "lines",
    [
        "chmod-socket = rw",
        "max-worker-lifetime = 5",
        "cheaper-rss-limit-soft = 100",
        "lock-engine = futex",
        "wsgi-env-behaviour = fast",
        "static-map = /srv/static",
        "set = threads",
    ],
)
def test_what_uwsgi_does_not_start_with_is_refused(lines: str) -> None:
    assert set(mistakes(ini=f"{INI}{lines}\n")) == {"baseline.ini:4"}


@pytest.mark.parametrize(
    "lines",
    [
        "procceses = 4",
        "lazy-apps = false ; later",
        "http-keepalive = true",
        "threads = 4\ngevent = 10",
        "workers = %(processes)",
        "ini = :nowhere",
        "route = ^/a redirect:/b",
    ],
)
def test_a_file_that_runs_today_is_not_refused_for_what_is_odd_in_it(lines: str) -> None:
    assert resolve(request(ini=f"{INI}{lines}\n"), ONE_APP)


def test_an_empty_section_is_enough_for_the_command_may_say_it_all() -> None:
    assert resolve(request(ini="[uwsgi]\n"), ONE_APP).baseline_ini == "[uwsgi]\n"


def test_every_rule_that_refuses_a_file_exists() -> None:
    assert {rule.name for rule in RULES} >= mistakes_module._FATAL_NAMES


def test_a_file_of_a_comparison_is_named_with_its_line() -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve(measuring(arms=[{"name": "a", "ini": f"{INI}listen = 9000\n"}]), ONE_APP)
    assert [mistake.path for mistake in caught.value.mistakes] == ["arms.0.ini:4"]


def test_what_the_file_may_do_is_kept_once_each() -> None:
    spec = resolve(request(allow=["network", "commands", "network"]), ONE_APP)
    assert spec.allow == (Danger.NETWORK, Danger.COMMANDS)
    assert resolve(request(), ONE_APP).allow == ()


def test_an_include_of_the_image_is_no_mistake() -> None:
    assert resolve(request(ini=f"{INI}ini = /etc/uwsgi/base.ini\n"), ONE_APP)


def test_processes_that_uwsgi_reads_as_none_are_named() -> None:
    found = mistakes(ini="[uwsgi]\nprocesses = auto\n")
    assert "`auto`" in found["baseline.ini:2"]


def test_an_image_without_a_file_is_asked_for_one() -> None:
    assert "give the present uwsgi.ini" in mistakes(target={"image": "shop:1"})["baseline"]


def test_a_command_that_ignores_the_trials_file_is_refused() -> None:
    found = mistakes(target={"image": "x", "command": ["uwsgi", "--http", ":80"]}, ini=INI)
    assert "{ini}" in found["target.command"]


def test_mistakes_of_an_inline_space_are_among_them() -> None:
    inline = {"parameters": {"processes": {"type": "int", "low": 9, "high": 3}}}
    assert (
        "contradictory bounds" in mistakes(search_space=inline)["search_space.parameters.processes"]
    )


def test_latency_may_be_ranked_at_a_fixed_rate() -> None:
    spec = resolve(
        request(
            objective={"minimize": "latency_p95_ms"},
            workload={"kind": "open_loop", "rate_rps": 100},
        ),
        ONE_APP,
    )
    assert spec.objective.sign == -1


PATHS = {"kind": "paths", "requests": [{"path": "/a"}, {"path": "/b"}]}


def test_paths_in_turn_are_for_comparisons() -> None:
    assert "closed_loop" in mistakes(workload=PATHS)["workload.kind"]
    assert resolve(measuring(workload=PATHS), ONE_APP).workload.kind == "paths"


def test_users_with_connections_of_their_own_keep_them_as_they_are() -> None:
    arm = {"name": "a", "ini": INI, "keep_alive": True}
    assert wants_kept(resolve(measuring(arms=[arm]), ONE_APP).workloads[0])
    with pytest.raises(InvalidInput) as refused:
        resolve(measuring(arms=[arm], workload={"kind": "burst", "users": 10}), ONE_APP)
    assert [each.path for each in refused.value.mistakes] == ["arms.0.keep_alive"]


def measuring(**changes: Any) -> CompareRequest:
    return CompareRequest.model_validate({"target": {"target_app": "mixed"}, **changes})


@pytest.mark.parametrize(
    ("workload", "allowed"),
    [
        ({"kind": "closed_loop"}, False),
        ({"kind": "ladder", "concurrencies": [1, 2]}, False),
        ({"kind": "open_loop", "rate_rps": 10}, True),
        ({"kind": "burst", "users": 10}, True),
        ({"kind": "journey"}, True),
    ],
)
def test_latency_is_ranked_where_a_slower_server_is_not_sent_less(
    workload: dict[str, Any], allowed: bool
) -> None:
    changes = {"workload": workload, "objective": {"minimize": "latency_p95_ms"}}
    if allowed:
        assert resolve(request(**changes), ONE_APP).workload.kind == workload["kind"]
    else:
        assert "objective.minimize" in mistakes(**changes)


def test_a_comparison_has_as_many_blocks_as_were_asked_for_and_varies_nothing() -> None:
    spec = resolve(measuring(blocks=1, cycles=3), ONE_APP)
    assert (spec.kind, spec.search_space) == (JobKind.COMPARE, None)
    assert (spec.budget.compare_blocks, spec.budget.cycles) == (1, 3)


def test_the_first_file_of_a_comparison_is_the_baseline() -> None:
    inis = [{"name": "a", "ini": INI}, {"name": "b", "ini": "[uwsgi]\nprocesses = 9\n"}]
    spec = resolve(measuring(arms=inis), ONE_APP)
    assert [variant.name for variant in spec.variants] == ["a", "b"]
    assert spec.baseline_ini == INI


def test_each_file_of_a_comparison_has_a_box_of_its_own_or_the_jobs() -> None:
    small = {"cpus": 0.5, "memory_mb": 256}
    inis = [{"name": "a", "ini": INI, "limits": small}, {"name": "b", "ini": INI}]
    spec = resolve(measuring(arms=inis), ONE_APP)
    assert [box.cpus for box in spec.boxes] == [0.5, 2.0]
    assert spec.limits == spec.boxes[0]
    assert resolve(request(), ONE_APP).boxes == (Limits(cpus=2.0),)


def test_a_file_is_checked_against_its_own_box() -> None:
    listens = f"{INI}listen = 1000\n"
    tight = {"somaxconn": 512, "memory_mb": 20}
    inis = [{"name": "a", "ini": listens}, {"name": "b", "ini": listens, "limits": tight}]
    with pytest.raises(InvalidInput) as refused:
        resolve(measuring(arms=inis), ONE_APP)
    paths = [mistake.path for mistake in refused.value.mistakes]
    assert paths == ["arms.1.ini:4", "arms.1.limits.memory_mb"]


def test_how_files_are_compared_is_kept_for_the_report() -> None:
    inis = [{"name": str(n), "ini": f"[uwsgi]\nprocesses = {n}\n"} for n in (1, 2)]
    steps = resolve(measuring(arms=inis, compare_with="previous"), ONE_APP)
    assert (steps.compare_with, steps.vary) == ("previous", ())
    assert resolve(measuring(arms=inis, vary=["processes"]), ONE_APP).vary == ("processes",)


def test_files_that_do_not_differ_in_what_varies_are_refused() -> None:
    inis = [{"name": "a", "ini": INI}, {"name": "b", "ini": f"{INI}threads = 2\n"}]
    with pytest.raises(InvalidInput, match="vary: has the same values in a and b"):
        resolve(measuring(arms=inis, vary=["processes"]), ONE_APP)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"vary": ["processes"], "compare_with": "previous"}, "drop compare_with"),
        ({"arms": [{"name": f"f{n}", "ini": INI} for n in range(17)]}, "at most 16"),
        ({"arms": [{"name": "a", "ini": INI}] * 2}, "twice: a"),
    ],
)
def test_a_comparison_that_is_not_well_formed_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        measuring(**changes)


def test_a_calibration_is_of_the_targets_own_file() -> None:
    spec = resolve(CalibrateRequest(blocks=5), ONE_APP)
    assert (spec.kind, spec.app, spec.variants) == (JobKind.CALIBRATE, "mixed", ())
    assert (spec.baseline_ini, spec.budget.calibrate_blocks) == (INI, 5)


@pytest.mark.parametrize("objective", [{"minimize": "memory_mb"}, {"maximize": "rps_per_cpu"}])
def test_what_is_saved_must_not_cost_throughput(objective: dict[str, Any]) -> None:
    spec = resolve(request(objective=objective, slo={"error_rate": 0.01}), ONE_APP)
    assert spec.slo.throughput_rps == RelativeBound(relative_to_baseline=0.95)
    assert spec.slo.error_rate == 0.01
    assert spec.own_bounds == (Metric.THROUGHPUT_RPS,)


@pytest.mark.parametrize("bound", [120, {"relative_to_baseline": 0.95}])
def test_the_users_own_bound_on_throughput_stands(bound: Any) -> None:
    asked = request(objective={"minimize": "memory_mb"}, slo={"throughput_rps": bound})
    spec = resolve(asked, ONE_APP)
    assert spec.slo == asked.slo
    assert spec.own_bounds == ()


@pytest.mark.parametrize(
    "objective",
    [
        {"maximize": "throughput_rps"},
        {"maximize": "throughput_rps", "also": [{"minimize": "memory_mb"}]},
    ],
)
def test_where_throughput_is_the_aim_it_needs_no_bound(objective: dict[str, Any]) -> None:
    assert resolve(request(objective=objective), ONE_APP).slo.throughput_rps is None


def test_latencies_among_further_aims_are_ranked_under_the_same_loads() -> None:
    objective = {
        "maximize": "throughput_rps",
        "also": [{"minimize": "memory_mb"}, {"minimize": "latency_p99_ms"}],
    }
    found = mistakes(objective=objective, workload={"kind": "closed_loop"})
    assert list(found) == ["objective.also.1.minimize"]
    at_a_rate = {"kind": "open_loop", "rate_rps": 100}
    spec = resolve(request(objective=objective, workload=at_a_rate), ONE_APP)
    assert [aim.metric.value for aim in spec.objective.aims] == [
        "throughput_rps",
        "memory_mb",
        "latency_p99_ms",
    ]


def test_the_sampler_is_the_one_that_was_asked_for() -> None:
    assert resolve(request(sampler="tpe"), ONE_APP).sampler is SamplerName.TPE


@pytest.mark.parametrize("name", ["qmc", "random"])
def test_samplers_of_the_benchmarks_are_refused_with_the_list(name: str) -> None:
    with pytest.raises(ValidationError, match="should be 'tpe' or 'gp'"):
        request(sampler=name)


def earlier(app: str) -> list[Params]:
    """What was recommended for `shop` before, in another search space too."""
    known: list[Params] = [
        {"processes": 6, "threads": 4},
        {"logging": "errors-only"},
        {"processes": 6},
        {"processes": 400},
    ]
    return known if app == "shop" else []


def test_a_warm_start_begins_with_what_earlier_jobs_recommended_as_far_as_it_is_varied() -> None:
    spec = resolve(request(warm_start=True), ONE_APP, earlier)
    assert spec.seeds == ({"processes": 6}, {"processes": 400})
    assert resolve(request(app="other", warm_start=True), ONE_APP, earlier).seeds == ()


def test_earlier_jobs_are_not_asked_where_no_warm_start_is_wanted() -> None:
    def nobody(app: str) -> list[Params]:
        raise AssertionError(app)

    assert resolve(request(), ONE_APP, nobody).seeds == ()
    assert resolve(measuring(), ONE_APP, nobody).seeds == ()


def test_a_command_becomes_the_baseline() -> None:
    command = "uwsgi --http :8000 --wsgi-file app.py --processes 4 --disable-logging"
    spec = resolve(request(baseline={"command": command}), ONE_APP)
    lines = ["http = :8000", "wsgi-file = app.py", "processes = 4", "disable-logging = true"]
    assert spec.baseline_ini.splitlines() == ["[uwsgi]", *lines]


def test_the_mistakes_of_a_command_are_named_with_those_of_the_rest() -> None:
    found = mistakes(baseline={"command": "uwsgi --proceses 4"}, target={"target_app": "other"})
    assert set(found) == {"baseline.command", "target.target_app"}
    assert "is it --processes?" in found["baseline.command"]


def test_a_baseline_has_one_form() -> None:
    for both in ({}, {"ini": INI, "command": "uwsgi"}, {"ini": INI, "in_image": "/a.ini"}):
        with pytest.raises(ValidationError, match="give one of ini, command and in_image"):
            request(baseline=both)


PATH = "/etc/app/uwsgi.ini"
SHIPPED = {"target": {"image": "shop:1"}, "baseline": {"in_image": PATH}}


def test_a_file_in_the_image_is_read_later_and_the_images_own_command_runs() -> None:
    spec = resolve(request(**SHIPPED), ONE_APP)
    assert spec.awaits_file
    assert (spec.target.ini_path, spec.target.command) == (PATH, ())
    assert not spec.with_file(INI).awaits_file
    asked = CalibrateRequest.model_validate({"kind": "calibrate", **SHIPPED})
    assert resolve(asked, ONE_APP).target.ini_path == PATH
    app = resolve(request(baseline=SHIPPED["baseline"]), ONE_APP).target
    assert (app.target_app, app.ini_path, app.command) == ("mixed", PATH, ())


def test_a_space_is_held_against_the_file_once_it_is_known() -> None:
    crowded = {**SHIPPED, "max_slots": 1}
    spec = resolve(request(**crowded), ONE_APP)
    found = mistakes_module.mistakes_in(spec.with_file(INI), [(PATH, INI)])
    assert [mistake.path for mistake in found] == ["max_slots"]


@pytest.mark.parametrize("more", [{"command": ["uwsgi", "{ini}"]}, {"ini_path": "/srv/other.ini"}])
def test_a_file_in_the_image_has_one_way_to_start(more: dict[str, Any]) -> None:
    target = {"image": "shop:1", **more}
    found = mistakes(target=target, baseline=SHIPPED["baseline"])
    assert found["baseline.in_image"].startswith("the image's own command runs with this file")


def test_given_files_may_take_the_place_of_the_images() -> None:
    asked = {"kind": "compare", "target": {"image": "shop:1", "ini_path": PATH}}
    inis = [{"name": "a", "ini": INI}]
    spec = resolve(CompareRequest.model_validate({**asked, "arms": inis}), ONE_APP)
    assert (spec.awaits_file, spec.target.ini_path, spec.target.command) == (False, PATH, ())
    with pytest.raises(ValidationError, match="leave command out"):
        request(target={"image": "a", "ini_path": PATH, "command": ["uwsgi", "{ini}"]})
    for path in ("uwsgi.ini", "/etc/../uwsgi.ini", "/"):
        with pytest.raises(ValidationError):
            request(baseline={"in_image": path})


def test_no_file_is_read_out_of_the_image_in_place_of_an_empty_text() -> None:
    target = {"image": "shop:1", "ini_path": PATH}
    assert [*mistakes(target=target, ini="")] == ["baseline.ini"]


def test_a_tuning_job_does_not_search_for_capacity() -> None:
    workload = {"kind": "capacity", "limit": {"latency_p95_ms": 200}}
    assert mistakes(workload=workload)["workload.kind"] == NO_CAPACITY
    with pytest.raises(ValidationError, match="compare the two files with `tuner capacity`"):
        request(objective={"maximize": "capacity_rps"})
