"""The client against the real API on real PostgreSQL; nobody measures, jobs end as tests say."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests import finished_jobs
from tests.postgres import fresh_database
from tests.running_api import KEY, Running, running_api
from tuner.client import Client, document_of
from tuner.nouns.errors import Conflict, InvalidInput, NotFound, Stale, Unavailable
from tuner.nouns.model import (
    CalibrateRequest,
    CompareRequest,
    Enter,
    History,
    JobId,
    Limits,
    Phase,
    Recommendation,
    Step,
    Succeed,
    TargetRequest,
    TuneRequest,
    Variant,
    Verdict,
)
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

ROOT = Path(__file__).parents[2]
MIXED = TargetRequest(target_app="mixed")


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture(scope="module")
def api(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_api(database_url, tmp_path_factory.mktemp("api")) as running:
        yield running


@pytest.fixture
def client(api: Running) -> Iterator[Client]:
    with api.client() as found:
        yield found


@pytest.fixture(scope="module")
def store(database_url: str) -> Iterator[Store]:
    engine = make_engine(database_url)
    yield Store(engine, Queue())
    engine.dispose()


def request(app: str) -> TuneRequest:
    return TuneRequest(app=app, target=MIXED)


def succeed(store: Store, job_id: int, found: Recommendation | None = None) -> None:
    """Let a job end with its answer, as a study would."""
    advance(
        store,
        job_id,
        Enter(phase=Phase.PREPARE),
        Succeed(recommendation=found or finished_jobs.recommendation()),
    )


def advance(store: Store, job_id: int, *steps: Step) -> None:
    left = list(steps)

    def decide(history: History) -> Step | None:
        return left.pop(0) if left else None

    store.advance(JobId(job_id), decide)


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Work in another thread; its failure is the test's."""
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  it is raised below
            failed.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failed:
        raise failed[0]


class Listening(httpx.HTTPTransport):
    """The real network, with a note of each status; some answers are lost on the way back."""

    def __init__(self, lost: int = 0) -> None:
        super().__init__()
        self.statuses: list[int] = []
        self.lost = lost

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        self.statuses.append(answer.status_code)
        if len(self.statuses) <= self.lost:
            answer.close()
            raise httpx.ReadTimeout("the answer was lost", request=request)
        return answer


def test_a_job_of_every_kind_is_submitted_found_and_called_off(client: Client) -> None:
    files = (Variant(name="a.ini", ini="[uwsgi]\nhttp-socket = :8000\n"),)
    tuning = client.submit(request("kinds"))
    comparison = client.submit(CompareRequest(target=MIXED, arms=files))
    calibration = client.submit(CalibrateRequest())
    assert comparison.files == ["a.ini"]
    jobs = (tuning, comparison, calibration)
    assert [job.kind for job in jobs] == ["tune", "compare", "calibrate"]
    assert [client.job(job.id) for job in jobs] == [*jobs]
    for job in jobs:
        assert job.id in [found.id for found in client.jobs("queued", kind=job.kind)]
        assert client.cancel(job.id).state == "cancelled"
        assert client.cancel(job.id).state == "cancelled"
    assert client.trials(tuning.id) == []
    assert list(client.jobs("queued", app="kinds")) == []


def test_a_request_whose_answer_was_lost_makes_one_job(api: Running) -> None:
    network = Listening(lost=2)
    with api.client(network) as client:
        job = client.submit(request("lost"))
        assert network.statuses == [201, 200, 200]
        assert [found.id for found in client.jobs(app="lost")] == [job.id]


def test_an_equal_request_goes_on_with_its_job(client: Client, store: Store) -> None:
    asked = request("again")
    first, is_new = client.go_on(asked)
    again, is_new_again = client.go_on(asked)
    assert (is_new, again.id, is_new_again) == (True, first.id, False)
    other, is_new = client.go_on(asked.model_copy(update={"seed": 2}))
    assert is_new
    succeed(store, first.id)
    anew, is_new = client.go_on(asked)
    assert (anew.state, is_new) == ("queued", True)
    for job in (other, anew):
        client.cancel(job.id)
    ended, is_new = client.go_on(asked, max_age_days=1)
    assert (ended.id, ended.state, is_new) == (first.id, "succeeded", False)


def test_a_key_of_the_callers_is_one_job_for_ever(client: Client) -> None:
    first = client.submit(request("keyed"), key="release-1.4")
    assert client.submit(request("keyed"), key="release-1.4").id == first.id
    assert client.submit(request("keyed")).id != first.id
    with pytest.raises(Conflict, match=r"release-1\.4"):
        client.submit(request("other"), key="release-1.4")


def test_lists_reach_every_job_over_all_pages(client: Client) -> None:
    ids = [client.submit(request("many")).id for _ in range(53)]
    assert [job.id for job in client.jobs(app="many")] == ids[::-1]


def test_what_has_not_changed_is_not_sent_again(api: Running, store: Store) -> None:
    network = Listening()
    with api.client(network) as client:
        job = client.submit(request("tagged"))
        first = client.job(job.id)
        assert client.job(job.id) is first
        succeed(store, job.id)
        assert client.job(job.id).state == "succeeded"
        texts = [client.ini("tagged") for _ in range(2)]
        found = [client.recommendation("tagged") for _ in range(2)]
    assert network.statuses == [201, 200, 304, 200, 200, 304, 200, 304]
    assert texts[0] == texts[1] == found[0].uwsgi_ini
    assert found[0] is found[1]


def test_an_answer_and_all_its_files(client: Client, store: Store, api: Running) -> None:
    job = client.submit(request("checkout"))
    succeed(store, job.id)
    found = client.recommendation("checkout", require="better", max_age_days=1)
    assert (found.job, found.verdict) == (job.id, Verdict.BETTER)
    assert found == client.recommendation(job.id)
    raw = httpx.get(
        f"{api.url}/v1/jobs/{job.id}/recommendation", headers={"X-API-Key": KEY}, trust_env=False
    )
    assert document_of(found) == raw.json()
    for overlay in (client.ini(job.id, "overlay"), client.ini("checkout", "overlay")):
        assert overlay == finished_jobs.recommendation().overlay_ini
    assert client.ini(job.id, require="better") == found.uwsgi_ini
    assert client.compose(job.id) == client.compose("checkout")
    assert "somaxconn" in client.compose(job.id)
    for form in ("plain", "compose", "kubernetes"):
        assert client.sysctls(job.id, form) == client.sysctls("checkout", form)
    assert client.report(job.id, "html").startswith("<!doctype html>")
    assert client.report(job.id, "md").startswith("#")
    assert client.tune_report(job.id).recommendation == found


def test_each_refusal_is_the_error_that_it_was_made_from(client: Client, store: Store) -> None:
    keep = finished_jobs.recommendation(comparison=finished_jobs.comparison(Verdict.NO_DIFFERENCE))
    job = client.submit(request("refused"))
    with pytest.raises(Conflict, match="there is no answer yet") as caught:
        client.recommendation(job.id)
    assert not isinstance(caught.value, Stale)
    with pytest.raises(NotFound):
        client.ini("refused")
    succeed(store, job.id, keep)
    with pytest.raises(Conflict, match="no_difference"):
        client.ini("refused", require="better")
    with pytest.raises(Stale):
        client.recommendation("refused", max_age_days=1e-9)
    with pytest.raises(Conflict, match="cannot be cancelled"):
        client.cancel(job.id)
    with pytest.raises(InvalidInput) as wrong:
        client.submit({"app": "Not OK", "target": {"target_app": "mixed"}, "seeed": 1})
    assert {mistake.path for mistake in wrong.value.mistakes} == {"app", "seeed"}


def test_without_the_key_nothing_is_told(api: Running) -> None:
    for key in (None, "another"):
        with Client(api.url, key) as client, pytest.raises(InvalidInput, match="asks for a key"):
            client.target_apps()


def test_what_a_request_may_name(client: Client) -> None:
    assert client.target_apps()["mixed"].limits.memory_mb > 0
    for name in client.search_spaces():
        assert client.search_space(name).parameters
    assert client.pools() == []
    with pytest.raises(NotFound):
        client.search_space("nowhere")


def test_a_file_is_linted_and_put_right(client: Client) -> None:
    ini = "[uwsgi]\nhttp-socket = :8000\nmodule = app\nlisten = 4096\nvaccum = true\n"
    found = client.lint(ini, limits=Limits(somaxconn=128))
    assert {4, 5} <= {finding.line for finding in found.findings}
    assert found.fixed_ini is None
    assert client.lint(ini, fix=True).fixed_ini is not None
    with pytest.raises(NotFound):
        client.lint(ini, job=2**62)
    with pytest.raises(InvalidInput, match="ini: "):
        client.lint("[uwsgi]\nmodule = \ud800\n")


def test_without_a_worker_it_is_not_ready(client: Client) -> None:
    assert client.answers()
    with pytest.raises(Unavailable) as caught:
        client.check_ready()
    assert caught.value.system == "worker"


def test_a_job_is_watched_through_the_death_of_the_api(
    client: Client, store: Store, api: Running
) -> None:
    job = client.submit(request("watched"))
    told: list[Unavailable] = []

    def die_and_come_back() -> None:
        api.kill()
        deadline = time.monotonic() + 30
        while not told and time.monotonic() < deadline:
            time.sleep(0.01)
        succeed(store, job.id)
        api.start()

    seen = []
    watched = client.watch(job.id, poll_s=0.05, on_away=told.append)
    seen.append(next(watched).state)
    with meanwhile(die_and_come_back):
        seen += [found.state for found in watched]
    assert seen == ["queued", "succeeded"]


def test_the_example_of_the_docs_runs(store: Store, api: Running, tmp_path: Path) -> None:
    page = (ROOT / "docs/client.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    environ = {**os.environ, "TUNER_URL": api.url, "TUNER_API_KEY": KEY}
    process = subprocess.Popen(
        [sys.executable, "-c", example],
        env={**environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "queued validate 0 blocks\n"
        newest = max(job.id for job in store.jobs("checkout", None, None, 200))
        succeed(store, newest)
        *states, answer = process.stdout
        assert states[-1] == "succeeded done 0 blocks\n"  # it may have seen others before
        assert answer.startswith("better ")
    assert process.returncode == 0
    assert (tmp_path / "uwsgi.ini").read_text() == finished_jobs.recommendation().uwsgi_ini
