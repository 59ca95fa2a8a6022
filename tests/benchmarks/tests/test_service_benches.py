"""What the benchmarks of apps with services call right, and the job that one of them submits."""

from argparse import Namespace
from typing import Any

import pytest

from tests.benchmarks import backing, kills, login, real
from tuner.nouns.model import Burst, CompareRequest
from tuner.study import resolve
from tuner.targets.catalogue import HostCatalogue

NAMED = {
    "seed": 1,
    "minutes": 1.2,
    "state": "succeeded",
    "bottleneck": "backing_service",
    "sentence": "postgres uses 99 % of its CPU: no uWSGI option will help",
    "evidence": {"target_cpu": 0.3},
}


REAL = {
    **{"app": "kinto", "runs": "elsewhere", "budget": "quick", "seed": 1, "minutes": 19.0},
    **{"state": "succeeded", "verdict": "better", "effect": [0.3, 0.2, 0.4], "reason": "Deploy it"},
    **{"kept": [], "reverted": [], "bottleneck": "slots are busy", "doubts": []},
    "conditions": [{"where": "half the load", "effect": [-0.2, -0.3, -0.1], "sign": "turns"}],
    "uwsgi_ini": "[uwsgi]\nprocesses =  2\n",
}


def job(**changes: Any) -> dict[str, Any]:
    """A job that met two kills."""
    met = [
        {"victim": "worker", "phase": "search", "seconds": 4.0},
        {"victim": "dockerd", "phase": "prepare", "seconds": 12.5},
    ]
    row = {"seed": 1, "minutes": 4.0, "state": "succeeded", "reason": "", "kills": met, "left": []}
    return {**row, **changes}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"bottleneck": "cpu_quota", "sentence": "its one core is busy in the app"}, 1),
        ({"sentence": "redis uses 99 % of its CPU"}, 1),
        ({"state": "failed", "bottleneck": "", "sentence": "service_failed"}, 1),
    ],
)
def test_a_job_is_right_that_names_the_database(
    changes: dict[str, Any], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backing.report([NAMED, {**NAMED, **changes}]) == code
    assert f"{2 - code} of 2 jobs name postgres" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"state": "failed", "reason": "3 times in a row: docker is away"}, 0),  # it says why
        ({"state": "failed"}, 1),
        ({"left": ["volume a"]}, 1),
    ],
)
def test_a_job_may_end_in_any_way_that_it_explains_and_leaves_nothing(
    changes: dict[str, Any], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [job(), job(**changes)]
    assert kills.report(rows) == code
    printed = capsys.readouterr().out
    assert printed.count("dockerd   in prepare") == len(rows)
    assert rows[1]["reason"] in printed


def test_the_job_with_logins_is_one_that_the_service_accepts() -> None:
    options = Namespace(users=50, blocks=2, cycles=None, only=["2-processes-listen-100"])
    whole = login.request(Namespace(users=None, blocks=None, cycles=None, only=None))
    spec = resolve(CompareRequest.model_validate(whole), HostCatalogue.load())
    assert len(spec.variants) == 7
    assert isinstance(spec.workload, Burst)
    assert spec.workload.user_data is not None
    short = resolve(CompareRequest.model_validate(login.request(options)), HostCatalogue.load())
    assert isinstance(short.workload, Burst)
    assert (short.workload.users, short.budget.compare_blocks) == (50, 2)
    assert [each.name for each in short.variants] == options.only


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"uwsgi_ini": "[uwsgi]\nprocesses = 1\n"}, 1),
        ({"uwsgi_ini": "[uwsgi]\n"}, 1),  # uWSGI starts one
        ({"uwsgi_ini": "[uwsgi]\n", "runs": "beside"}, 0),
        ({"state": "failed", "reason": "docker is away"}, 1),
    ],
)
def test_an_answer_for_services_elsewhere_keeps_two_processes(
    changes: dict[str, Any], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert real.report([REAL, {**REAL, **changes}]) == code
    printed = capsys.readouterr().out
    assert f"{2 - code} of 2 jobs are right" in printed
    assert "-20.0% (-30.0% .. -10.0%), turns" in printed


def test_a_job_of_another_budget_is_another_job() -> None:
    quick = real.budget_of(Namespace(preset="quick", trials=None))
    assert quick == "quick" != real.budget_of(Namespace(preset="quick", trials=1))
