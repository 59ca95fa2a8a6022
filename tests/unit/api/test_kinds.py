"""Jobs of kind compare and calibrate over HTTP."""

import math
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests import builders, comparisons, finished_jobs
from tests.answers import CALIBRATE_REQUEST, COMPARE_REQUEST
from tests.unit.api.fakes import CALIBRATION, Api, FakeHost, FakeStore
from tuner.nouns.model import (
    ArmReport,
    Bottleneck,
    Budget,
    Diagnosis,
    Doubt,
    Figure,
    Histogram,
    Job,
    JobId,
    JobKind,
    JobState,
    Ladder,
    Metric,
    OverTime,
    Phase,
    Report,
    Spread,
    StepEffect,
    Variant,
    Verdict,
)

DOCUMENT: dict[str, Any] = {
    "target": {"target_app": "mixed"},
    "arms": [
        {"name": "a.ini", "ini": builders.INI},
        {"name": "b.ini", "ini": "[uwsgi]\nprocesses = 4\n"},
    ],
}


def measure(api: Api, document: Any = None, **headers: str) -> httpx.Response:
    body = {"kind": "compare", **(DOCUMENT if document is None else document)}
    return api.send("POST", "/v1/jobs", json=body, headers=headers)


def calibrate(api: Api, document: Any = None, **headers: str) -> httpx.Response:
    return api.send(
        "POST", "/v1/jobs", json={"kind": "calibrate", **(document or {})}, headers=headers
    )


def mistakes(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    return {m["path"]: m["message"] for m in answer.json()["mistakes"]}


@pytest.fixture
def api() -> Api:
    return Api()


def comparison(**changes: Any) -> Job:
    variants = (Variant(name="a.ini", ini="[uwsgi]\n"), Variant(name="b.ini", ini="[uwsgi]\n"))
    budget = Budget(trials=0, confirm_blocks=0, compare_blocks=8)
    chosen = builders.spec(
        kind=JobKind.COMPARE, variants=variants, search_space=None, budget=budget
    )
    return builders.job(spec=chosen, phase=Phase.COMPARE, **changes)


def arm(name: str, **changes: Any) -> ArmReport:
    base = ArmReport(
        name=name,
        figures=(Figure(metric=Metric.THROUGHPUT_RPS, value=100.0, ci_low=None, ci_high=None),),
        effects=(),
        verdict=None,
        blocks=1,
        windows=2,
        requests=200,
        errors_by_class={"reset": 1},
        diagnosis=Diagnosis(bottleneck=Bottleneck.UNKNOWN, sentence="nothing", evidence={}),
        doubts=(Doubt.UNSTABLE_START,),
        latency=Histogram({1300: 7}),
        connect=Spread(p50_ms=1, p95_ms=2, max_ms=3),
    )
    return replace(base, **changes)


def test_a_measurement_is_created_and_says_where_it_is(api: Api) -> None:
    answer = measure(api)
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/jobs/1"
    body = answer.json()
    assert (body["app"], body["state"], body["files"]) == ("mixed", "queued", ["a.ini", "b.ini"])
    assert body["progress"]["blocks_left"] == 8
    assert api.store.kept[1].spec.kind is JobKind.COMPARE


def test_without_files_the_targets_own_is_measured(api: Api) -> None:
    assert measure(api, {"target": {"target_app": "mixed"}}).json()["files"] == ["uwsgi.ini"]
    assert api.store.kept[1].spec.variants[0].ini == builders.INI


@pytest.mark.parametrize(
    ("image", "app"),
    [
        ("registry.example/shop/cart:1.4", "cart"),
        (f"x:5000/a@sha256:{'0' * 64}", "a"),
        (f"sha256:{'0' * 64}", "unnamed"),
    ],
)
def test_the_app_of_an_image_is_named_after_it(api: Api, image: str, app: str) -> None:
    assert measure(api, {**DOCUMENT, "target": {"image": image}}).json()["app"] == app


def test_the_examples_are_accepted(api: Api) -> None:
    assert measure(api, COMPARE_REQUEST).status_code == 201
    assert calibrate(api, CALIBRATE_REQUEST).status_code == 201


def test_an_image_without_a_file_is_refused(api: Api) -> None:
    assert "arms" in mistakes(measure(api, {"target": {"image": "shop:1"}}))


def test_every_file_is_checked_under_its_own_path(api: Api) -> None:
    inis = [
        {"name": "a", "ini": "[uwsgi]\n"},
        {"name": "b", "ini": "nothing"},
        {"name": "c", "ini": "[uwsgi]\nlisten = 9999\n"},
    ]
    assert set(mistakes(measure(api, {**DOCUMENT, "arms": inis}))) == {
        "arms.1.ini",
        "arms.2.ini:2",
    }


def test_two_files_of_one_name_are_refused(api: Api) -> None:
    inis = [{"name": "a", "ini": "[uwsgi]\n"}] * 2
    assert "twice: a" in mistakes(measure(api, {**DOCUMENT, "arms": inis}))["arms"]


def test_clients_may_want_to_keep_what_a_file_closes(api: Api) -> None:
    workload = {"kind": "closed_loop", "keep_alive": True}
    inis = [
        {"name": option, "ini": f"[uwsgi]\n{option} = :8000\n"}
        for option in ("http", "http-socket")
    ]
    assert measure(api, {**DOCUMENT, "workload": workload, "arms": inis}).status_code == 201


@pytest.mark.parametrize(
    ("workload", "metric"),
    [
        ({"kind": "closed_loop"}, "throughput_rps"),
        ({"kind": "ladder", "concurrencies": [10, 100]}, "throughput_rps"),
        ({"kind": "journey"}, "throughput_rps"),
        ({"kind": "open_loop", "rate_rps": 50}, "latency_p95_ms"),
        ({"kind": "burst", "users": 500}, "latency_p95_ms"),
    ],
)
def test_files_are_judged_by_what_the_workload_shows(
    api: Api, workload: dict[str, Any], metric: str
) -> None:
    assert measure(api, {**DOCUMENT, "workload": workload}).json()["metric"] == metric


def test_a_key_with_another_kind_is_another_request(api: Api) -> None:
    shared = {"app": "shop", "target": {"target_app": "mixed"}}
    key = {"Idempotency-Key": "k"}
    assert measure(api, shared, **key).status_code == 201
    assert measure(api, shared, **key).status_code == 200
    assert api.submit(shared, **key).status_code == 409
    assert calibrate(api, {"target": shared["target"]}, **key).status_code == 409


def test_a_request_without_a_kind_is_of_kind_tune(api: Api) -> None:
    shared = {"app": "shop", "target": {"target_app": "mixed"}}
    key = {"Idempotency-Key": "k"}
    assert api.submit(shared, **key).json()["kind"] == "tune"
    assert api.submit({**shared, "kind": "tune"}, **key).status_code == 200


@pytest.mark.parametrize("kind", ["measure", None, [], 7])
def test_an_unknown_kind_is_a_mistake(api: Api, kind: Any) -> None:
    assert mistakes(api.submit({**DOCUMENT, "kind": kind})) == {
        "kind": "give kind: one of tune, compare, calibrate"
    }


def test_jobs_of_all_kinds_are_listed_and_found_at_one_address(api: Api) -> None:
    api.submit()
    measure(api)
    calibrate(api)
    assert [job["id"] for job in api.get("/v1/jobs").json()["jobs"]] == [3, 2, 1]
    for number, kind in enumerate(("tune", "compare", "calibrate"), start=1):
        assert [j["id"] for j in api.get(f"/v1/jobs?kind={kind}").json()["jobs"]] == [number]
        assert api.get(f"/v1/jobs/{number}").json()["kind"] == kind
        assert api.get(f"/v1/jobs/{number}/windows").json()["windows"] == []


@pytest.mark.parametrize("part", ["trials", "trials/0", "best", "recommendation", "uwsgi.ini"])
def test_only_a_tuning_job_has_trials_and_a_recommendation(api: Api, part: str) -> None:
    measure(api)
    calibrate(api)
    for number, kind in ((1, "compare"), (2, "calibrate")):
        answer = api.get(f"/v1/jobs/{number}/{part}")
        assert answer.status_code == 404
        assert f"job {number} is of kind {kind}" in answer.json()["detail"]


def test_a_job_of_any_kind_is_cancelled_at_its_address(api: Api) -> None:
    measure(api)
    assert api.send("POST", "/v1/jobs/1/cancel").json()["state"] == "cancelled"


FORMS = {
    "html": ("text/html; charset=utf-8", "<!doctype html>"),
    "md": ("text/markdown; charset=utf-8", "## comparison of `shop`: better"),
    "json": ("application/json", '{"blocks":4,'),
    "csv": (
        "text/csv; charset=utf-8",
        "job,app,arm,limit_cpus,limit_memory_mb,rung,connections,block,",
    ),
}


def compared() -> Api:
    """A service with a comparison that is done."""
    found = comparisons.history()
    return Api(FakeStore({1: found.job}, made={1: list(found.measurements)}))


@pytest.mark.parametrize("form", FORMS)
def test_a_comparison_has_its_report_in_each_form(form: str) -> None:
    media, begins = FORMS[form]
    api = compared()
    asked = api.get(f"/v1/jobs/1/report?format={form}")
    assert asked.status_code == 200
    assert asked.headers["content-type"] == media
    assert asked.text.startswith(begins)
    accepted = api.get("/v1/jobs/1/report", accept=media.partition(";")[0])
    assert accepted.text == asked.text
    assert api.get("/v1/jobs/1/report", **{"If-None-Match": asked.headers["etag"]}).status_code == (
        304 if form == "html" else 200
    )


def test_a_comparison_as_json_is_what_its_job_holds() -> None:
    api = compared()
    found = api.get("/v1/jobs/1/report?format=json").json()
    assert found == api.get("/v1/jobs/1").json()["report"]
    figure = found["arms"][0]["figures"][0]
    assert figure["metric"] == "throughput_rps"
    assert figure["trimmed_mean"] == pytest.approx(1005)


def test_the_page_of_a_comparison_may_load_and_run_nothing() -> None:
    answer = compared().get("/v1/jobs/1/report")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["vary"] == "Accept"


def test_a_tuning_job_has_no_rows_of_blocks() -> None:
    history = finished_jobs.history()
    api = Api(FakeStore({1: history.job}, of_job={1: list(history.trials)}))
    refused = api.get("/v1/jobs/1/report?format=csv")
    assert refused.status_code == 406
    assert "whose report is no csv: ask for format=html or md or json" in refused.json()["detail"]


def test_a_calibration_has_its_report_as_json_alone() -> None:
    chosen = builders.spec(kind=JobKind.CALIBRATE, search_space=None)
    done = builders.job(spec=chosen, state=JobState.SUCCEEDED, calibration=CALIBRATION)
    api = Api(FakeStore({1: done}))
    found = api.get("/v1/jobs/1/report").json()
    assert found == {name: api.get("/v1/jobs/1").json()[name] for name in found}
    assert found["calibration"]["mde"] == CALIBRATION.mde
    assert api.get("/v1/jobs/1/report?format=html").status_code == 406


@pytest.mark.parametrize("kind", [JobKind.COMPARE, JobKind.CALIBRATE])
def test_a_job_that_goes_on_has_no_report_yet(kind: JobKind) -> None:
    going_on = builders.job(spec=builders.spec(kind=kind), phase=Phase.COMPARE)
    answer = Api(FakeStore({1: going_on})).get("/v1/jobs/1/report")
    assert answer.status_code == 409
    assert "still in phase compare" in answer.json()["detail"]


def test_a_measurement_reports_file_by_file() -> None:
    report = Report(arms=(arm("a.ini"), arm("b.ini")), blocks=1)
    done = comparison(state=JobState.SUCCEEDED, report=report)
    found = Api(FakeStore({1: done})).get("/v1/jobs/1").json()["report"]
    assert [s["name"] for s in found["arms"]] == ["a.ini", "b.ini"]
    first = found["arms"][0]
    assert first["figures"][0]["ci_low"] is None
    assert first["latency"] == {"counts": {"1300": 7}}
    assert first["doubt_sentences"] == [Doubt.UNSTABLE_START.sentence]


def test_progress_counts_the_blocks_that_were_asked_for() -> None:
    running = comparison(state=JobState.RUNNING)
    blocks = [
        builders.block(builders.pair(100, 100), phase=Phase.COMPARE, sequence=n) for n in (1, 2, 3)
    ]
    store = FakeStore({1: running}, made={1: blocks})
    progress = Api(store).get("/v1/jobs/1").json()["progress"]
    assert (progress["blocks_done"], progress["blocks_left"]) == (3, 5)


def test_progress_counts_the_smaller_blocks_of_a_small_host() -> None:
    facts = replace(
        builders.FACTS, fingerprint=replace(builders.FINGERPRINT, memory_mb=1500)
    )  # two boxes
    running = comparison(state=JobState.RUNNING, facts=facts)
    third = Variant(name="c.ini", ini="[uwsgi]\n")
    three = running.spec.model_copy(update={"variants": (*running.spec.variants, third)})
    store = FakeStore({1: replace(running, spec=three)})
    assert Api(store).get("/v1/jobs/1").json()["progress"]["blocks_left"] == 16
    ladder = Ladder(kind="ladder", concurrencies=(10, 100, 1_000))
    store = FakeStore({1: replace(running, spec=three.model_copy(update={"workload": ladder}))})
    assert Api(store).get("/v1/jobs/1").json()["progress"]["blocks_left"] == 3 * 16


def test_the_lines_of_a_step_hide_its_secrets() -> None:
    step = StepEffect(
        after="a.ini",
        changes=("+env = DB_PASSWORD=hunter2", "+threads = 2"),
        effects=(),
        verdict=Verdict.INCONCLUSIVE,
        is_real=False,
    )
    report = Report(arms=(arm("a.ini"), arm("b.ini", step=step)), blocks=1)
    api = Api(FakeStore({1: comparison(state=JobState.SUCCEEDED, report=report)}))
    own = api.get("/v1/jobs/1/report?format=json").json()
    for found in (api.get("/v1/jobs/1").json()["report"], own):
        assert found["arms"][1]["step"]["changes"] == ["+env = DB_PASSWORD=***", "+threads = 2"]


def test_each_rung_of_a_ladder_is_a_block_to_come() -> None:
    running = comparison(state=JobState.RUNNING)
    ladder = Ladder(kind="ladder", concurrencies=(10, 100, 1_000))
    spec = running.spec.model_copy(update={"workload": ladder})
    store = FakeStore({1: replace(running, spec=spec)})
    progress = Api(store).get("/v1/jobs/1").json()["progress"]
    one = Api(FakeStore({1: running})).get("/v1/jobs/1").json()["progress"]
    assert progress["blocks_left"] == 3 * one["blocks_left"] == 24
    assert progress["eta_s"] == pytest.approx(3 * one["eta_s"])


def test_windows_come_raw_with_the_file_that_they_are_of() -> None:
    details: dict[str, Any] = {
        "series": (20, 25),
        "over_time": OverTime(queue=(3, 0)),
        "histogram": Histogram({1300: 90}),
    }
    windows = [builders.window(1, 90.0, connections=64, **details)]
    blocks = [builders.block(windows, arms=(0, 1), phase=Phase.COMPARE)]
    store = FakeStore({1: comparison()}, made={1: blocks})
    found = Api(store).get("/v1/jobs/1/windows").json()
    assert found["files"] == ["a.ini", "b.ini"]
    window = found["windows"][0]
    assert (window["trial"], window["series"], window["histogram"]) == (
        1,
        [20, 25],
        {"counts": {"1300": 90}},
    )
    assert window["over_time"] == {"queue": [3, 0], "usage": {}}
    assert window["server"]["busiest_process"] is None


def test_a_measurement_that_has_not_changed_is_not_sent_again() -> None:
    api = Api(FakeStore({1: comparison()}))
    tag = api.get("/v1/jobs/1").headers["etag"]
    assert api.get("/v1/jobs/1", **{"If-None-Match": tag}).status_code == 304


def test_a_calibration_has_a_default_for_everything(api: Api) -> None:
    answer = calibrate(api)
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/jobs/1"
    kept = api.store.kept[1].spec
    assert (kept.kind, kept.app, kept.budget.calibrate_blocks) == (JobKind.CALIBRATE, "mixed", 8)


def test_a_calibration_says_what_its_hosts_can_see() -> None:
    found = replace(CALIBRATION, block_s=10.0, bias_ci_low=-math.inf)
    chosen = builders.spec(kind=JobKind.CALIBRATE, search_space=None)
    done = builders.job(
        id=JobId(1), spec=chosen, state=JobState.SUCCEEDED, phase=Phase.DONE, calibration=found
    )
    body = Api(FakeStore({1: done})).get("/v1/jobs/1").json()
    assert body["calibration"]["bias_ci_low"] is None
    assert body["calibration"]["smallest_bias"] is None
    told = Api(FakeStore({1: replace(done, calibration=CALIBRATION)})).get("/v1/jobs/1")
    assert told.json()["calibration"]["smallest_bias"] == pytest.approx(math.expm1(0.013))
    effects = [sight["effect"] for sight in body["sees"]]
    assert [sight["minutes"] for sight in body["sees"]] == [5, 20, 60]
    assert effects == sorted(effects, reverse=True)


def test_a_host_that_is_too_slow_for_a_verdict_sees_nothing() -> None:
    slow = replace(CALIBRATION, block_s=100.0)
    host = FakeHost(calibration=slow, calibrated_at=builders.NOON, calibrated_with="mixed")
    body = Api(FakeStore(machines=[host])).get("/v1/pools/default/hosts").json()
    found = body["hosts"][0]
    assert found["calibrated_with"] == "mixed"
    assert found["sees"][0] == {"minutes": 5.0, "effect": None}
    assert found["sees"][1]["effect"] > 0


def test_a_host_without_a_calibration_is_listed_too() -> None:
    body = Api(FakeStore(machines=[FakeHost()])).get("/v1/pools/default/hosts").json()
    assert (body["hosts"][0]["calibration"], body["hosts"][0]["sees"]) == (None, [])


def test_a_pool_that_nobody_reported_for_is_not_found(api: Api) -> None:
    assert api.get("/v1/pools/nowhere/hosts").status_code == 404
