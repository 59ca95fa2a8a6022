"""What must hold for any input, and how long it may take."""

import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType

from tests.fuzz.inputs import numbered
from tests.ini_bytes import dumped, parsed
from tuner.uwsgi.ini import IniFile, as_text
from tuner.uwsgi.ini.walking import Obstacle
from tuner.uwsgi.lint import Box, is_usable, lint, repaired, subject_of
from tuner.uwsgi.lint.linting import answer_of
from tuner.uwsgi.options import known

MOST_CPU_S = 20.0
"""For one input of up to 250 KB; the median takes about 13 ms."""

HANGS_AFTER_S = 120
"""Of CPU: a machine that is busy, or a run that was stopped for a while, is no hang."""

BOX = Box(cpus=1, memory_mb=512, somaxconn=128, nofile=1024, memory_per_process_mb=64)
CHANGES = {"processes": "4", "thunder-lock": as_text(True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One input's CPU time, and how many findings it had."""

    number: int
    size: int
    cpu_s: float
    findings: int


def trial(number: int) -> Result:
    """All that we do with a file, on input `number`. Raises `AssertionError`, or whatever broke."""
    content = numbered(number)
    start = time.process_time()
    findings = _check(content, unsafe=number % 2 == 1)
    return Result(
        number=number,
        size=len(content),
        cpu_s=time.process_time() - start,
        findings=findings,
    )


def trials(numbers: Iterable[int]) -> Iterable[Result]:
    """One after the other; an input that takes minutes is an error with a traceback."""
    before = signal.signal(signal.SIGPROF, _hangs)
    try:
        for number in numbers:
            signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER_S)
            try:
                result = trial(number)
            except Exception as error:
                error.add_note(f"this was input {number}")
                raise
            assert result.cpu_s < MOST_CPU_S, result
            yield result
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _check(content: bytes, *, unsafe: bool) -> int:
    ini = parsed(content)
    assert dumped(ini) == content, "a byte was lost"
    text = ini.dump()
    subject = subject_of(text, known(), BOX)
    findings = lint(subject)
    answer_of(findings, known()).model_dump_json()
    for finding in findings:
        assert finding.message.isprintable(), finding
        assert finding.line is None or 1 <= finding.line <= len(subject.ini.lines), finding
    if is_usable(findings):
        _check_repair(text, unsafe=unsafe)
    _check_patch(ini)
    return len(findings)


def _check_repair(text: str, *, unsafe: bool) -> None:
    once, _ = repaired(text, subject_of(text, known(), BOX), unsafe=unsafe)
    twice, _ = repaired(once, subject_of(once, known(), BOX), unsafe=unsafe)
    assert twice == once, "repairing twice is not repairing once"


def _check_patch(ini: IniFile) -> None:
    is_followed = all(kind is not Obstacle.TOO_DEEP for _, kind in ini.read.obstacles)
    if not ini.has_section or not is_followed:
        return  # includes of includes beyond 100 000 lines: nobody knows what counts
    once = ini.patch(CHANGES)
    assert once.patch(CHANGES).dump() == once.dump(), "patching twice is not patching once"


def _hangs(signal_number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"one input took more than {HANGS_AFTER_S} s of CPU")
