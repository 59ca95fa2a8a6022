"""The pipelines of docs/ci.md against a running service, but for what measures.

`tests/acceptance/test_ci.py` has the rest.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import finished_jobs, pipelines
from tests.finished_jobs import NEW_INI, OWN_INI
from tests.pipelines import Command
from tests.service import Service, opened_store, running
from tuner.nouns.model import Verdict

pytestmark = pytest.mark.timeout(300)

KEY = "a-key-for-tests"
NOBODY = "nobody"  # a pool without hosts: what is put into the database is left alone
PIPELINES = {
    "github": [command for command in pipelines.github() if "gate" not in command.text],
    "gitlab": [command for command in pipelines.gitlab() if "gate" not in command.text],
}
both = pytest.mark.parametrize("name", PIPELINES)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service with a key and an answer for `checkout`."""
    with running(until="/healthz", TUNER_API_KEY=KEY) as found:
        with opened_store(found) as store:
            finished_jobs.stored(store, finished_jobs.recommendation(), pool=NOBODY)
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout of a repository whose deployed file is not yet the recommended one."""
    deployed = tmp_path / "deploy" / "uwsgi.ini"
    deployed.parent.mkdir()
    deployed.write_text(OWN_INI)
    return tmp_path


def _run(service: Service, command: Command, folder: Path, **environ: str) -> pipelines.Ran:
    known = {"TUNER_URL": str(service.http.base_url).rstrip("/"), "TUNER_API_KEY": KEY}
    return pipelines.run(command, folder, **(known | environ))


@both
def test_a_pipeline_fetches_lints_and_finds_the_drift(
    service: Service, folder: Path, name: str
) -> None:
    fetch, lint, check = PIPELINES[name]
    fetched = _run(service, fetch, folder)
    assert fetched.code == 0, fetched.err
    assert (folder / "recommended.ini").read_text() == NEW_INI
    linted = _run(service, lint, folder)
    assert linted.code == 0, linted.out + linted.err
    drifted = _run(service, check, folder)
    assert drifted.code == 1, drifted.err
    assert "processes: 2 deployed, 6 recommended" in drifted.err
    assert "+processes = 6" in drifted.out


@both
def test_it_passes_once_the_file_is_deployed_however_it_is_written(
    service: Service, folder: Path, name: str
) -> None:
    deployed = NEW_INI.replace("processes = 6", "# six\nworkers=6")
    (folder / "deploy" / "uwsgi.ini").write_text(deployed)
    for command in PIPELINES[name]:
        ran = _run(service, command, folder)
        assert ran.code == 0, ran.err


@both
def test_the_lint_of_a_pipeline_fails_on_a_file_that_does_not_start(
    service: Service, folder: Path, name: str
) -> None:
    _, lint, _ = PIPELINES[name]
    (folder / "recommended.ini").write_text("[uwsgi]\nprocesses = four\nhttp-socket = :8000\n")
    assert _run(service, lint, folder).code == 1


@both
def test_without_a_recommendation_it_says_so(service: Service, folder: Path, name: str) -> None:
    fetch, _, check = PIPELINES[name]
    fetched = _run(service, fetch, folder, APP="other")
    assert fetched.code == 22  # curl's own for an HTTP error
    assert "there is no recommendation for other yet" in (folder / "recommended.ini").read_text()
    checked = _run(service, check, folder, APP="other")
    assert checked.code == 3
    assert "there is no recommendation for other yet" in checked.err


@both
def test_a_wrong_key_and_a_service_that_is_away_are_told_apart(
    service: Service, folder: Path, name: str
) -> None:
    fetch, _, check = PIPELINES[name]
    assert _run(service, fetch, folder, TUNER_API_KEY="wrong").code == 22
    assert _run(service, check, folder, TUNER_API_KEY="wrong").code == 2
    assert _run(service, check, folder, TUNER_URL="http://127.0.0.1:1").code == 5


def test_a_poll_fetches_the_file_once_and_again_only_when_there_is_another(
    service: Service, folder: Path
) -> None:
    poll, file = pipelines.polling(), folder / "uwsgi.ini"
    with opened_store(service) as store:
        finished_jobs.stored(store, finished_jobs.recommendation(), app="polled", pool=NOBODY)
    for text in (NEW_INI, "kept"):
        assert _run(service, poll, folder, APP="polled").code == 0
        assert file.read_text() == text
        file.write_text("kept")  # a 304 leaves it alone
    keep = finished_jobs.recommendation(
        comparison=finished_jobs.comparison(Verdict.NO_DIFFERENCE), uwsgi_ini=OWN_INI
    )
    with opened_store(service) as store:
        finished_jobs.stored(store, keep, app="polled", pool=NOBODY)
    assert _run(service, poll, folder, APP="polled").code == 0
    assert file.read_text() == OWN_INI
