"""The blocks of a comparison: all files in each, or as many as the memory of the host bears.

A **pass** is the fewest blocks in which every file runs with those that it is compared with. The
first file is in all of them. A job has as many passes as the request has blocks; while all files
fit together, a pass is one block. A ladder has as many passes of each rung: a **round** is one pass
of every rung.
"""

from collections.abc import Iterable, Mapping, Sequence

from tuner.judge import grids
from tuner.nouns.model import BASELINE, JobKind, JobSpec, Rung, TargetFacts, TrialNumber

Asked = tuple[grids.Arms, Rung | None]
"""The files of a block, and its rung."""

HOST_SHARE = 0.7
"""Largest share of the host's memory for the limits of all arms of one block together."""


def arms_at_once(spec: JobSpec) -> int:
    """Arms of the largest block that the job cannot do without."""
    if spec.kind is JobKind.COMPARE:
        return max(2, *(len({BASELINE, *group}) for group in grids.groups(spec)))
    return spec.budget.arms_at_once


def rounds(
    spec: JobSpec,
    facts: TargetFacts | None,
    working: Mapping[Rung | None, grids.Arms],
    complete: Sequence[Asked] = (),
) -> list[list[Asked]]:
    """The passes that are missing after the `complete` blocks, round by round.

    Each rung has its own files that are `working`; one without any has no passes.
    """
    left = {
        rung: passes(spec, facts, arms, [of_block for of_block, at in complete if at == rung])
        for rung, arms in working.items()
        if arms
    }
    return [
        [(arms, rung) for arms in missing[-turns]]
        for turns in range(spec.budget.compare_blocks, 0, -1)
        for rung, missing in left.items()
        if turns <= len(missing)
    ]


def passes(
    spec: JobSpec,
    facts: TargetFacts | None,
    working: grids.Arms,
    complete: Sequence[grids.Arms] = (),
) -> list[list[grids.Arms]]:
    """The passes of one rung that are missing after the `complete` blocks, of `working` files.

    From pass to pass another group comes first, so that the cuts between blocks move.
    """
    groups = [tuple(arm for arm in group if arm in working) for group in grids.groups(spec)]
    first = {BASELINE} & {*working}  # at a high rung it may have dropped out
    wanted = [group for group in groups if group] or [(BASELINE,)]
    done = {group: sum({*group} <= {*arms} for arms in complete) for group in wanted}
    found = []
    for turn in range(min(done.values()), spec.budget.compare_blocks):
        missing = [group for group, times in done.items() if times <= turn]
        at = turn % len(missing)
        found.append(_packed(spec, room_mb(facts), first, [*missing[at:], *missing[:at]]))
    return found


def room_mb(facts: TargetFacts | None) -> float:
    """Memory for the arms of one block; unlimited before the host is known."""
    return HOST_SHARE * facts.fingerprint.memory_mb if facts else float("inf")


def needs_mb(spec: JobSpec, arms: Iterable[TrialNumber]) -> int:
    """The memory limits of the arms of a block and of their services, in MB."""
    boxes, targets = spec.boxes, spec.targets
    return sum(boxes[arm].memory_mb + targets[arm].services_memory_mb for arm in arms)


def _packed(
    spec: JobSpec, room: float, first: Iterable[TrialNumber], groups: Sequence[grids.Arms]
) -> list[grids.Arms]:
    """Blocks that hold every group beside the first file; each has room for one group at least."""
    blocks: list[set[TrialNumber]] = []
    for group in groups:
        block = next((b for b in blocks if needs_mb(spec, {*b, *group}) <= room), None)
        if block is None:
            block = {*first}
            blocks.append(block)
        block.update(group)
    return [tuple(sorted(block)) for block in blocks]
