"""What `tuner gate` asks for, says beforehand, and makes of the answer."""

from collections.abc import Iterator
from typing import Any

from tuner.cli.printing import change, duration, share
from tuner.client import document_of
from tuner.errors import Conflict, InvalidInput, Mistake, Unavailable
from tuner.model import (
    CompareRequest,
    FailureCode,
    TargetRequest,
    Variant,
)
from tuner.recommendation import gate
from tuner.schemas import JobAnswer, RecommendationAnswer

MOST_BLOCKS = 256  # of one measurement
BLOCKS_TO_RUN = 4  # where there is nothing to compare
START_OF_BLOCK_S = 1.5  # for jobs that did not say what a block took


def request_of(
    found: RecommendationAnswer, image: str, budget_s: float, pool: str | None = None
) -> CompareRequest:
    """The job's own circumstances on another image: its file first, then the recommended one.

    Where they are one and the same, there is one file, and as few blocks as say that it runs.
    """
    asked = found.circumstances
    how = TargetRequest.model_fields.keys() - {"target_app", "image"}
    inis = (
        Variant(name="own.ini", ini=asked.baseline_ini),
        Variant(name="recommended.ini", ini=found.uwsgi_ini),
    )
    is_one = asked.baseline_ini == found.uwsgi_ini
    most = BLOCKS_TO_RUN if is_one else MOST_BLOCKS
    return CompareRequest(
        app=found.app,
        target=TargetRequest(image=image, **{name: getattr(asked.target, name) for name in how}),
        inis=inis[1:] if is_one else inis,
        limits=asked.limits,
        workload=asked.workload,
        blocks=gate.fitting_blocks(budget_s, block_s(found), at_most=most),
        cycles=asked.cycles,
        window_s=asked.window_s,
        warmup_s=asked.warmup_s,
        min_effect=asked.min_effect,
        allow=tuple(asked.allow),
        pool=pool or asked.pool,
    )


def block_s(found: RecommendationAnswer) -> float:
    """Seconds that one block of two files takes, starts included."""
    if found.calibration is not None and found.calibration.block_s is not None:
        return found.calibration.block_s
    asked = found.circumstances
    return START_OF_BLOCK_S + 2 * (asked.warmup_s + asked.cycles * asked.window_s)


def plan_lines(
    found: RecommendationAnswer, request: CompareRequest, margins: gate.Margins
) -> list[str]:
    """What will be measured, how long it takes, and what so many blocks can tell."""
    takes = duration(request.blocks * block_s(found))
    if len(request.inis) == 1:
        same = f"job {found.job} recommends the file that you have: it is only seen to run"
        return [f"{same}, {request.blocks} blocks, about {takes}"]
    lines = [f"{request.blocks} blocks of your own file and job {found.job}'s, about {takes}"]
    if found.calibration is None:
        return lines
    sd = found.calibration.block_sd
    resolved = gate.resolved_margin(sd, request.blocks)
    lines.append(f"a file that is just as good passes them with a margin of {share(resolved)}")
    if resolved > margins.effect:
        needed = gate.needed_blocks(sd, margins.effect, at_most=MOST_BLOCKS)
        advice = "no budget does" if needed is None else f"{duration(needed * block_s(found))} do"
        lines.append(f"too few for the {share(margins.effect)} asked for: {advice}")
    return lines


def judge(ended: JobAnswer, found: RecommendationAnswer, margins: gate.Margins) -> gate.Judged:
    """The answer of a measurement that has ended.

    Raises `Unavailable` where the host failed, `Conflict` where it was called off, and
    `InvalidInput` where there is no such image: none of these says anything about the file.
    """
    if ended.report is not None:
        return gate.judge(ended.report, found.circumstances, ended.metric, margins)
    error = ended.error
    if error is None:
        raise Conflict(f"job {ended.id} was {ended.state}")
    if error.code is FailureCode.IMAGE_MISSING:
        raise InvalidInput([Mistake("--image", error.message)])
    if error.code in (FailureCode.INFRASTRUCTURE, FailureCode.INTERNAL):
        raise Unavailable("the benchmark host", error.message)
    return gate.unmeasured(error, len(ended.files or ()))


def answer_lines(
    judged: gate.Judged, measured: JobAnswer, found: RecommendationAnswer
) -> Iterator[str]:
    """The answer, what it rests on, and the last words of a file that did not run."""
    yield f"{judged.outcome.replace('_', ' ')}: {judged.sentence}"
    if judged.effect is not None:
        yield f"{change(document_of(judged.effect))}, {judged.blocks} interleaved blocks"
    if found.effect is not None:
        yield f"when job {found.job} found it: {change(document_of(found.effect))}"
    for arm in measured.report.arms if measured.report is not None else ():
        if arm.error is not None:
            yield from (f"  | {line}" for line in arm.error.log_tail.splitlines())
        yield from (f"doubt: {arm.name}: {doubt.sentence}" for doubt in arm.doubts)


def answer_document(
    judged: gate.Judged,
    measured: JobAnswer,
    found: RecommendationAnswer,
    image: str,
    margins: gate.Margins,
) -> dict[str, Any]:
    """The same for machines; `comparison` is the job that has the rest."""
    return {
        "app": found.app,
        "image": image,
        "outcome": judged.outcome.value,
        "sentence": judged.sentence,
        "effect": None if judged.effect is None else document_of(judged.effect),
        "blocks": judged.blocks,
        "margins": {
            "effect": margins.effect,
            "latency_p95_ms": margins.p95,
            "error_rate": margins.errors,
        },
        "job": found.job,
        "comparison": measured.id,
    }
