"""What people and programs see of an app with a schedule, and of a job that it submitted."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests import builders, finished_jobs
from tests.fake_store import FakeStore
from tests.scheduled import TWO, answered, schedules, write_app
from tests.scheduled import catalogue as catalogue_of
from tests.sites import Site
from tests.unit.api.fakes import Api
from tuner.nouns.model import Enter, Followed, JobId, Phase, Step, Succeed
from tuner.study.renewing import since

REASON = "the image has changed since job 1: sha256:1"


@dataclass(frozen=True)
class Nightly:
    """A site, and the job that the schedule of its app submitted."""

    site: Site
    store: FakeStore
    job: JobId

    def end(self) -> None:
        """Let the job end with another file than job 1 recommends."""
        new = finished_jobs.NEW_INI.replace("processes = 6", "processes = 7")
        found = finished_jobs.recommendation(uwsgi_ini=new, params={"processes": 7})
        found = replace(found, since=since(self.store.job(self.job).spec, found))
        ahead = Enter(phase=Phase.CONFIRM, facts=builders.FACTS)
        left: list[Step] = [ahead, Succeed(recommendation=found)]
        self.store.advance(self.job, lambda _: left.pop(0) if left else None)


@pytest.fixture
def nightly(tmp_path: Path) -> Nightly:
    write_app(tmp_path)
    store = FakeStore(lambda: TWO - timedelta(days=1))
    answered(tmp_path, store)
    schedules(tmp_path, store, image="sha256:1").submit_due()
    site = Site(store)
    state = site.app.state
    state.services = replace(state.services, catalogue=catalogue_of(tmp_path), now=lambda: TWO)
    return Nightly(site, store, JobId(2))


def test_a_job_says_why_a_schedule_submitted_it_and_what_it_follows(nightly: Nightly) -> None:
    job = nightly.site.send("GET", "/v1/jobs/2").json()
    assert (job["because"], job["follows"], job["submitted_by"]) == ([REASON], 1, "schedule")
    own = nightly.site.send("GET", "/v1/jobs/1").json()
    assert (own["because"], own["follows"]) == ([], None)
    page = nightly.site.get("/jobs/2").text
    assert f"<dt>because</dt><dd>{REASON}</dd>" in page
    assert '<dt>follows</dt><dd><a href="/jobs/1">job 1</a></dd>' in page
    assert "<dt>because</dt>" not in nightly.site.get("/jobs/1").text


def test_an_answer_says_what_has_changed_since_the_last_one(nightly: Nightly) -> None:
    nightly.end()
    told = nightly.site.send("GET", "/v1/apps/shop/recommendation").json()["since"]
    assert (told["job"], told["because"], told["holds"]) == (1, [REASON], None)
    assert told["changed"] == ["processes: 6 -> 7"]
    assert nightly.site.send("GET", "/v1/jobs/1/recommendation").json()["since"] is None
    for text in (
        nightly.site.get("/jobs/2").text,
        nightly.site.send("GET", "/v1/jobs/2/report?format=html").text,
        nightly.site.send("GET", "/v1/jobs/2/report?format=md").text,
    ):
        assert "Since job 1" in text
        assert "The image has changed since job 1" in text
        assert "processes: 6 -" in text
        assert "It is not known whether the file of job 1 holds" in text
    assert "Since job" not in nightly.site.get("/jobs/1").text


def test_an_app_says_when_it_is_looked_at_again(nightly: Nightly) -> None:
    found = nightly.site.send("GET", "/v1/apps/shop").json()["schedule"]
    assert found == {
        "cron": "0 2 * * *",
        "older_than_days": 30,
        "next_at": "2026-11-29T02:00:00Z",
    }
    assert (
        "Tuned again by itself at <code>0 2 * * *</code> UTC" in nightly.site.get("/apps/shop").text
    )
    state = nightly.site.app.state
    state.services = replace(state.services, catalogue=Api()._services.catalogue)
    assert nightly.site.send("GET", "/v1/apps/shop").json()["schedule"] is None
    assert "Tuned again" not in nightly.site.get("/apps/shop").text


def test_the_job_of_a_schedule_is_equal_to_that_of_a_person() -> None:
    api, document = Api(), {"app": "shop", "target": {"target_app": "mixed"}}
    api.submit(document)
    spec = api.store.kept[1].spec
    old = Followed(job=1, params={}, uwsgi_ini=builders.INI, limits=spec.limits)
    of_schedule = spec.model_copy(update={"because": (REASON,), "follows": old})
    api.store.kept[1] = replace(api.store.kept[1], spec=of_schedule)
    again = api.send("POST", "/v1/jobs?go_on=true", json=document)
    assert (again.status_code, again.json()["id"]) == (200, 1)
