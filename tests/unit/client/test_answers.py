"""Every call, its address, and its answer as a model; requests as they were said."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests import answers as shown
from tests.answers import LINT_ANSWER as LINTED
from tests.unit.client.scripted import ok, scripted
from tuner.client import Client, document_of
from tuner.nouns.model import (
    CalibrateRequest,
    ClosedLoop,
    CompareRequest,
    Limits,
    SearchSpace,
    TuneRequest,
    Verdict,
)
from tuner.nouns.schemas import (
    CalibrationReport,
    Incumbent,
    JobAnswer,
    RecommendationAnswer,
    ReportAnswer,
    TrialAnswer,
    WindowList,
)

ANSWERS: list[tuple[str, Callable[[Client], Any], Any, type]] = [
    ("GET /v1/jobs/7", lambda c: c.job(7), shown.TUNE_RUNNING, JobAnswer),
    ("GET /v1/jobs/8", lambda c: c.job(8), shown.COMPARE_DONE, JobAnswer),
    ("GET /v1/jobs/9", lambda c: c.job(9), shown.CALIBRATE_DONE, JobAnswer),
    (
        "GET /v1/jobs/8/report?format=json",
        lambda c: c.comparison(8),
        shown.COMPARISON,
        ReportAnswer,
    ),
    (
        "GET /v1/jobs/9/report?format=json",
        lambda c: c.calibration(9),
        shown.CALIBRATION_REPORT,
        CalibrationReport,
    ),
    ("GET /v1/jobs/7/best", lambda c: c.best(7), shown.INCUMBENT, Incumbent),
    (
        "GET /v1/jobs/7/trials/3?raw=true",
        lambda c: c.trial(7, 3, raw=True),
        shown.TRIAL_RAW,
        TrialAnswer,
    ),
    (
        "GET /v1/jobs/7/recommendation",
        lambda c: c.recommendation(7),
        shown.RECOMMENDATION,
        RecommendationAnswer,
    ),
    (
        "GET /v1/apps/checkout/recommendation?max_age_days=30&require=better",
        lambda c: c.recommendation("checkout", max_age_days=30, require="better"),
        shown.RECOMMENDATION,
        RecommendationAnswer,
    ),
    (
        "GET /v1/jobs/8/windows",
        lambda c: c.windows(8),
        shown.WINDOW_LIST,
        WindowList,
    ),
    (
        "GET /v1/search-spaces/default",
        lambda c: c.search_space("default"),
        shown.SPACE,
        SearchSpace,
    ),
]


@pytest.mark.parametrize(("address", "call", "document", "model"), ANSWERS)
def test_an_answer_is_a_model_and_prints_as_it_was_sent(
    address: str, call: Callable[[Client], Any], document: Any, model: type
) -> None:
    service = scripted(ok(document))
    found = call(service.client())
    assert service.calls == [address]
    assert type(found) is model
    assert json.loads(json.dumps(document_of(found))) == document


@pytest.mark.parametrize(("address", "call", "document", "model"), ANSWERS)
def test_what_a_newer_service_adds_is_no_mistake_and_is_not_lost(
    address: str, call: Callable[[Client], Any], document: Any, model: type
) -> None:
    newer = _with_news(document)
    assert json.loads(json.dumps(document_of(call(scripted(ok(newer)).client())))) == newer


def _with_news(document: Any) -> Any:
    """The document with a field more in each object that is one of ours, not a mapping of names."""
    if not isinstance(document, dict):
        return document
    inner = {
        name: _with_news(value) if name in ("progress", "calibration", "diagnosis") else value
        for name, value in document.items()
    }
    return {**inner, "novelty": {"since": 3, "of": ["a", None]}}


def test_a_newer_box_of_a_target_app_is_no_mistake_either() -> None:
    app: dict[str, Any] = shown.TARGET_APP_LIST["target_apps"][0]
    newer = {**app, "limits": {"cpus": 2, "memory_mb": 64, "somaxconn": 128, "novel": 1024}}
    apps = scripted(ok({"target_apps": [newer]})).client().target_apps()
    assert apps["mixed"].limits.memory_mb == 64


def test_values_have_their_types() -> None:
    found = scripted(ok(shown.RECOMMENDATION)).client().recommendation(7)
    assert found.verdict is Verdict.BETTER
    assert found.finished_at is not None
    assert found.finished_at.utcoffset() is not None


def test_a_request_is_sent_as_it_was_said() -> None:
    service = scripted(ok(shown.TUNE_QUEUED, 201))
    request = TuneRequest.model_validate({"app": "shop", "target": {"target_app": "mixed"}})
    service.client().submit(request)
    said = json.loads(service.seen[0].content)
    assert said == {"kind": "tune", "app": "shop", "target": {"target_app": "mixed"}}


def test_a_kind_that_nobody_wrote_is_sent_all_the_same() -> None:
    request = CompareRequest.model_validate({"target": {"image": "shop:1"}}).model_copy(
        update={"workload": ClosedLoop(concurrency=8)}
    )
    said = document_of(CompareRequest(target=request.target, workload=ClosedLoop(concurrency=8)))
    assert said["workload"] == {"kind": "closed_loop", "concurrency": 8}
    assert CompareRequest.model_validate(said) == request


@pytest.mark.parametrize(
    ("model", "document"),
    [
        (TuneRequest, shown.TUNE_REQUEST),
        (
            TuneRequest,
            {
                "app": "a",
                "target": {"target_app": "mixed"},
                "search_space": {
                    "parameters": {
                        "processes": {"type": "int", "low": 1, "high": "cpus"},
                        "thunder-lock": {"type": "bool"},
                        "mode": {"type": "choice", "values": ["a"], "emit": {"a": {"x": True}}},
                    }
                },
                "slo": {"latency_p95_ms": {"relative_to_baseline": 1.1}, "error_rate": 0},
            },
        ),
        (CompareRequest, shown.COMPARE_REQUEST),
        (CalibrateRequest, shown.CALIBRATE_REQUEST),
        (CalibrateRequest, {}),
    ],
)
def test_every_request_survives_the_wire(model: Any, document: Any) -> None:
    request = model.model_validate(document)
    assert model.model_validate(json.loads(json.dumps(document_of(request)))) == request


def test_each_kind_has_the_same_address() -> None:
    for request in (CompareRequest.model_validate(shown.COMPARE_REQUEST), CalibrateRequest()):
        service = scripted(ok(shown.COMPARE_QUEUED, 201))
        assert service.client().submit(request).kind == "compare"
        assert service.calls == ["POST /v1/jobs"]
        assert json.loads(service.seen[0].content)["kind"] == request.kind


def test_lists_go_on_over_all_pages() -> None:
    page: dict[str, Any] = shown.JOB_PAGE
    job = page["jobs"][0]
    service = scripted(
        ok({"jobs": [{**job, "id": 9}, {**job, "id": 8}], "next": 8}),
        ok({"jobs": [{**job, "id": 7}], "next": None}),
    )
    assert [found.id for found in service.client().jobs("running", app="checkout")] == [9, 8, 7]
    assert service.calls == [
        "GET /v1/jobs?state=running&app=checkout",
        "GET /v1/jobs?state=running&app=checkout&after=8",
    ]


@pytest.mark.parametrize(
    ("call", "address"),
    [
        (lambda c: c.ini(7, require="better"), "/v1/jobs/7/uwsgi.ini?form=patched&require=better"),
        (lambda c: c.compose(7), "/v1/jobs/7/compose.yaml"),
        (lambda c: c.sysctls(7, "kubernetes"), "/v1/jobs/7/sysctls?form=kubernetes"),
        (lambda c: c.report(7, "md"), "/v1/jobs/7/report?format=md"),
        (lambda c: c.compose("shop"), "/v1/apps/shop/compose.yaml"),
        (lambda c: c.sysctls("shop"), "/v1/apps/shop/sysctls?form=plain"),
        (
            lambda c: c.ini("shop", "overlay", max_age_days=1.5),
            "/v1/apps/shop/uwsgi.ini?form=overlay&max_age_days=1.5",
        ),
    ],
)
def test_every_text_has_its_address(call: Callable[[Client], str], address: str) -> None:
    service = scripted(httpx.Response(200, text="größer\n"))
    assert call(service.client()) == "größer\n"
    assert service.calls == [f"GET {address}"]


def test_what_a_request_may_name_comes_by_name() -> None:
    assert list(scripted(ok(shown.SPACE_LIST)).client().search_spaces()) == ["default"]
    assert scripted(ok(shown.POOL_LIST)).client().pools()[0].name == "default"
    assert scripted(ok(shown.POOL_HOSTS)).client().hosts("default")[0].sees[0].minutes == 5.0
    assert [t.number for t in scripted(ok(shown.TRIAL_LIST)).client().trials(7)] == [3]
    assert scripted(ok(shown.REPORT)).client().tune_report(7).provenance.pool == "default"


def test_apps_come_page_by_page() -> None:
    service = scripted(ok({**shown.APP_PAGE, "next": "checkout"}), ok(shown.APP_PAGE))
    first, second = service.client().apps()
    assert first == second
    assert first.answers[0].job == 7
    assert service.calls == ["GET /v1/apps", "GET /v1/apps?after=checkout"]
    assert scripted(ok(shown.APP)).client().app("checkout") == first


def test_a_file_is_held_against_its_box() -> None:
    service = scripted(httpx.Response(503), ok(LINTED))
    limits = Limits(cpus=2, somaxconn=128)
    found = service.client().lint("[uwsgi]\n", limits=limits, job=7)
    assert service.calls == ["POST /v1/lint"] * 2
    assert json.loads(service.seen[1].content) == {
        "ini": "[uwsgi]\n",
        "limits": {"cpus": 2.0, "somaxconn": 128},
        "job": 7,
    }
    assert document_of(found) == LINTED
    service.client().lint("[uwsgi]\n", fix=True)
    assert json.loads(service.seen[2].content) == {"ini": "[uwsgi]\n", "fix": True}


def test_anything_that_takes_connections_answers() -> None:
    assert scripted(httpx.Response(500)).client().answers()
    assert scripted(httpx.ReadTimeout).client().answers()
    assert not scripted(httpx.ConnectError).client().answers()


def test_an_address_may_have_a_path_of_its_own() -> None:
    service = scripted(ok(shown.TUNE_RUNNING))
    service.client(url="http://tuner.test/tuning/").job(7)
    assert service.calls == ["GET /tuning/v1/jobs/7"]
