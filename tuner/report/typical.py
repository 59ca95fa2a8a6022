"""The window that shows how an arm goes: at which load, and which of its windows."""

from collections.abc import Sequence

from tuner.model import Measurement, OverTime, TrialNumber, TypicalWindow, Window


def highest(blocks: Sequence[Measurement]) -> list[Measurement]:
    """Of the blocks with a series those of the highest rung: the same load for every arm."""
    watched = [block for block in blocks if any(map(_is_watched, block.windows))]
    top = max((block.block_options.concurrency or 0 for block in watched), default=0)
    return [block for block in watched if (block.block_options.concurrency or 0) == top]


def typical(blocks: Sequence[Measurement], number: TrialNumber) -> TypicalWindow | None:
    """The arm's window of median throughput, the lower one of two; None where it has none."""
    found = [
        (block, window)
        for block in blocks
        for window in block.windows_of(number)
        if _is_watched(window)
    ]
    if not found:
        return None
    found.sort(key=lambda each: each[1].throughput_rps)
    block, window = found[(len(found) - 1) // 2]
    return TypicalWindow(
        concurrency=block.block_options.concurrency,
        block=block.sequence,
        index=window.index,
        over_time=window.over_time,
    )


def _is_watched(window: Window) -> bool:
    return not window.is_void and window.over_time != OverTime()
