"""The report of a tuning job over HTTP."""

import json
import math
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from tests import builders, finished_jobs
from tests.unit.api.fakes import Api, FakeStore
from tests.unit.api.test_openapi import DOCUMENT
from tuner.client import document_of
from tuner.nouns.model import (
    ClosedLoop,
    Failure,
    FailureCode,
    HttpRequest,
    Job,
    JobId,
    JobState,
    Metric,
    Objective,
    Recommendation,
)
from tuner.nouns.schemas import RecommendationAnswer

MEDIA = {"html": "text/html", "md": "text/markdown", "json": "application/json"}


def api(found: Recommendation | None = None, job: Job | None = None) -> Api:
    """A service that holds one finished job."""
    history = finished_jobs.history(found)
    kept = {1: job or history.job}
    made = {1: list(history.measurements)}
    return Api(FakeStore(kept=kept, of_job={1: list(history.trials)}, made=made))


def fetched(service: Api) -> dict[str, Any]:
    """The report as JSON, checked against its own schema."""
    answer = service.get("/v1/jobs/1/report?format=json")
    assert answer.status_code == 200
    schema = {"$ref": "#/components/schemas/TuneReport", "components": DOCUMENT["components"]}
    found: dict[str, Any] = answer.json()
    jsonschema.validate(found, schema)
    return found


@pytest.mark.parametrize(
    ("form", "media", "begins"),
    [
        ("html", "text/html; charset=utf-8", "<!doctype html>"),
        ("md", "text/markdown; charset=utf-8", "## uWSGI tuning of `checkout`: better"),
        ("json", "application/json", '{"recommendation":{"job":1,"app":"checkout"'),
    ],
)
def test_each_form_comes_with_its_media_type(form: str, media: str, begins: str) -> None:
    answer = api().get(f"/v1/jobs/1/report?format={form}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.text.startswith(begins)


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", "html"),
        ("*/*", "html"),
        ("image/png", "html"),
        ("text/markdown", "md"),
        ("application/json", "json"),
        ("application/json, */*", "json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "html"),
        ("text/html;q=0.5, text/markdown;q=0.9", "md"),
        ("application/json;q=0, text/markdown;q=0.1", "md"),
        ("application/json;q=x", "html"),
        ("TEXT/MARKDOWN", "md"),
    ],
)
def test_without_a_format_accept_decides(header: str, form: str) -> None:
    answer = api().get("/v1/jobs/1/report", accept=header)
    assert answer.headers["content-type"].partition(";")[0] == MEDIA[form]


def test_the_format_asked_for_goes_before_accept() -> None:
    answer = api().get("/v1/jobs/1/report?format=md", accept="application/json")
    assert answer.headers["content-type"].startswith("text/markdown")
    answer = api().get("/v1/jobs/1/report", accept="application/json")
    assert answer.headers["content-type"] == "application/json"


def test_a_page_may_load_and_run_nothing() -> None:
    answer = api().get("/v1/jobs/1/report")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "<script" not in answer.text


def test_an_unknown_format_is_a_mistake() -> None:
    assert api().get("/v1/jobs/1/report?format=pdf").status_code == 422


def test_a_report_that_has_not_changed_is_not_sent_again() -> None:
    service = api()
    tag = service.get("/v1/jobs/1/report").headers["etag"]
    assert service.get("/v1/jobs/1/report", **{"If-None-Match": tag}).status_code == 304
    other = service.get("/v1/jobs/1/report?format=md", **{"If-None-Match": tag})
    assert other.status_code == 200


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (JobState.QUEUED, "still queued"),
        (JobState.RUNNING, "phase search"),
        (JobState.CANCELLED, "cancelled"),
        (JobState.FAILED, "failed: its import failed"),
    ],
)
@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_a_job_without_an_answer_has_no_report(state: JobState, reason: str, form: str) -> None:
    failure = Failure(code=FailureCode.APP_FAILED, message="its import failed")
    job = builders.job(
        id=JobId(1), state=state, failure=failure if state is JobState.FAILED else None
    )
    answer = api(job=job).get(f"/v1/jobs/1/report?format={form}")
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert reason in answer.json()["detail"]


def test_an_unknown_job_has_no_report() -> None:
    assert api().get("/v1/jobs/9/report").status_code == 404


def test_the_json_holds_answer_trials_and_provenance() -> None:
    found = fetched(api())
    assert found["recommendation"]["verdict"] == "better"
    assert found["recommendation"]["calibration"]["mde"] == 0.021
    assert found["trials"]["by_state"] == {"complete": 29, "infeasible": 3}
    fourth = found["trials"]["trials"][4]
    assert (fourth["gain"], fourth["failure"], fourth["blocks"]) == (None, "out_of_memory", 0)
    assert found["provenance"]["uwsgi_version"] == "2.0.31"
    assert found["recommendation"]["circumstances"]["limits"]["memory_mb"] == 512
    assert found["provenance"]["blocks"] == 16
    assert found["by_request"] == {"baseline": [], "candidate": []}


def test_what_people_see_are_relative_changes_not_logs() -> None:
    found = fetched(api())["recommendation"]
    factor = found["evidence"]["ablation"]["factors"][0]
    assert factor["effect"] == pytest.approx(math.expm1(0.091))
    assert found["evidence"]["rounds"][0]["standings"][0]["gain"] == pytest.approx(math.expm1(0.14))
    assert found["evidence"]["optimistic_gain"] == pytest.approx(math.expm1(0.19))
    assert "not evidence" in found["evidence"]["optimistic_gain_note"]
    assert found["looks"][2]["bound"] == 2.89
    assert found["looks"][1]["estimate"] == pytest.approx(0.098)
    assert {found["looks"][0]["unit"], found["evidence"]["unit"]} == {"relative"}


def test_the_recommendation_itself_has_the_same_evidence() -> None:
    service = api()
    assert fetched(service)["recommendation"] == service.get("/v1/jobs/1/recommendation").json()


def test_a_gain_in_latency_is_the_share_by_which_it_is_lower() -> None:
    job = finished_jobs.job(finished_jobs.recommendation())
    latency = Objective(minimize=Metric.LATENCY_P95_MS)
    job = replace(job, spec=job.spec.model_copy(update={"objective": latency}))
    factor = fetched(api(job=job))["recommendation"]["evidence"]["ablation"]["factors"][0]
    assert factor["effect"] == pytest.approx(1 - math.exp(-0.091))
    assert factor["low"] < factor["effect"] < factor["high"]


def test_ends_without_bound_are_null() -> None:
    evidence = finished_jobs.evidence()
    standing = replace(evidence.rounds[0].standings[0], low=-math.inf, high=math.inf)
    rounds = (replace(evidence.rounds[0], standings=(standing,)),)
    line = finished_jobs.line("threads", "2", None, finished_jobs.effect(0.1, math.inf))
    look = replace(finished_jobs.comparison().looks[0], z=math.inf, low=-math.inf)
    found = finished_jobs.recommendation(
        evidence=replace(evidence, rounds=rounds),
        lines=(line,),
        comparison=replace(finished_jobs.comparison(), looks=(look,)),
    )
    answer = fetched(api(found))["recommendation"]
    assert answer["evidence"]["rounds"][0]["standings"][0]["low"] is None
    assert answer["lines"][0]["effect"]["ci_high"] is None
    assert answer["looks"][0]["z"] is None
    assert document_of(RecommendationAnswer.model_validate(answer))["looks"] == answer["looks"]
    assert "NaN" not in json.dumps(answer)


PLANTED = "hunter2"


def with_secrets() -> Api:
    """A finished job with the planted secret in its file, its requests and its failed trial."""
    history = finished_jobs.history()
    job, found = history.job, history.job.recommendation
    assert found is not None
    line = f"env = DB=postgres://u:{PLANTED}@db/x\nroute = ^/ basicauth:A,u:{PLANTED}\n"
    request = HttpRequest(
        path=f"/?token={PLANTED}",
        headers={"Cookie": f"session={PLANTED}", "X-Auth-Token": PLANTED},
        body=f'{{"password": "{PLANTED}"}}',
    )
    own = {
        "baseline_ini": job.spec.baseline_ini + line,
        "workload": ClosedLoop(requests=(request,)),
    }
    kept = replace(
        job,
        spec=job.spec.model_copy(update=own),
        recommendation=replace(found, uwsgi_ini=found.uwsgi_ini + line),
    )
    made = {1: list(history.measurements)}
    return Api(FakeStore(kept={1: kept}, of_job={1: list(history.trials)}, made=made))


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs",
        "/v1/jobs/1",
        "/v1/jobs/1/trials",
        *(f"/v1/jobs/1/report?format={form}" for form in MEDIA),
    ],
)
def test_no_list_and_no_report_has_a_secret(path: str) -> None:
    answer = with_secrets().get(path)
    assert answer.status_code == 200
    assert PLANTED not in answer.text


def test_a_report_says_where_its_masked_values_are() -> None:
    service = with_secrets()
    assert "looks like a secret" in service.get("/v1/jobs/1/report?format=md").text
    assert "looks like a secret" not in api().get("/v1/jobs/1/report?format=md").text
    assert service.get("/v1/jobs/1/uwsgi.ini").text.count(PLANTED) == 2


def test_a_mistake_quotes_no_secret() -> None:
    target = {"target_app": "mixed", "command": ["uwsgi", f"--set=password={PLANTED}"]}
    refused = Api().submit({"app": f"password={PLANTED}", "target": target})
    assert refused.status_code == 422
    assert PLANTED not in refused.text
