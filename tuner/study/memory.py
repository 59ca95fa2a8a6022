"""How much memory a configuration needs, learnt from the trials that have run."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from tuner.nouns.model import History, MemoryLine, Params

FEWEST = 3
"""Configurations with different slots that a new line needs."""

Point = tuple[float, float, float]
"""Processes, threads, and megabytes used."""


def learnt(history: History) -> MemoryLine | None:
    """The line through what all trials used; with too few of them, the line of `prepare`."""
    facts = history.job.facts
    if facts is None:
        return None
    points = _points(history)
    if len({(processes, threads) for processes, threads, _ in points}) < FEWEST:
        return facts.memory
    return _fitted(points) or facts.memory


def _points(history: History) -> list[Point]:
    """One point for each trial that ran: the mean of the peaks of its windows."""
    used: dict[int, list[float]] = {}
    for measurement in history.measurements:
        for window in measurement.windows:
            if window.memory_mb is not None:
                used.setdefault(measurement.arms[window.arm], []).append(window.memory_mb)
    return [
        (*slots, fmean(used[trial.number]))
        for trial in history.trials
        if trial.number in used and (slots := _slots(trial.params)) is not None
    ]


def _slots(params: Params) -> tuple[float, float] | None:
    """Processes and threads; None if the space does not vary processes."""
    processes, threads = params.get("processes"), params.get("threads", 1)
    if isinstance(processes, str) or isinstance(threads, str) or processes is None:
        return None
    return float(processes), float(threads)


def _fitted(points: Sequence[Point]) -> MemoryLine | None:
    """Least squares of base + processes (per process + threads * per thread), no part below 0."""
    slots = np.array([[1.0, p, p * t] for p, t, _ in points])
    used = np.array([megabytes for _, _, megabytes in points])
    for columns in ([0, 1, 2], [0, 1]):
        if np.linalg.matrix_rank(slots[:, columns]) < len(columns):
            continue
        found = np.linalg.lstsq(slots[:, columns], used, rcond=None)[0]
        if (found[1:] >= 0).all():
            base, per_process, *per_thread = (float(value) for value in found)
            return MemoryLine(
                base_mb=max(0.0, base),
                per_process_mb=per_process,
                per_thread_mb=per_thread[0] if per_thread else 0.0,
            )
    return None
