"""What Prometheus reads, and the id of each request."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import builders
from tests.log_ids import ids_in
from tests.unit.api.fakes import Api, FakeHost, FakeStore
from tuner.nouns import log_context
from tuner.nouns.model import (
    LABELS,
    Activity,
    Counted,
    Doubt,
    JobKind,
    JobState,
    OpenJobs,
    Total,
    Verdict,
    end_of_job,
)
from tuner.service.api.monitoring import COUNTERS

KEY = "0123456789abcdef"
LONG_AGO = builders.NOON - timedelta(minutes=5)

Found = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(text: str) -> Found:
    """All samples by name and labels, as Prometheus tells them apart."""
    found: Found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def scraped(store: FakeStore | None = None, **headers: str) -> Found:
    answer = Api(store or FakeStore()).get("/metrics", **headers)
    assert answer.status_code == 200, answer.text
    return read(answer.text)


def value(found: Found, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def names(found: Found) -> set[str]:
    return {name for name, _ in found}


def test_totals_are_counters_with_their_labels() -> None:
    labels = end_of_job(JobKind.TUNE, JobState.SUCCEEDED, Verdict.BETTER)
    totals = (
        Total(counted=Counted.JOBS_ENDED, pool="default", value=3, labels=labels),
        Total(counted=Counted.DOUBTS, pool="default", value=5, labels={"doubt": "throttled"}),
        Total(counted=Counted.LOAD_S, pool="default", value=12.5),
    )
    found = scraped(FakeStore(machines=[FakeHost()], done=Activity(totals=totals)))
    assert value(found, "tuner_jobs_ended_total", pool="default", **labels) == 3
    assert value(found, "tuner_doubts_total", pool="default", doubt="throttled") == 5
    assert value(found, "tuner_load_seconds_total", pool="default") == 12.5


def test_what_was_never_counted_is_0_in_every_pool_that_has_a_host() -> None:
    found = scraped(FakeStore(machines=[FakeHost(), FakeHost(name="b", pool="big")]))
    for pool in ("default", "big"):
        for counted, (name, _) in COUNTERS.items():
            for labels in LABELS[counted]:
                assert value(found, f"{name}_total", pool=pool, **labels) == 0
        assert value(found, "tuner_jobs", pool=pool, state="queued") == 0
        assert value(found, "tuner_queue_oldest_seconds", pool=pool) == 0


def test_every_total_has_a_counter_and_every_doubt_a_series() -> None:
    assert set(COUNTERS) == set(LABELS) == set(Counted)
    assert [labels["doubt"] for labels in LABELS[Counted.DOUBTS]] == list(Doubt)


def test_the_queue_has_its_length_and_the_age_of_its_oldest_job() -> None:
    waiting = OpenJobs(pool="default", state=JobState.QUEUED, count=4, oldest_s=90.5)
    running = OpenJobs(pool="default", state=JobState.RUNNING, count=1, oldest_s=600.0)
    done = Activity(open_jobs=(waiting, running))
    found = scraped(FakeStore(machines=[FakeHost()], done=done))
    assert value(found, "tuner_jobs", pool="default", state="queued") == 4
    assert value(found, "tuner_jobs", pool="default", state="running") == 1
    assert value(found, "tuner_queue_oldest_seconds", pool="default") == 90.5


def test_pools_without_a_host_share_one_label_whatever_clients_call_them() -> None:
    pools = [f"made-up-{number}" for number in range(20)]
    done = Activity(
        totals=tuple(Total(counted=Counted.JOBS_STARTED, pool=pool, value=2) for pool in pools),
        open_jobs=tuple(
            OpenJobs(pool=pool, state=JobState.QUEUED, count=1, oldest_s=float(number))
            for number, pool in enumerate(pools)
        ),
    )
    found = scraped(FakeStore(machines=[FakeHost()], done=done))
    assert value(found, "tuner_jobs_started_total", pool="unknown") == 40
    assert value(found, "tuner_jobs", pool="unknown", state="queued") == 20
    assert value(found, "tuner_queue_oldest_seconds", pool="unknown") == 19
    assert {dict(labels).get("pool") for _, labels in found} <= {None, "default", "unknown"}


def test_hosts_are_live_or_not_and_a_gone_one_has_no_problem() -> None:
    machines = [
        FakeHost(name="a"),
        FakeHost(name='b"\n', problem='docker is away: "no socket"'),
        FakeHost(name="c", last_seen=LONG_AGO, problem="docker is away", drained_at=LONG_AGO),
    ]
    found = scraped(FakeStore(machines=machines))
    hosts = ("a", 'b"\n', "c")
    live = [value(found, "tuner_host_live", pool="default", host=host) for host in hosts]
    problem = [value(found, "tuner_host_problem", pool="default", host=host) for host in hosts]
    drained = [value(found, "tuner_host_drained", pool="default", host=host) for host in hosts]
    assert (live, problem, drained) == ([1, 1, 0], [0, 1, 0], [0, 0, 1])
    assert not any("socket" in text for _, labels in found for _, text in labels)


def test_without_postgresql_the_figures_of_the_process_are_left() -> None:
    found = scraped(FakeStore(away=True))
    assert value(found, "tuner_database_up") == 0
    assert "process_resident_memory_bytes" in names(found)
    assert not {name for name in names(found) if name.startswith("tuner_jobs")}
    assert value(scraped(), "tuner_database_up") == 1


def test_it_asks_for_the_key_as_other_calls_do() -> None:
    api = Api(api_key=KEY)
    assert api.get("/metrics").status_code == 401
    assert api.get("/metrics", **{"X-API-Key": KEY}).status_code == 200
    assert api.get("/metrics", Authorization=f"Bearer {KEY}").status_code == 200
    assert api.get("/metrics", Host="tuner.example").status_code == 403


def test_a_scraper_gets_the_format_that_it_accepts() -> None:
    plain = Api().get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain")
    wanted = "application/openmetrics-text;version=1.0.0"
    answer = Api().get("/metrics", Accept=wanted)
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")


# ---- requests


def count_of(api: Api, method: str, route: str, status: int) -> float:
    """How many answers were timed under these labels."""
    headers = {"X-API-Key": KEY}
    found = read(api.get("/metrics", **headers).text)
    name = "tuner_http_request_seconds_count"
    return value(found, name, method=method, route=route, status=str(status)) or 0


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", "/v1/jobs/123456", "/v1/jobs/{id}", 404),
        ("GET", "/v1/jobs/123456/trials/3", "/v1/jobs/{id}/trials/{n}", 404),
        ("GET", "/v1/jobs/none", "/v1/jobs/{id}", 422),
        ("GET", "/healthz", "/healthz", 200),
        ("GET", "/docs", "/docs", 200),
        ("GET", "/no/such/page", "none", 404),
        ("DELETE", "/v1/jobs", "/v1/jobs", 405),
    ],
)
def test_an_answer_is_timed_under_the_template_of_its_route(
    method: str, path: str, route: str, status: int
) -> None:
    api = Api()
    before = count_of(api, method, route, status)
    assert api.send(method, path).status_code == status
    assert count_of(api, method, route, status) == before + 1


def test_what_is_refused_is_counted_too() -> None:
    api = Api(api_key=KEY)
    before = count_of(api, "GET", "none", 401)
    assert api.get("/v1/jobs").status_code == 401
    assert count_of(api, "GET", "none", 401) == before + 1


def test_a_fault_of_ours_is_counted_as_500() -> None:
    def broken(request: object) -> None:
        raise RuntimeError("no")

    api = Api(resolve=broken)
    before = count_of(api, "POST", "/v1/jobs", 500)
    assert api.submit().status_code == 500
    assert count_of(api, "POST", "/v1/jobs", 500) == before + 1


def test_no_client_can_make_up_a_label() -> None:
    api = Api()
    for number in range(5):
        api.send(f"MADE-UP-{number}", f"/v1/jobs/{number}/made-up")
        api.send("GET", f"/made-up/{number}")
    text = api.get("/metrics").text
    assert 'method="other"' in text
    assert "MADE" not in text
    assert "made-up" not in text


def test_an_answer_names_its_request() -> None:
    api = Api()
    given = {"X-Request-ID": "deploy/42_a.b:c"}
    assert api.get("/v1/jobs", **given).headers["x-request-id"] == "deploy/42_a.b:c"
    made = {api.get("/v1/jobs").headers["x-request-id"] for _ in range(3)}
    assert len(made) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32}", each) for each in made)


@pytest.mark.parametrize("bad", ["", "two words", "x" * 129, '{"level":"ERROR"}', b"\xff"])
def test_an_id_that_cannot_stand_in_a_log_is_replaced(bad: str | bytes) -> None:
    answer = Api().send("GET", "/v1/jobs", headers={"X-Request-ID": bad})
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


def test_refusals_and_faults_name_their_request_too() -> None:
    def broken(request: object) -> None:
        raise RuntimeError("no")

    given = {"X-Request-ID": "r-1"}
    assert Api(api_key=KEY).get("/v1/jobs", **given).headers["x-request-id"] == "r-1"
    answer = Api(resolve=broken).submit(**given)
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "r-1")


@pytest.fixture
def ids() -> Iterator[list[log_context.Ids]]:
    with ids_in("tuner.service.api") as seen:
        yield seen


def test_a_log_line_of_a_call_knows_its_request_and_its_job(ids: list[log_context.Ids]) -> None:
    api = Api(FakeStore(away=True))
    api.get("/v1/jobs/17/windows", **{"X-Request-ID": "r-2"})
    api.get("/v1/jobs", **{"X-Request-ID": "r-3"})
    assert ids == [{"request": "r-2", "job": 17}, {"request": "r-3"}]
