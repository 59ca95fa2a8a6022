"""What the spaces that ship propose, refuse and write."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.grids import grid
from tests.space_jobs import CATALOG, FITTING, job_for
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import Constraint, Limits, MemoryLine, Params
from tuner.targets.search_space import NAMES, Domain, derive, evaluate
from tuner.uwsgi.ini import IniFile

SPACES = sorted(CATALOG.spaces)
BOX = {"memory_mb": 512, "somaxconn": 1024}


def domain_of(space: str, **changes: Any) -> Domain:
    return derive(job_for(space, **changes))


def every(domain: Domain) -> tuple[Params, ...]:
    """All valid combinations, whole numbers at powers of two."""
    return grid(domain, {})


def refusals(space: str, **changes: Any) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        job_for(space, **changes)
    return [str(mistake) for mistake in refused.value.mistakes]


def written(domain: Domain, **values: Any) -> dict[str, str | None]:
    """The lines that some values write."""
    named = {name.replace("_", "-"): value for name, value in values.items()}
    return domain.changes(domain.settle({**domain.baseline, **named}))


def free(domain: Domain) -> set[str]:
    return {dimension.name for dimension in domain.free}


def test_every_space_has_a_job_that_fits_it() -> None:
    assert set(FITTING) == set(SPACES)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("cpus", [0.5, 1.0, 4.0, 32.0])
def test_every_space_has_valid_heuristics_for_every_size_of_box(space: str, cpus: float) -> None:
    domain = domain_of(space, limits={"cpus": cpus, **BOX})
    seeds = domain.seeds()
    assert seeds
    for seed in seeds:
        assert not domain.broken(seed)
        assert domain.ini.patch(domain.changes(seed)).integer("listen", 100) <= 1024


@pytest.mark.parametrize("space", SPACES)
def test_a_space_says_what_it_is_for_and_every_rule_has_its_reason(space: str) -> None:
    known = CATALOG.spaces[space]
    assert len(known.description) > 40
    for rule in (*known.requires, *known.constraints):
        assert len(rule.reason) > 15


def test_every_name_has_a_value_in_every_job_and_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "spaces.md").read_text(encoding="utf-8")
    assert set(domain_of("default").names) == set(NAMES)
    for name in (*NAMES, "user"):
        assert f"| `{name}` |" in page
    for space in SPACES:
        assert f"| `{space}` |" in page


def test_the_example_of_the_page_is_a_space_that_works() -> None:
    page = (Path(__file__).parents[2] / "docs" / "spaces.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    mine = yaml.safe_load(example)
    fitting = derive(job_for("http-router", search_space=mine))
    assert fitting.seeds()
    assert refusals("default", search_space=mine) == ["search_space: mine: the file has no `http`"]


@pytest.mark.parametrize("space", SPACES)
def test_what_a_space_requires_is_about_the_job_and_not_about_what_was_measured(space: str) -> None:
    domain = domain_of(space)
    without_memory = {n: v for n, v in domain.names.items() if n != "memory_processes"}
    for rule in CATALOG.spaces[space].requires:
        assert evaluate(rule.rule, without_memory) is True


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("line", ["", "gevent = 100\ngevent-monkey-patch = true\n"])
def test_no_file_ever_has_coroutines_and_several_threads(space: str, line: str) -> None:
    own = job_for(space)
    domain = derive(own.model_copy(update={"baseline_ini": _one_thread(own.baseline_ini) + line}))
    for params in every(domain):
        ini = IniFile.parse(domain.render(params))
        assert not (ini.integer("gevent", 0) and ini.integer("threads", 1) > 1), ini.dump()


def _one_thread(ini: str) -> str:
    return ini.replace("threads = 4", "threads = 1").replace("threads = 2", "threads = 1")


@pytest.mark.parametrize("space", ["default", "cpu-bound", "io-bound"])
def test_a_file_with_coroutines_is_searched_without_threads_and_without_a_lock(space: str) -> None:
    ini = "[uwsgi]\nhttp-socket = :8000\nprocesses = 2\ngevent = 100\n"
    assert free(domain_of(space, baseline={"ini": ini})).isdisjoint({"threads", "thunder-lock"})


class TestStatic:
    """`static`."""

    def test_a_file_without_files_to_send_is_refused(self) -> None:
        (told,) = refusals("static", target={"target_app": "mixed"})
        assert told == (
            "search_space: static: the file has no static-map, static-map2 or check-static, "
            "so uWSGI sends no files"
        )

    @pytest.mark.parametrize("option", ["static-map", "static-map2", "check-static"])
    def test_each_way_to_send_files_is_known(self, option: str) -> None:
        ini = f"[uwsgi]\nhttp-socket = :8000\n{option} = /s=/srv\n"
        assert "offload-threads" in free(domain_of("static", baseline={"ini": ini}))

    def test_offload_threads_grow_with_the_box_and_the_map_stays(self) -> None:
        domain = domain_of("static", limits={"cpus": 4, **BOX})
        offload = next(d for d in domain.dimensions if d.name == "offload-threads")
        assert (offload.low, offload.high) == (0, 5)
        for params in every(domain):
            assert IniFile.parse(domain.render(params)).values("static-map") == [
                "/static=/app/static"
            ]

    def test_nothing_is_offloaded_where_processes_are_replaced_now_and_then(self) -> None:
        ini = "[uwsgi]\nhttp-socket = :8000\nstatic-map = /s=/srv\nmax-requests = 1000\n"
        assert "offload-threads" not in free(domain_of("static", baseline={"ini": ini}))


class TestBehindNginx:
    """`behind-nginx`."""

    @pytest.mark.parametrize(
        "lines", ["http-socket = :8000", "http = :8000", "http = :8000\nsocket = :3031"]
    )
    def test_a_file_that_serves_http_itself_is_refused(self, lines: str) -> None:
        (told,) = refusals("behind-nginx", baseline={"ini": f"[uwsgi]\n{lines}\n"})
        assert "serves no plain `socket` for nginx" in told

    def test_neither_the_socket_nor_the_buffer_is_touched(self) -> None:
        ini = "[uwsgi]\nsocket = /run/app/app.sock\nbuffer-size = 8192\nprocesses = 2\n"
        domain = domain_of("behind-nginx", baseline={"ini": ini})
        for params in every(domain):
            changed = {*domain.changes(params)}
            assert not any(name.startswith(("http", "socket", "buffer")) for name in changed)

    def test_the_queue_is_one_of_its_levers(self) -> None:
        assert {"processes", "threads", "listen", "thunder-lock"} <= free(domain_of("behind-nginx"))


class TestHttpRouter:
    """`http-router`."""

    @pytest.mark.parametrize("line", ["http-socket = :8000", "socket = :3031"])
    def test_a_file_without_the_router_is_refused(self, line: str) -> None:
        workload = {"kind": "closed_loop", "concurrency": 32}
        ini = f"[uwsgi]\n{line}\n"
        (told,) = refusals("http-router", baseline={"ini": ini}, workload=workload)
        assert "has no `http`, so there is no router to tune" in told

    @pytest.mark.parametrize(("cpus", "most"), [(1.0, 1), (1.5, 2), (4.0, 4), (16.0, 4)])
    def test_there_are_as_many_routers_as_cpus_and_four_at_most(
        self, cpus: float, most: int
    ) -> None:
        domain = domain_of("http-router", limits={"cpus": cpus, **BOX})
        routers = next(d for d in domain.dimensions if d.name == "http-processes")
        assert (routers.low, routers.high, routers.users) == (1, most, 1)

    def test_connections_are_kept_together_with_chunks(self) -> None:
        domain = domain_of("http-router")
        assert written(domain, http_keepalive="kept") == {
            "http-keepalive": "1",
            "http-auto-chunked": "true",
        }
        note = domain.space.parameters["http-keepalive"].note
        assert "changes what clients see" in note

    def test_connections_are_not_kept_where_no_client_reuses_them(self) -> None:
        once = {"kind": "closed_loop", "concurrency": 32}
        assert "http-keepalive" not in free(domain_of("http-router", workload=once))

    def test_a_keepalive_of_the_users_stays(self) -> None:
        ini = "[uwsgi]\nhttp = :8000\nhttp-keepalive = 75\n"
        domain = domain_of("http-router", baseline={"ini": ini})
        assert "http-keepalive" not in free(domain)
        assert all("http-keepalive" not in domain.changes(params) for params in every(domain))


class TestHttpFront:
    """`http-front`."""

    BEGINNING = "[uwsgi]\nwsgi-file = app.py\n"

    def test_a_file_without_the_router_is_refused(self) -> None:
        ini = "[uwsgi]\nhttp-socket = :8000\n"
        (told,) = refusals("http-front", baseline={"ini": ini})
        assert "has no `http`, so there is no router to leave out" in told

    def test_the_workers_take_over_the_address_and_the_router_goes_with_its_options(self) -> None:
        ini = f"{self.BEGINNING}http = :8000\nhttp-timeout = 9\nlisten = 200\n"
        domain = domain_of("http-front", baseline={"ini": ini})
        assert written(domain, front="workers") == {
            "http": None,
            "http-socket": ":8000",
            "http-timeout": None,
        }
        told = IniFile.parse(domain.render({**domain.baseline, "front": "workers"}))
        assert (told.get("http"), told.get("http-socket")) == (None, ":8000")
        assert "deploy it only behind a proxy" in domain.space.parameters["front"].note

    def test_what_belongs_to_the_router_has_no_meaning_without_it(self) -> None:
        keeps = {"kind": "closed_loop", "concurrency": 32, "keep_alive": True}
        domain = domain_of("http-front", workload=keeps, limits={"cpus": 4, **BOX})
        without = domain.settle(
            {**domain.baseline, "front": "workers", "http-keepalive": "kept", "http-processes": 3}
        )
        assert (without["http-keepalive"], without["http-processes"]) == ("user", 1)

    def test_two_addresses_are_not_made_one(self) -> None:
        ini = f"{self.BEGINNING}http = :8000\nhttp = :8001\n"
        assert "front" not in free(domain_of("http-front", baseline={"ini": ini}))

    def test_the_queue_may_be_as_long_as_the_kernel_allows(self) -> None:
        many = {"kind": "ladder", "concurrencies": [100, 10_000]}
        box = {"memory_mb": 512, "somaxconn": 16_384}
        domain = domain_of("http-front", workload=many, limits=box)
        listen = next(d for d in domain.dimensions if d.name == "listen")
        assert listen.values == (100, 4096, 16_384)


class TestGevent:
    """`gevent`."""

    def test_an_app_that_does_not_say_it_may_is_refused(self) -> None:
        (told,) = refusals("gevent", target={"target_app": "mixed"})
        assert told.endswith("set `gevent_ok: true` in the target")

    def test_an_image_may_say_it_too(self) -> None:
        target = {"image": "shop:1", "gevent_ok": True}
        ini = "[uwsgi]\nhttp-socket = :8000\n"
        assert "gevent" in free(domain_of("gevent", target=target, baseline={"ini": ini}))

    def test_greenlets_come_with_their_patch_and_one_thread(self) -> None:
        assert written(domain_of("gevent"), gevent="200", threads=16) == {
            "gevent": "200",
            "gevent-monkey-patch": "true",
            "threads": "1",
        }

    @pytest.mark.parametrize("cpus", [1.0, 4.0])
    def test_with_greenlets_there_are_two_processes_a_cpu_at_most(self, cpus: float) -> None:
        domain = domain_of("gevent", limits={"cpus": cpus, **BOX})
        found = [params for params in every(domain) if params["gevent"] != "user"]
        assert max(int(params["processes"]) for params in found) == 2 * cpus
        assert {params["thunder-lock"] for params in found} == {False}

    def test_greenlets_of_the_users_own_file_count_as_slots(self) -> None:
        ini = "[uwsgi]\nhttp-socket = :8000\nprocesses = 2\ngevent = 20\n"
        domain = domain_of("gevent", baseline={"ini": ini}, limits={"cpus": 4, **BOX}, max_slots=90)
        found = [params for params in every(domain) if params["gevent"] == "user"]
        assert max(int(params["processes"]) for params in found) == 4

    def test_threads_are_tried_against_them(self) -> None:
        found = every(domain_of("gevent"))
        assert any(params["gevent"] == "user" and int(params["threads"]) > 8 for params in found)


class TestCheaper:
    """`cheaper`."""

    def test_what_short_trials_cannot_tell_is_refused(self) -> None:
        plain = {"objective": {"maximize": "throughput_rps"}, "workload": None}
        told = refusals("cheaper", **plain)
        assert len(told) == 2
        assert "cheaper only stops idle processes" in told[0]
        assert "use an open_loop workload" in told[1]

    def test_one_process_has_none_to_let_go(self) -> None:
        (told,) = refusals("cheaper", target={"target_app": "io-bound"})
        assert told == "search_space: cheaper: with one process there is none to stop"

    def test_it_never_changes_the_peak_and_stays_below_it(self) -> None:
        domain = domain_of("cheaper")
        assert free(domain) == {"cheaper"}
        levels = {int(params["cheaper"]) for params in every(domain)}
        assert levels == {0, 1, 2, 4, 7}
        assert all(domain.changes(params).keys() <= {"cheaper"} for params in every(domain))

    def test_two_processes_leave_one(self) -> None:
        domain = domain_of("cheaper", target={"target_app": "mixed"})
        assert {params["cheaper"] for params in every(domain)} == {0, 1}


def test_a_job_that_was_taken_is_not_refused_once_its_memory_is_known() -> None:
    spec = job_for("default")
    assert spec.search_space is not None
    rule = Constraint(rule="memory_processes > 4", reason="too few of them fit for this space")
    needing = spec.model_copy(
        update={"search_space": spec.search_space.model_copy(update={"requires": (rule,)})}
    )
    heavy = MemoryLine(base_mb=10, per_process_mb=200)
    assert derive(needing, heavy).names["memory_processes"] == 2
    tight = needing.model_copy(update={"limits": Limits(memory_mb=40)})
    with pytest.raises(InvalidInput, match="too few of them fit"):
        derive(tight)
