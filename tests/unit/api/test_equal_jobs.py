"""A request that comes again with `go_on` is answered with the job that it made before."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests import builders
from tests.unit.api.fakes import Api, catalogue, recommendation
from tests.unit.api.test_kinds import arm
from tuner.nouns.model import Doubt, JobState, Report, Request
from tuner.study import resolve

TWO: dict[str, Any] = {
    "kind": "compare",
    "app": "shop",
    "target": {"image": "shop:1"},
    "arms": [
        {"name": "a", "ini": builders.INI},
        {"name": "b", "ini": f"{builders.INI}threads=2\n"},
    ],
}
TUNING = {"app": "shop", "target": {"target_app": "mixed"}}


@pytest.fixture
def api() -> Api:
    return Api()


def again(api: Api, document: Any, query: str = "go_on=true") -> httpx.Response:
    return api.send("POST", f"/v1/jobs?{query}", json=document)


def become(api: Api, number: int, **changes: Any) -> None:
    api.store.kept[number] = replace(api.store.kept[number], **changes)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_a_job_that_has_not_ended_is_the_answer(api: Api, state: JobState) -> None:
    api.submit(TWO)
    become(api, 1, state=state)
    answer = again(api, TWO)
    assert (answer.status_code, answer.json()["id"]) == (200, 1)
    assert answer.headers["location"] == "/v1/jobs/1"
    assert [*api.store.kept] == [1]


def test_the_priority_makes_no_other_job(api: Api) -> None:
    api.submit({**TWO, "priority": "nightly"})
    assert again(api, TWO).json()["id"] == 1


def test_without_go_on_each_request_is_a_job_of_its_own(api: Api) -> None:
    assert [api.submit(TWO).status_code for _ in range(2)] == [201, 201]


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_a_job_that_has_ended_is_not(api: Api, state: JobState) -> None:
    api.submit(TWO)
    become(api, 1, state=state, finished_at=builders.NOON)
    assert again(api, TWO).status_code == 201


@pytest.mark.parametrize(
    "change",
    [{"blocks": 9}, {"arms": TWO["arms"][:1]}, {"target": {"image": "shop:2"}}, {"app": "other"}],
)
def test_another_request_is_another_job(api: Api, change: dict[str, Any]) -> None:
    api.submit(TWO)
    assert again(api, {**TWO, **change}).status_code == 201


def test_the_running_job_comes_before_one_that_waits(api: Api) -> None:
    for _ in range(3):
        api.submit(TWO)
    become(api, 2, state=JobState.RUNNING)
    assert again(api, TWO).json()["id"] == 2


def test_a_file_of_the_target_app_that_has_changed_makes_another_job() -> None:
    known = catalogue()

    def read(request: Request) -> Any:
        return resolve(request, known)

    api = Api(resolve=read)
    api.submit(TUNING)
    assert again(api, TUNING).status_code == 200
    changed = replace(known.apps["mixed"], baseline_ini=f"{builders.INI}threads = 2\n")
    known = replace(known, apps={**known.apps, "mixed": changed})
    assert again(api, TUNING).status_code == 201


@pytest.mark.parametrize(("query", "status"), [("max_age_days=1", 200), ("max_age_days=0.5", 201)])
def test_a_job_that_has_succeeded_counts_for_as_long_as_the_request_says(
    api: Api, query: str, status: int
) -> None:
    api.submit(TUNING)
    earlier = builders.NOON - timedelta(days=0.8)
    become(api, 1, state=JobState.SUCCEEDED, finished_at=earlier)
    assert again(api, TUNING, f"go_on=true&{query}").status_code == status


def test_a_job_whose_answer_is_to_be_measured_again_is_not(api: Api) -> None:
    api.submit(TUNING)
    found = replace(recommendation(), doubts=(Doubt.SERVICES_SHARE_CPUS,))
    ended = {"state": JobState.SUCCEEDED, "finished_at": builders.NOON}
    become(api, 1, recommendation=found, **ended)
    assert again(api, TUNING, "go_on=true&max_age_days=1").status_code == 201


def test_a_comparison_that_is_to_be_measured_again_is_not(api: Api) -> None:
    api.submit(TWO)
    old = arm("a", doubts=(Doubt.SERVICES_SHARE_CPUS,))
    ended = {"state": JobState.SUCCEEDED, "finished_at": builders.NOON}
    become(api, 1, report=Report(arms=(old,), blocks=4), **ended)
    assert again(api, TWO, "go_on=true&max_age_days=1").status_code == 201


def test_what_earlier_jobs_recommended_does_not_make_another_job() -> None:
    seen: list[dict[str, Any]] = []

    def read(request: Request) -> Any:
        return resolve(request, catalogue(), earlier=lambda app: seen)

    api = Api(resolve=read)
    api.submit({**TUNING, "warm_start": True})
    seen.append({"processes": 4})
    assert again(api, {**TUNING, "warm_start": True}).status_code == 200
    assert again(api, TUNING | {"warm_start": True, "seed": 9}).status_code == 201


def test_the_file_that_a_host_read_out_of_the_image_does_not_make_another_job(api: Api) -> None:
    request = {**TUNING, "target": {"image": "shop:1"}, "baseline": {"in_image": "/etc/app.ini"}}
    api.submit(request)
    job = api.store.kept[1]
    become(api, 1, spec=job.spec.with_file(builders.INI), state=JobState.RUNNING)
    assert again(api, request).json()["id"] == 1


def test_what_go_on_takes_is_checked(api: Api) -> None:
    answer = again(api, TWO, "go_on=perhaps&max_age_days=-1")
    assert answer.status_code == 422
