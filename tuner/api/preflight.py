"""Nouns → answers, of what is known of a job's files before the first trial. Pure functions."""

from dataclasses import asdict

from tuner.measurement import left_out
from tuner.model import Job, LeftOut
from tuner.schemas import LeftOutAnswer, PreflightAnswer, PreflightFindingAnswer


def preflight_answer(job: Job) -> PreflightAnswer:
    """What trials go without is known from the request on, the rest once a host has looked."""
    found = job.facts.preflight if job.facts else None
    gone = found.left_out if found else left_out(job.spec)
    findings = None
    if found is not None:
        findings = [PreflightFindingAnswer(**asdict(finding)) for finding in found.findings]
    return PreflightAnswer(
        left_out=[_left_out(line) for line in gone],
        somaxconn=found.somaxconn if found else None,
        findings=findings,
    )


def _left_out(line: LeftOut) -> LeftOutAnswer:
    where = f"line {line.line}" + (f" of {line.file}" if line.file else "")
    return LeftOutAnswer(
        **asdict(line),
        sentence=f"trials go without {line.option} ({where}): {line.danger.sentence}",
    )
