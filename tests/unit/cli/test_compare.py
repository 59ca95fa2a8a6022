"""`tuner compare` against a service that answers as a test says."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tests.answers import COMPARE_DONE, COMPARE_QUEUED, RECOMMENDATION, TUNE_QUEUED, TUNE_RUNNING
from tests.unit.cli.conftest import Service, run
from tuner.cli.compare import our_suites, suite_of, tuning_of
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import CompareRequest, Workload


@pytest.fixture
def comparing(service: Service) -> Service:
    """A service that compares."""
    service.on("POST /v1/jobs?go_on=true", COMPARE_QUEUED, status=201)
    service.on("GET /v1/jobs/8", COMPARE_QUEUED, COMPARE_DONE)
    return service


def test_a_suite_is_submitted_with_the_texts_of_its_files(
    comparing: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", "wsgi-servers", "--rounds", "2") == 0
    (found,) = comparing.submitted()
    assert (found["kind"], found["blocks"]) == ("compare", 2)
    first, *others = found["arms"]
    assert "processes = 4\n" in first["ini"]
    assert all("command" in arm and "ini" not in arm for arm in others)
    said = capsys.readouterr()
    assert "161.4   158.0 .. 164.9" in said.out
    assert said.err.splitlines()[1].startswith("about 2 min: 8 rounds x 2 arms; up to 2 arms")


def test_only_some_arms_are_measured_in_the_order_of_the_suite(comparing: Service) -> None:
    chosen = ("--only", "waitress", "--only", "bjoern")
    assert run("compare", "wsgi-servers", *chosen) == 0
    (found,) = comparing.submitted()
    assert [arm["name"] for arm in found["arms"]] == ["bjoern", "waitress"]


def test_the_clients_of_a_suite_may_keep_their_connections(comparing: Service) -> None:
    assert run("compare", "wsgi-servers", "--keep-alive") == 0
    workload = suite_of("wsgi-servers")["workload"]
    (found,) = comparing.submitted()
    assert found["workload"] == {**workload, "keep_alive": True}


def test_an_arm_that_the_suite_does_not_have_is_named_with_those_that_it_has() -> None:
    with pytest.raises(InvalidInput, match=r"no arm apache; arms: uwsgi-as-published, bjoern,"):
        suite_of("wsgi-servers", ["bjoern", "apache"])


@pytest.mark.parametrize("given", ["folder", "file"])
def test_a_suite_of_the_users_own_is_a_file_or_its_folder(tmp_path: Path, given: str) -> None:
    (tmp_path / "mine.ini").write_text("[uwsgi]\nprocesses = 3\n")
    file = tmp_path / "suite.yaml"
    file.write_text(
        "kind: compare\ntarget: {target_app: shop}\narms: [{name: a, ini: {file: mine.ini}}]\n"
    )
    found = suite_of(str(tmp_path if given == "folder" else file))
    assert found["arms"] == [{"name": "a", "ini": "[uwsgi]\nprocesses = 3\n"}]
    assert "blocks" not in found


def test_what_is_no_suite_is_refused(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("kind: tune\n")
    with pytest.raises(InvalidInput, match="is not a suite: it begins with `kind: compare`"):
        suite_of(str(job))
    with pytest.raises(InvalidInput, match=r"none of our suites, which are: .*wsgi-servers"):
        suite_of("no-such")
    assert "wsgi-servers" in our_suites()


@pytest.mark.parametrize("is_better", [True, False])
def test_a_tuned_file_joins_the_arms_in_its_box(comparing: Service, is_better: bool) -> None:
    found = RECOMMENDATION if is_better else {**RECOMMENDATION, "lines": []}
    comparing.on("POST /v1/jobs?go_on=true&max_age_days=1", TUNE_QUEUED, status=201)
    comparing.on("GET /v1/jobs/7", {**TUNE_RUNNING, "state": "succeeded", "phase": "done"})
    comparing.on("GET /v1/jobs/7/recommendation", found)
    name = "uwsgi-as-published"
    chosen = ("--tune", name, "--preset", "quick", "--priority", "nightly")
    assert run("compare", "wsgi-servers", *chosen) == 0
    tuning, comparison = comparing.submitted()
    assert tuning["priority"] == comparison["priority"] == "nightly"
    own, *_ = suite_of("wsgi-servers")["arms"]
    assert (tuning["kind"], tuning["baseline"]["ini"]) == ("tune", own["ini"])
    assert (tuning["app"], tuning["budget"]) == ("wsgi-servers", {"preset": "quick"})
    assert tuning["workload"] == comparison["workload"]
    names = [arm["name"] for arm in comparison["arms"]]
    assert (f"{name}-tuned" in names) is is_better
    if is_better:
        tuned = comparison["arms"][-1]
        assert tuned["ini"] == RECOMMENDATION["uwsgi_ini"]
        assert tuned["limits"]["cpus"] == RECOMMENDATION["circumstances"]["limits"]["cpus"]


def test_paths_in_turn_are_tuned_as_one_mix() -> None:
    request = suite_of("static-files")
    tuning = tuning_of(request, "uwsgi-as-published", "quick", "static")
    assert request["workload"]["kind"] == "paths"
    assert tuning["workload"] == {**request["workload"], "kind": "closed_loop"}
    TypeAdapter[Workload](Workload).validate_python(tuning["workload"])


@pytest.mark.parametrize("name", our_suites())
def test_each_of_our_suites_is_a_request(name: str) -> None:
    assert CompareRequest.model_validate(suite_of(name)).arms


def test_only_a_file_can_be_tuned() -> None:
    request = suite_of("wsgi-servers")
    with pytest.raises(InvalidInput, match=r"no uwsgi\.ini waitress; files: uwsgi-as-published"):
        tuning_of(request, "waitress", "quick", None)
