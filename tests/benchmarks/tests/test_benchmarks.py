"""What the benchmarks of planted truths keep, count and call passed, without running a job."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import plants
from tests.benchmarks import jobs, nulls, planted, suites
from tests.benchmarks.journal import Journal, complete
from tests.builders import block, window
from tests.plants import GAIN, PLANTINGS
from tests.service import Service
from tuner.nouns.model import CompareRequest, Surroundings
from tuner.study import resolve
from tuner.targets.catalogue import HostCatalogue

EFFECT = {"metric": "throughput_rps", "estimate": 0.05, "ci_low": 0.03, "ci_high": 0.07}
LINE = {"option": "vacuum", "value": "true", "baseline_value": "false", "effect": EFFECT}
ANSWER = {
    "verdict": "better",
    "effect": EFFECT,
    "blocks": 16,
    "mde": 0.02,
    "lines": [LINE],
    "reverted": [{**LINE, "option": "buffer-size", "value": "8192", "effect": None}],
    "reason": "Deploy it",
    "uwsgi_ini": GAIN.baseline_ini.replace("vacuum = false", "vacuum = true"),
}


class Serving(Service):
    """A service whose jobs end at once."""

    def __init__(self, **ended: Any) -> None:
        self.ended = {"id": 1, "state": "succeeded", "failure": None, **ended}

    def submit(self, **request: Any) -> dict[str, Any]:
        return self.ended

    def finish(self, job_id: int, *, within_s: float = 1.0, every_s: float = 0.1) -> dict[str, Any]:
        return self.ended

    def get(self, path: str) -> Any:
        class Answer:
            @staticmethod
            def json() -> dict[str, Any]:
                return ANSWER

        return Answer()


def null_row(seed: int, verdict: str = "no_difference", **changes: Any) -> dict[str, Any]:
    row = {"at": "2026-11-22T10:00:00", "commit": "abc", "seed": seed, "minutes": 1.5}
    return {**row, "state": "succeeded", "verdict": verdict, "effect": None, **changes}


def test_of_an_answer_the_lines_are_kept_with_their_effects() -> None:
    row = jobs.tuned(Serving(), GAIN, seed=3)
    assert (row["name"], row["seed"], row["state"]) == ("gain", 3, "succeeded")
    assert row["effect"] == [0.05, 0.03, 0.07]
    assert jobs.in_words(row["kept"]) == "vacuum = true: +5.0% (+3.0% .. +7.0%)"
    assert jobs.in_words(row["reverted"]) == "buffer-size = 8192: not measured"
    assert planted.verdict_on(GAIN, row) == []


def test_a_job_that_failed_has_not_passed() -> None:
    failed = Serving(state="failed", failure={"code": "died"})
    row = jobs.tuned(failed, GAIN, seed=1)
    assert "died" in row["reason"]
    assert planted.verdict_on(GAIN, row) == ["the job has failed"]


def test_the_report_names_what_was_planted_shipped_and_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {"at": "2026-11-22T10:00:00", "commit": "abc", **jobs.tuned(Serving(), GAIN, seed=1)}
    assert planted.report([GAIN], [{**row, "wrong": []}]) == 0
    printed = capsys.readouterr().out
    assert GAIN.about in printed
    assert "vacuum = true: +5.0% (+3.0% .. +7.0%)" in printed
    assert "1 of 1 passed" in printed
    assert planted.report([GAIN], [{**row, "wrong": ["vacuum is not in the file"]}]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_a_truth_that_was_not_run_has_not_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert planted.report(PLANTINGS, []) == 1
    assert capsys.readouterr().out.count("not run yet") == len(PLANTINGS)


@pytest.mark.parametrize(("run", "most"), [(20, 3), (40, 5), (60, 7)])
def test_so_many_claims_are_compatible_with_5_percent(run: int, most: int) -> None:
    assert nulls.allowed(run) == most


@pytest.mark.parametrize(("claims", "code"), [(3, 0), (4, 1)])
def test_four_claims_in_twenty_jobs_are_too_many(
    claims: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [null_row(seed, "better" if seed <= claims else "inconclusive") for seed in range(1, 21)]
    assert nulls.report(rows) == code
    assert capsys.readouterr().out.count("<-- a claim") == claims


def test_a_job_without_an_answer_is_reported_and_does_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [null_row(1), null_row(2, state="failed", reason="the host's fault")]
    assert nulls.report(rows) == 0
    printed = capsys.readouterr().out
    assert "the host's fault" in printed
    assert "1 of 2" in printed
    assert "20 jobs are needed" in printed


def suite(seed: int, slower: float, equal: float, **changes: Any) -> dict[str, Any]:
    """A suite whose intervals are 2 % wide."""
    found = {
        name: [effect, effect - 0.01, effect + 0.01]
        for name, effect in {"slower": slower, "equal": equal}.items()
    }
    row = {"seed": seed, "minutes": 4.0, "state": "succeeded", **found, "as_counted": found}
    return {**row, **changes}


@pytest.mark.parametrize(
    ("missed", "apart", "code"), [(0, 0, 0), (4, 3, 0), (5, 0, 1), (0, 4, 1), (20, 20, 1)]
)
def test_suites_find_the_slower_arm_and_leave_the_equal_one(
    missed: int, apart: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        suite(n, slower=-0.005 if n < missed else -0.05, equal=0.02 if n < apart else 0.0)
        for n in range(20)
    ]
    assert suites.report(rows) == code
    printed = capsys.readouterr().out
    assert f"{20 - missed} of 20 slower arms found" in printed
    assert f"{apart} of 20 equal arms told apart" in printed


def test_a_suite_that_failed_has_found_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    failed = {"seed": 2, "minutes": 0.5, "state": "failed", "reason": "docker is away"}
    assert suites.report([suite(1, -0.05, 0.0), failed]) == 1
    assert "docker is away" in capsys.readouterr().out


def test_a_suite_is_a_job_of_three_arms_that_differ_in_what_is_planted() -> None:
    request = CompareRequest.model_validate(suites.request(seed=3, rounds=20))
    spec = resolve(request, HostCatalogue.load([plants.TARGET_APPS]))
    own, equal, slower = (each.ini for each in spec.variants)
    assert own == equal != slower
    assert (spec.seed, spec.budget.compare_blocks) == (3, 20)


def test_a_suite_keeps_the_intervals_of_both_arms_and_what_was_counted() -> None:
    found: dict[str, list[Any]] = {"own": [], "equal": [], "slower": [EFFECT]}
    arms = [{"name": name, "effects": effects} for name, effects in found.items()]
    fast, slow = (
        {"target_cpu": 1.0, "surroundings": Surroundings(cpu_speed=speed)} for speed in (20.0, 10.0)
    )
    windows = [window(0, 100.0, **fast), window(1, 50.0, **slow), window(2, 95.0, **fast)]
    row = suites.effects(arms, [block(windows)] * 2)
    assert (row["equal"], row["slower"]) == (None, [0.05, 0.03, 0.07])
    assert row["as_counted"]["equal"] == pytest.approx([-0.5] * 3)
    assert row["as_counted"]["slower"] == pytest.approx([-0.05] * 3)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_a_stopped_run_has_found_is_reported_and_the_next_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(journal: Journal) -> None:
        journal.add({"seed": len(journal.rows()) + 1})
        raise KeyboardInterrupt

    def report(rows: Sequence[dict[str, Any]]) -> int:
        return len(rows)

    assert complete("bench-x", Namespace(fresh=False), run, report) == 1
    assert "the same command goes on" in capsys.readouterr().out
    assert complete("bench-x", Namespace(fresh=False), run, report) == 2
    assert complete("bench-x", Namespace(fresh=True), run, report) == 1


def test_a_journal_goes_on_where_it_was_left() -> None:
    Journal.named("bench-x").add({"seed": 1})
    Journal.named("bench-x").add({"seed": 2})
    rows = Journal.named("bench-x").rows()
    assert [row["seed"] for row in rows] == [1, 2]
    assert all(row["commit"] and row["at"].endswith("+00:00") for row in rows)
    assert Journal.named("bench-x", fresh=True).rows() == []
