"""A lint that takes too long ends; it keeps no other call waiting."""

import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.fuzz.growth import FAMILIES
from tests.unit.api.fakes import Api
from tuner.service.api import apart, lint, parameters, reading

LONG = FAMILIES["keys without a value"](190_000)


def test_a_file_that_takes_too_long_is_refused_and_the_next_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Api()
    with monkeypatch.context() as patched:
        patched.setattr(apart, "CPU_S", 0.05)
        refused = api.send("POST", "/v1/lint", json={"ini": LONG})
    assert refused.status_code == 422
    assert "takes more than 0.05 s" in refused.text
    assert api.send("POST", "/v1/lint", json={"ini": "[uwsgi]\n"}).status_code == 200


@pytest.mark.parametrize(
    ("does", "ends"), [("time.sleep(1)", 0), ("sum(range(10**10))", -signal.SIGPROF)]
)
def test_only_computing_counts(does: str, ends: int) -> None:
    """A machine that is busy with other work makes a process wait, and that costs no file."""
    within = (
        "import time\nfrom tuner.service.api.apart import cpu_limit\nwith cpu_limit(0.5):\n    "
    )
    assert subprocess.run([sys.executable, "-c", within + does], check=False).returncode == ends


def test_a_large_document_with_many_mistakes_is_read_in_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_here(*_: Any) -> None:
        raise AssertionError("another request would wait meanwhile")

    monkeypatch.setattr(reading, "_mistakes_of_shape", read_here)
    monkeypatch.setattr(parameters, "_read", read_here)
    wrong: dict[str, Any] = {f"f{number}": {} for number in range(6_000)}
    lint_answer = Api().send(
        "POST", "/v1/lint", json={"ini": "[uwsgi]", "limits": {"sysctls": wrong}}
    )
    assert lint_answer.json()["mistakes"][0]["path"] == "limits.sysctls.f0"
    job_answer = Api().submit({"app": "shop", "target": {"env": wrong}})
    assert job_answer.json()["mistakes"][0]["path"].startswith("target")


def test_more_large_documents_than_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "MOST_LARGE", 0)
    answer = Api().send("POST", "/v1/lint", json={"ini": "#" * 20_000})
    assert (answer.status_code, answer.json()["detail"]) == (
        503,
        "too many large requests at once: try again",
    )


def test_more_lints_than_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    for _ in range(lint.MOST_WAITING):
        lint._room.acquire()
    try:
        refused = api.send("POST", "/v1/lint", json={"ini": "[uwsgi]\n"})
    finally:
        lint._room.release(lint.MOST_WAITING)
    assert (refused.status_code, refused.json()["system"]) == (503, "lint")
    assert api.send("POST", "/v1/lint", json={"ini": "[uwsgi]\n"}).status_code == 200
