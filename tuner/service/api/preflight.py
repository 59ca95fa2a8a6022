"""Nouns → answers, of what is known of a job's files before the first trial. Pure functions."""

from tuner.bench.measurement import left_out
from tuner.nouns.model import Job, LeftOut, extended
from tuner.nouns.schemas import LeftOutAnswer, PreflightAnswer


def preflight_answer(job: Job) -> PreflightAnswer:
    """What trials go without is known from the request on, the rest once a host has looked."""
    found = job.facts.preflight if job.facts else None
    gone = found.left_out if found else left_out(job.spec)
    return PreflightAnswer(
        left_out=[_left_out(line) for line in gone],
        somaxconn=found.somaxconn if found else None,
        findings=found.findings if found else None,
    )


def _left_out(line: LeftOut) -> LeftOutAnswer:
    where = f"line {line.line}" + (f" of {line.file}" if line.file else "")
    return extended(
        LeftOutAnswer,
        line,
        sentence=f"trials leave out {line.option} ({where}): {line.danger.sentence}",
    )
