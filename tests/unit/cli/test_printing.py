import math
from typing import Any

import pytest

from tests.answers import RECOMMENDATION, TUNE_QUEUED, TUNE_RUNNING
from tuner.cli import printing, shared, tables
from tuner.nouns.schemas import JobAnswer, RecommendationAnswer


def job(**changes: Any) -> JobAnswer:
    return JobAnswer.model_validate({**TUNE_RUNNING, **changes})


def lines_of(**changes: Any) -> list[str]:
    found = RecommendationAnswer.model_validate({**RECOMMENDATION, **changes})
    return list(printing.recommendation_lines(found))


def test_a_job_that_is_next_is_behind_nothing() -> None:
    assert printing.progress(job(**{**TUNE_QUEUED, "queue_position": 0})) == "queued"
    behind = job(**{**TUNE_QUEUED, "queue_position": 2})
    assert printing.progress(behind) == "queued behind 2 jobs"


def test_a_nightly_job_says_so() -> None:
    first, *_ = printing.job_lines(job(priority="nightly"))
    assert first == "job 7 · checkout · pool default · nightly"
    assert "interactive" not in next(printing.job_lines(job()))


def test_a_job_of_a_schedule_says_why_it_was_submitted() -> None:
    lines = list(printing.job_lines(job(because=["a", "b"], follows=5)))
    assert "submitted by the schedule, follows job 5: a; b" in lines
    assert "submitted by the schedule: a" in list(printing.job_lines(job(because=["a"])))
    assert not any("schedule" in line for line in printing.job_lines(job()))


def test_an_answer_says_what_has_changed_since_the_last_one() -> None:
    last = {"job": 5, "because": ["a"], "holds": True, "sentence": "it holds", "changed": ["b"]}
    lines = lines_of(since=last)
    at = lines.index("since job 5:")
    assert lines[at + 1 : at + 4] == ["  a", "  b", "  it holds"]
    assert "  the recommended file is the same" in lines_of(since={**last, "changed": []})
    assert not any(line.startswith("since") for line in lines_of(since=None))


def test_a_job_that_nobody_can_measure_says_why() -> None:
    for asked in (TUNE_QUEUED, TUNE_RUNNING):
        waiting = job(**{**asked, "waits_for": "bench-1: no image"})
        assert printing.progress(waiting) == "waiting: bench-1: no image"
        first, *_ = printing.submitted_lines(waiting, "http://tuner:8321")
        assert first.endswith(", waiting: bench-1: no image")


def test_outside_the_search_blocks_are_counted() -> None:
    line = printing.progress(job(phase="confirm", incumbent=None))
    assert line == "confirm · 27 blocks left · about 7 min 01 s left"


def test_the_users_own_file_may_be_the_best_so_far() -> None:
    own = {**TUNE_RUNNING["incumbent"], "number": 0, "ratio": 1.0}
    assert "best so far your own file" in printing.progress(job(incumbent=own))


def test_a_verdict_without_an_effect_is_said_plainly() -> None:
    assert lines_of(verdict="inconclusive", effect=None)[0] == "verdict: inconclusive"


def test_services_are_shown_under_both_files() -> None:
    postgres = {"cores": 0.3, "cpu": 0.62, "throttled": 0.04, "memory_mb": 88.5, "oom_kills": 0}
    own, tried = {**postgres, "written_mb": 3.2}, {**postgres, "cpu": 0.981, "written_mb": 3.8}
    shown = {"name": "postgres", "baseline": own, "candidate": tried}
    kept = {"name": "redis", "baseline": {**postgres, "oom_kills": 2}, "candidate": None}
    lines = lines_of(services=[shown, kept])
    assert (
        "service postgres: CPU 62.0 %, throttled 4.0 %, 88 MB, wrote up to 3.2 MB a block; with the"
        " candidate: CPU 98.1 %, throttled 4.0 %, 88 MB, wrote up to 3.8 MB a block (+0.6 MB)"
    ) in lines
    assert "service redis: CPU 62.0 %, throttled 4.0 %, 88 MB, 2 OOM kills" in lines
    assert not [line for line in lines_of(services=[]) if line.startswith("service")]


def test_lines_that_were_reverted_are_told_apart() -> None:
    lines = lines_of()
    assert "tried, not worth a line:" in lines
    assert "  thunder-lock  (not set) -> true" in lines


def test_the_evidence_names_errors_side_effects_and_the_check_of_equals() -> None:
    text = "\n".join(lines_of())
    assert "0 errors in 182 000 requests" in text
    assert "p95 latency (95 % CI" in text
    assert (
        "A/A check: equal files differ by +0.2 % (99.9 % CI -1.1 % .. +1.5 %); sd of a block 1.2 %"
    ) in text


def test_the_check_of_equals_is_a_change_and_says_when_blocks_were_too_few() -> None:
    few = {**RECOMMENDATION["calibration"], "bias": math.log(0.8), "smallest_bias": None}
    text = "\n".join(lines_of(calibration=few))
    assert "equal files differ by -20.0 % (too few blocks to tell a bias); sd of a block" in text


def test_what_was_never_confirmed_shows_no_evidence() -> None:
    text = "\n".join(lines_of(p_better=None))
    assert "evidence" not in text


@pytest.mark.parametrize(
    ("probability", "text"), [(1.0, "over 99.9 %"), (0.0, "under 0.1 %"), (0.981, "98.1 %")]
)
def test_nothing_is_ever_certain(probability: float, text: str) -> None:
    assert f"P(better) {text};" in "\n".join(lines_of(p_better=probability))


def _line(**changes: Any) -> dict[str, Any]:
    effect = {"metric": "throughput_rps", "estimate": 0.003, "ci_low": -0.009, "ci_high": 0.015}
    return {
        "option": "thunder-lock",
        "value": "true",
        "baseline_value": None,
        "effect": {**effect, "unit": "relative", **changes},
    }


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "inside noise: +0.3 % (-0.9 % .. +1.5 %)"),
        ({"ci_low": None, "ci_high": None}, "inside noise: +0.3 % (unbounded)"),
        ({"ci_low": 0.001}, "too small to keep: +0.3 % (+0.1 % .. +1.5 %)"),
        ({"ci_high": -0.001}, "harmful: +0.3 % (-0.9 % .. -0.1 %)"),
        ({"ci_low": 0.001, "metric": "latency_p95_ms"}, "harmful: +0.3 % (+0.1 % .. +1.5 %)"),
    ],
)
def test_a_line_put_back_says_why(changes: dict[str, Any], told: str) -> None:
    lines = lines_of(reverted=[_line(**changes)])
    assert f"  thunder-lock  (not set) -> true  {told}" in lines


def test_a_kept_line_without_an_effect_of_its_own_is_called_not_ablated() -> None:
    lines = lines_of()
    assert "  threads    (not set) -> 2  not ablated" in lines


def test_a_line_that_comes_out_and_what_else_it_changes_are_said() -> None:
    out = {**_line(), "option": "http", "value": None, "baseline_value": ":8000", "effect": None}
    lines = lines_of(lines=[{**out, "note": "only behind a proxy"}])
    assert "  http  :8000 -> (not set)  not ablated" in lines
    assert "  note: only behind a proxy" in lines
    tried = lines_of(lines=[out], reverted=[{**out, "note": "only behind a proxy"}])
    assert not any("note:" in line for line in tried)


def test_what_was_skipped_is_said() -> None:
    evidence = {**RECOMMENDATION["evidence"], "skipped": ["no ablation: the budget is too small"]}
    assert lines_of(evidence=evidence)[-1] == "skipped: no ablation: the budget is too small"


def test_a_job_names_what_trials_lack_and_what_is_odd_about_its_file_but_no_notes() -> None:
    odd = {"rule": "U019", "severity": "error", "line": 3, "file": "", "message": "no such option"}
    findings = [
        odd,
        {**odd, "file": "today.ini", "line": None, "severity": "warning"},
        {**odd, "severity": "note"},
    ]
    seen = TUNE_RUNNING["preflight"]
    assert list(printing.job_lines(job(preflight={**seen, "findings": findings})))[3:] == [
        f"left out: {seen['left_out'][0]['sentence']}",
        "error: line 3: no such option (U019)",
        "warning: today.ini: no such option (U019)",
    ]
    unseen = {**seen, "left_out": [], "findings": None}
    assert len(list(printing.job_lines(job(preflight=unseen)))) == 3


def test_a_missed_bound_comes_before_the_effect_which_may_be_a_gain() -> None:
    sentence = "it misses your bound on p95 latency (at most 200 ms) by 12.0 %"
    bound = {"name": "latency_p95_ms", "is_users": True, "excess": 0.11, "sentence": sentence}
    lines = lines_of(verdict="breaks_bound", missed=[bound])
    assert lines[0].startswith(f"verdict: breaks a bound: {sentence}; +")


def test_a_text_from_elsewhere_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    shared.say("a\x1b[2Jb")
    shared.print_lines(["c\u202ed", "e\tf"])
    tables.show(["g\x9bh"])
    printed = capsys.readouterr()
    assert printed.err == "a\ufffd[2Jb\n"
    assert printed.out == "c\ufffdd\ne\tf\ng\ufffdh\n"
