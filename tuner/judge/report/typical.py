"""The window that shows how an arm goes: at which load, and which of its windows."""

from collections.abc import Iterable, Sequence

from tuner.nouns.model import Measurement, OverTime, Rung, TrialNumber, TypicalWindow, Window


def highest(blocks: Sequence[Measurement], order: Iterable[Rung | None]) -> list[Measurement]:
    """Of the blocks with a series those of the last rung: the same load for every arm."""
    watched = [block for block in blocks if any(map(_is_watched, block.windows))]
    there = {block.block_options.rung for block in watched}
    last = next((rung for rung in reversed([*order]) if rung in there), None)
    return [block for block in watched if block.block_options.rung == last]


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
        rung=block.block_options.rung,
        block=block.sequence,
        index=window.index,
        over_time=window.over_time,
    )


def _is_watched(window: Window) -> bool:
    return not window.is_void and window.over_time != OverTime()
