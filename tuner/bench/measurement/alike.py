"""Whether the servers of a block answer alike: an error page is faster than the app."""

from collections.abc import Sequence

from tuner.bench.measurement.driving import arm_at_fault, services_running
from tuner.bench.measurement.host import (
    Answer,
    ArmSpec,
    LoadGenerator,
    RunningTarget,
    target_failed,
)
from tuner.nouns.model import FailureCode, Workload


def check_alike(
    load: LoadGenerator, started: Sequence[tuple[ArmSpec, RunningTarget]], workload: Workload
) -> None:
    """Compare the answers of other servers with those of the first arm.

    Raises `TargetFailed`, which names the arm, where status or length of a body differ. A length
    that differs between two answers of the first arm itself does not count.
    """
    (first, its), *others = started
    others = [each for each in others if each[0].target != first.target]
    if not others:
        return
    wanted, again = (_answers(load, first, its, workload) for _ in range(2))
    for arm, running in others:
        found = _answers(load, arm, running, workload)
        for request, own, want, other in zip(workload.requests, found, wanted, again, strict=False):
            is_fixed = want.length == other.length
            if own.answer != want.answer or (is_fixed and own.length != want.length):
                message = (
                    f"it answers {request.method} {request.path} with {_said(own)}, and the first"
                    f" arm with {_said(want)}: they do not serve the same"
                )
                with arm_at_fault(arm):
                    raise target_failed(FailureCode.WORKLOAD_REFUSED, message, running.log_tail())


def _answers(
    load: LoadGenerator, arm: ArmSpec, running: RunningTarget, workload: Workload
) -> Sequence[Answer]:
    with arm_at_fault(arm), services_running(running):
        return load.answers(running, arm.target, workload)


def _said(found: Answer) -> str:
    if isinstance(found.answer, str):
        return found.answer
    return f"{found.answer} and {found.length} bytes"
