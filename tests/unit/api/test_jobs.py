from dataclasses import replace
from datetime import timedelta

import pytest

from tests import builders
from tests.fake_store import FakeStore as MemoryStore
from tests.unit.api.fakes import Api, FakeStore, finished, trial
from tuner.nouns.model import (
    Failure,
    FailureCode,
    JobId,
    JobState,
    Measurement,
    MeasurementResult,
    Phase,
    Preflight,
    PreflightFinding,
)


@pytest.fixture
def api() -> Api:
    return Api()


def test_a_submitted_job_is_created_and_says_where_it_is(api: Api) -> None:
    answer = api.submit()
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/jobs/1"
    assert answer.json()["state"] == "queued"
    assert answer.json()["queue_position"] == 0


def test_a_second_job_says_how_many_are_before_it(api: Api) -> None:
    api.submit()
    assert api.submit().json()["queue_position"] == 1


def test_the_same_key_with_the_same_request_makes_one_job(api: Api) -> None:
    first = api.submit(**{"Idempotency-Key": "k"})
    again = api.submit(
        {"target": {"target_app": "mixed"}, "app": "shop"}, **{"Idempotency-Key": "k"}
    )
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["location"] == "/v1/jobs/1"


def test_the_same_key_with_another_request_is_a_conflict(api: Api) -> None:
    api.submit(**{"Idempotency-Key": "k"})
    other = {"app": "other", "target": {"target_app": "mixed"}}
    assert api.submit(other, **{"Idempotency-Key": "k"}).status_code == 409


JOB_WITH_CRON = {
    "app": "shop",
    "target": {"image": "shop:1"},
    "baseline": {"ini": f"{builders.INI}cron = 1 1 1 1 1 report\n"},
}


def test_a_job_says_at_once_what_its_trials_go_without(api: Api) -> None:
    seen = api.submit(JOB_WITH_CRON).json()["preflight"]
    assert seen["left_out"] == [
        {
            "option": "cron",
            "line": 4,
            "danger": "commands",
            "file": "",
            "sentence": "trials leave out cron (line 4): it starts programs",
        }
    ]
    assert (seen["somaxconn"], seen["findings"]) == (None, None)


def test_what_a_job_allows_is_not_left_out(api: Api) -> None:
    found = api.submit({**JOB_WITH_CRON, "allow": ["commands"]})
    assert found.json()["preflight"]["left_out"] == []


def test_an_unknown_permission_is_a_mistake(api: Api) -> None:
    answer = api.submit({**JOB_WITH_CRON, "allow": ["everything"]})
    assert answer.status_code == 422
    assert [mistake["path"] for mistake in answer.json()["mistakes"]] == ["allow.0"]


def test_a_job_shows_what_the_host_saw_of_its_file(api: Api) -> None:
    api.submit()
    finding = PreflightFinding(rule="U019", severity="error", line=3, message="no such option")
    facts = replace(builders.FACTS, preflight=Preflight(somaxconn=128, findings=(finding,)))
    api.store.kept[1] = replace(api.store.kept[1], facts=facts)
    seen = api.get("/v1/jobs/1").json()["preflight"]
    assert (seen["somaxconn"], seen["left_out"]) == (128, [])
    assert seen["findings"] == [
        {
            "rule": "U019",
            "severity": "error",
            "line": 3,
            "file": "",
            "message": "no such option",
        }
    ]


def test_jobs_are_listed_newest_first_in_pages(api: Api) -> None:
    for _ in range(3):
        api.submit()
    first = api.get("/v1/jobs?limit=2").json()
    second = api.get(f"/v1/jobs?limit=2&after={first['next']}").json()
    assert [job["id"] for job in first["jobs"] + second["jobs"]] == [3, 2, 1]
    assert second["next"] is None


def test_jobs_are_filtered_by_app_and_state(api: Api) -> None:
    api.submit()
    api.submit({"app": "other", "target": {"target_app": "mixed"}})
    api.send("POST", "/v1/jobs/1/cancel")
    assert [j["id"] for j in api.get("/v1/jobs?app=other").json()["jobs"]] == [2]
    assert [j["id"] for j in api.get("/v1/jobs?state=cancelled").json()["jobs"]] == [1]


def test_cancelling_a_finished_job_is_a_conflict(api: Api) -> None:
    api.store.kept[1] = finished(1)
    assert api.send("POST", "/v1/jobs/1/cancel").status_code == 409


def test_a_job_without_a_candidate_has_nothing_to_finish(api: Api) -> None:
    api.submit()
    refused = api.send("POST", "/v1/jobs/1/finish")
    assert refused.status_code == 409
    assert "nothing can be confirmed" in refused.text


def test_a_job_that_takes_longer_than_the_operator_allows_is_refused_with_both_figures() -> None:
    api = Api(limits={"job_minutes": 2})
    answer = api.submit()
    assert answer.status_code == 422
    (mistake,) = answer.json()["mistakes"]
    assert mistake["path"] == "budget"
    assert "this service allows 2 minutes a job (TUNER_JOB_MINUTES)" in mistake["message"]
    short = {"kind": "calibrate", "target": {"target_app": "mixed"}, "blocks": 2}
    assert api.submit(short).status_code == 201


def test_the_steps_of_prepare_count_among_the_minutes_of_a_job() -> None:
    api = Api(limits={"job_minutes": 30})
    step = {"in": "app", "run": ["sleep", "3599"], "timeout_s": 3600}
    target = {"image": "shop:1", "prepare": [step] * 20}
    own = {"ini": builders.INI}
    job = {"kind": "calibrate", "target": target, "baseline": own, "blocks": 2}
    (mistake,) = api.submit(job).json()["mistakes"]
    assert mistake["path"] == "target.prepare"
    assert "its steps may take 20.0 h" in mistake["message"]
    assert "TUNER_JOB_MINUTES" in mistake["message"]
    short = {**target, "prepare": [{**step, "timeout_s": 60}]}
    made = api.submit({**job, "target": short})
    assert made.status_code == 201
    assert "; up to 60 s more to prepare its data" in made.json()["size"]["sentence"]


def test_more_waiting_jobs_than_the_operator_allows_are_refused_for_a_while() -> None:
    api = Api(MemoryStore(), limits={"jobs_waiting": 1})
    assert api.submit().status_code == 201
    refused = api.submit()
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "the service allows no more (TUNER_JOBS_WAITING)" in refused.json()["detail"]
    api.send("POST", "/v1/jobs/1/cancel")
    assert api.submit().status_code == 201


def test_only_a_job_that_has_ended_can_be_deleted(api: Api) -> None:
    api.submit()
    assert api.send("DELETE", "/v1/jobs/1").status_code == 409
    api.send("POST", "/v1/jobs/1/cancel")
    assert api.send("DELETE", "/v1/jobs/1").status_code == 204
    for call in (api.get("/v1/jobs/1"), api.send("DELETE", "/v1/jobs/1")):
        assert call.status_code == 404
    assert api.get("/v1/jobs").json()["jobs"] == []


def test_a_trial_without_its_old_windows_has_no_bottleneck(api: Api) -> None:
    api.store.kept[1] = finished(1)
    api.store.of_job[1] = [trial(1, 0.1)]
    api.store.made[1] = [builders.block()]
    found = api.get("/v1/jobs/1/trials/1?raw=true").json()
    assert (found["windows"], found["diagnosis"], found["blocks"]) == ([], None, 1)


def _timed(block: Measurement, seconds: float) -> Measurement:
    assert block.result is not None
    result = MeasurementResult(windows=block.result.windows, load_s=seconds / 2)
    end = builders.NOON + timedelta(seconds=seconds)
    return replace(block, started_at=builders.NOON, finished_at=end, result=result, host="bench-1")


def _searching() -> FakeStore:
    """Two calibration blocks and one of three trials are done; each block took 10 s."""
    calibrated = [
        _timed(
            builders.block(builders.pair(100, 100), arms=(0, 0), phase=Phase.CALIBRATE, sequence=n),
            10,
        )
        for n in (1, 2)
    ]
    searched = _timed(builders.block(builders.pair(100, 112), sequence=3), 10)
    return FakeStore(
        kept={1: builders.job()},
        of_job={1: [trial(0, 0.0), trial(1, 0.1133)]},
        made={1: [*calibrated, searched]},
    )


def test_progress_counts_trials_blocks_and_the_time_left() -> None:
    progress = Api(_searching()).get("/v1/jobs/1").json()["progress"]
    assert (progress["trials_done"], progress["trials_planned"]) == (1, 3)
    assert (progress["blocks_done"], progress["blocks_left"]) == (3, 2 + 6)
    assert progress["measured_s"] == 15.0
    assert progress["eta_s"] == 80.0
    assert progress["first_window_at"] == "2026-11-21T12:00:00Z"


def test_a_finished_job_has_no_time_left() -> None:
    progress = Api(FakeStore(kept={1: finished(1)})).get("/v1/jobs/1").json()["progress"]
    assert (progress["blocks_left"], progress["eta_s"]) == (0, 0.0)


def test_the_incumbent_is_the_best_that_keeps_every_bound() -> None:
    store = _searching()
    store.of_job[1] += [trial(2, 0.5, excess=0.2), trial(3, None)]
    incumbent = Api(store).get("/v1/jobs/1").json()["incumbent"]
    assert incumbent["number"] == 1
    assert incumbent["ratio"] == pytest.approx(1.12, abs=0.001)


def test_an_unchanged_job_is_not_sent_again_and_a_changed_one_is() -> None:
    store = _searching()
    api = Api(store)
    tag = api.get("/v1/jobs/1").headers["etag"]
    assert api.get("/v1/jobs/1", **{"If-None-Match": tag}).status_code == 304
    store.of_job[1].append(trial(2, 0.2))
    assert api.get("/v1/jobs/1", **{"If-None-Match": tag}).status_code == 200


def test_best_has_a_strong_tag_and_is_not_sent_twice() -> None:
    store = _searching()
    api = Api(store)
    answer = api.get("/v1/jobs/1/best")
    tag = answer.headers["etag"]
    assert answer.json()["number"] == 1
    assert tag.startswith('"')
    unchanged = api.get("/v1/jobs/1/best", **{"If-None-Match": f'"other", {tag}'})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    store.of_job[1].append(trial(2, 0.2))
    assert api.get("/v1/jobs/1/best", **{"If-None-Match": tag}).json()["number"] == 2


def test_best_is_not_found_before_the_first_score(api: Api) -> None:
    api.submit()
    assert api.get("/v1/jobs/1/best").status_code == 404


def test_a_trial_shows_its_own_windows_only_on_request() -> None:
    api = Api(_searching())
    plain = api.get("/v1/jobs/1/trials/1").json()
    raw = api.get("/v1/jobs/1/trials/1?raw=1").json()
    assert plain["windows"] is None
    assert plain["blocks"] == 1
    assert [w["throughput_rps"] for w in raw["windows"]] == [112]
    assert raw["windows"][0]["block"] == 3


def test_a_trial_says_what_limits_it_once_it_has_windows() -> None:
    store = _searching()
    store.of_job[1].append(trial(2, None))
    api = Api(store)
    found = api.get("/v1/jobs/1/trials/1").json()["diagnosis"]
    assert found["sentence"]
    assert found["evidence"]["busy"] == 0.5
    assert api.get("/v1/jobs/1/trials/2").json()["diagnosis"] is None


def test_the_trials_of_a_job_are_listed_with_what_came_of_them() -> None:
    store = _searching()
    store.of_job[1].append(trial(2, None))
    trials = Api(store).get("/v1/jobs/1/trials").json()["trials"]
    assert [t["state"] for t in trials] == ["complete", "complete", "infeasible"]
    assert [t["blocks"] for t in trials] == [3, 1, 0]


def test_a_failed_job_says_why_and_shows_the_log(api: Api) -> None:
    failure = Failure(code=FailureCode.APP_FAILED, message="its import failed", log_tail="Boom")
    api.store.kept[1] = builders.job(state=JobState.FAILED, failure=failure)
    assert api.get("/v1/jobs/1").json()["failure"] == {
        "code": "app_failed",
        "message": "its import failed",
        "arm": 0,
        "log_tail": "Boom",
    }


@pytest.mark.parametrize("path", ["", "/trials", "/trials/1", "/best", "/recommendation"])
def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    answer = api.get(f"/v1/jobs/99{path}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert JobId(99) not in api.store.kept
