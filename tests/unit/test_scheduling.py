"""A worker looks at the schedules: which jobs it submits, and which it does not."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import finished_jobs
from tests.builders import INI
from tests.fake_store import FakeStore
from tests.scheduled import TWO, answered, catalogue, schedules, write_app
from tuner.nouns.errors import Infrastructure, Unavailable
from tuner.nouns.model import Doubt, Job, JobId, JobKind, Priority, Target, TuneRequest
from tuner.service import bootstrap

IN_IMAGE = "/etc/app/uwsgi.ini"


def newest(store: FakeStore) -> Job:
    return store.job(JobId(store.jobs()[0].id))


def aged(days: float) -> Callable[[], datetime]:
    """The clock of a store whose jobs ended so long before the schedule."""
    return lambda: TWO - timedelta(days=days)


def reasons(tmp_path: Path, store: FakeStore, **host: Any) -> tuple[str, ...]:
    """Of the job that is submitted; none where none is."""
    before = len(store.jobs())
    schedules(tmp_path, store, **host).submit_due()
    return newest(store).spec.because if len(store.jobs()) > before else ()


def test_the_first_answer_comes_with_the_apps_own_defaults(tmp_path: Path) -> None:
    write_app(tmp_path, limits={"cpus": 0.5})
    store = FakeStore()
    assert reasons(tmp_path, store, pool="big") == ("there is no answer yet",)
    job = newest(store)
    assert (job.submitted_by, job.spec.priority) == ("schedule", Priority.NIGHTLY)
    assert (job.spec.app, job.spec.kind, job.spec.pool) == ("shop", JobKind.TUNE, "big")
    assert job.spec.limits.cpus == 0.5
    assert job.spec.follows is None


def test_without_a_reason_there_is_no_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(29))
    last = answered(tmp_path, store)
    with caplog.at_level(logging.INFO, "tuner.service.worker.running"):
        assert reasons(tmp_path, store) == ()
    assert f"schedule of shop: nothing has changed since job {last}: no new job" in caplog.text


@pytest.mark.parametrize("ini", [finished_jobs.NEW_INI, INI + "# a comment\n"])
def test_to_deploy_what_was_recommended_is_no_reason(tmp_path: Path, ini: str) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(1))
    answered(tmp_path, store)
    write_app(tmp_path, ini)
    assert reasons(tmp_path, store) == ()


def test_another_file_is_a_reason(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(1))
    last = answered(tmp_path, store)
    write_app(tmp_path, INI.replace("processes = 2", "processes = 3\nharakiri = 9"))
    (reason,) = reasons(tmp_path, store)
    assert reason == f"the file uwsgi.ini has changed since job {last}: harakiri, processes"
    assert "processes = 3" in newest(store).spec.baseline_ini


def test_an_answer_that_is_not_true_for_production_is_a_reason(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(1))
    last = answered(tmp_path, store, doubts=(Doubt.SERVICES_SHARE_CPUS,))
    assert reasons(tmp_path, store) == (
        f"the answer of job {last} was measured with services on the app's CPU: measure again",
    )


def test_another_image_is_a_reason(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(1))
    last = answered(tmp_path, store)
    assert reasons(tmp_path, store, image="sha256:1") == (
        f"the image has changed since job {last}: sha256:1",
    )


def test_another_target_is_a_reason(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(1))
    last = answered(tmp_path, store)
    write_app(tmp_path, env={"MODE": "fast"}, thread_safe=True)
    assert reasons(tmp_path, store) == (
        f"the file target.yaml has changed since job {last}: env, thread_safe",
    )


def test_an_old_answer_is_a_reason(tmp_path: Path) -> None:
    write_app(tmp_path, schedule={"cron": "0 2 * * *", "older_than_days": 7})
    store = FakeStore(aged(8))
    last = answered(tmp_path, store)
    assert reasons(tmp_path, store) == (f"the answer of job {last} is 8 days old, older than 7",)


def test_the_request_of_the_last_job_comes_again_with_its_answer_as_a_seed(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(31))
    last = answered(
        tmp_path,
        store,
        objective={"minimize": "memory_mb"},
        budget={"preset": "thorough", "trials": 9},
        workload={"kind": "closed_loop", "concurrency": 7},
        search_space="io-bound",
        slo={"latency_p95_ms": 90},
        seed=5,
    )
    assert reasons(tmp_path, store)
    old, new = store.job(last).spec, newest(store).spec
    assert new.follows is not None
    assert (new.follows.job, new.follows.uwsgi_ini) == (last, finished_jobs.NEW_INI)
    assert new.seeds
    assert new.seeds[0].items() <= dict(new.follows.params).items()
    own = {"priority", "seeds", "because", "follows"}
    assert new.model_dump(exclude=own) == old.model_dump(exclude=own)


def test_another_path_in_the_image_is_a_reason(tmp_path: Path) -> None:
    write_app(tmp_path, ini_path=IN_IMAGE)
    store = FakeStore(aged(1))
    last = answered(tmp_path, store)
    write_app(tmp_path, ini_path="/srv/uwsgi.ini")
    reason = f"the file target.yaml has changed since job {last}: ini_path"
    assert reasons(tmp_path, store) == (reason,)
    assert newest(store).spec.target.ini_path == "/srv/uwsgi.ini"


@pytest.mark.parametrize("of_app", [{}, {"ini_path": IN_IMAGE}, {"ini_path": "/srv/uwsgi.ini"}])
def test_a_file_that_the_request_named_in_the_image_stays_there(
    tmp_path: Path, of_app: dict[str, str]
) -> None:
    write_app(tmp_path, **of_app)
    store = FakeStore(aged(31))
    last = answered(tmp_path, store, baseline={"in_image": IN_IMAGE})
    (reason,) = reasons(tmp_path, store)
    assert reason == f"the answer of job {last} is 31 days old, older than 30"
    assert newest(store).spec.awaits_file
    assert newest(store).spec.target == store.job(last).spec.target


def test_while_a_job_of_the_app_is_open_there_is_no_other(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore()
    assert reasons(tmp_path, store)
    later = {"now": lambda: TWO + timedelta(days=1)}
    assert reasons(tmp_path, store, **later) == ()
    store.cancel(newest(store).id)
    assert reasons(tmp_path, store, **later)


def test_a_time_gives_one_job_whoever_looks(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore()
    assert reasons(tmp_path, store)
    store.cancel(newest(store).id)  # its end is no reason for another one
    assert reasons(tmp_path, store) == ()
    tomorrow = schedules(tmp_path, store, now=lambda: TWO + timedelta(days=1))
    tomorrow.submit_due()
    assert len(store.jobs()) == 2


def test_a_worker_looks_once_at_each_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(1))
    answered(tmp_path, store)
    host = schedules(tmp_path, store)
    with caplog.at_level(logging.INFO, "tuner.service.worker.running"):
        host.submit_due()
        host.submit_due()
    assert len(caplog.records) == 1


def test_jobs_stay_in_their_pool(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(31))
    answered(tmp_path, store)
    assert reasons(tmp_path, store, pool="big") == ()
    assert reasons(tmp_path, store, pool="default")


def test_a_job_that_waits_in_a_pool_without_a_host_does_not_stop_the_schedule(
    tmp_path: Path,
) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(1))
    lost = {"app": "shop", "target": {"target_app": "shop"}, "pool": "mispelt"}
    spec = bootstrap.resolver(catalogue(tmp_path))(TuneRequest.model_validate(lost))
    store.create_job(spec, idempotency_key=None, request_sha256="")
    assert reasons(tmp_path, store) == ("there is no answer yet",)
    assert newest(store).spec.pool == "default"
    assert reasons(tmp_path, store) == ()  # its own job waits now


def test_outside_of_its_times_nothing_is_read(tmp_path: Path) -> None:
    write_app(tmp_path)
    host = schedules(tmp_path, FakeStore(), now=lambda: datetime(2026, 11, 28, 12, tzinfo=UTC))
    (tmp_path / "shop" / "target.yaml").write_text("no: app")
    host.submit_due()


def test_a_wrong_folder_or_an_absent_engine_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_app(tmp_path)
    store = FakeStore(aged(31))
    answered(tmp_path, store)
    host = schedules(tmp_path, store)
    (tmp_path / "shop" / "target.yaml").write_text("no: app")
    host.submit_due()
    assert "schedules wait: " in caplog.text
    write_app(tmp_path)
    away: list[Exception] = [Unavailable("docker", "it is off"), Infrastructure("it is odd")]

    def image(target: Target) -> str | None:
        if away:
            raise away.pop()
        return None

    host = schedules(tmp_path, store, image=image)
    host.submit_due()
    host.submit_due()
    assert len(store.jobs()) == 1
    assert "it is off" in caplog.text
    host.submit_due()
    assert len(store.jobs()) == 2


def test_a_database_that_is_away_ends_the_look(tmp_path: Path) -> None:
    write_app(tmp_path)
    store = FakeStore()
    host = schedules(tmp_path, store)

    def away(*_: object, **__: object) -> None:
        raise Unavailable("postgresql", "it is off")

    store.create_job = away  # type: ignore[assignment,method-assign]
    with pytest.raises(Unavailable):
        host.submit_due()


def test_an_app_without_a_schedule_is_left_alone(tmp_path: Path) -> None:
    write_app(tmp_path, schedule=None)
    assert schedules(tmp_path, FakeStore()).apps == {}
    assert catalogue(tmp_path).apps["shop"].app.schedule is None
