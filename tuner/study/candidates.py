"""The candidates: the trials that the search made, and what their closed blocks say."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

import numpy as np

from tuner.judge import analysis
from tuner.nouns.model import (
    BASELINE,
    Aim,
    Calibration,
    History,
    Measurement,
    MemoryLine,
    Origin,
    Params,
    Phase,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.study.advice import Observation

# ---- How uncertain a trial's score is, from what the calibration found out about the host

UNKNOWN_SD = 0.05
"""Standard deviation of a block's log ratio where there is no calibration."""

SMALLEST_SD = 0.002
"""A few A/A blocks that agree by chance must not make a host look perfect."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard deviations of log ratios on the host of a job."""

    calibration: Calibration | None

    def of_score(self, blocks: Sequence[Measurement]) -> float:
        """The noise of the mean over some blocks of (baseline, candidate).

        A block that was cut short has fewer windows, and so more noise, than a whole one.
        """
        variances = [self.of_block(_windows_of_an_arm(block)) ** 2 for block in blocks]
        if not variances:
            return self.of_block(None)
        return math.sqrt(sum(variances)) / len(variances)

    def of_block(self, windows: int | None) -> float:
        """The noise of a block with `windows` windows of each arm; None: as in the calibration."""
        found = self.calibration
        if found is None:
            return UNKNOWN_SD
        sd = analysis.block_sd(found, windows) if windows else found.block_sd
        return max(sd, SMALLEST_SD)

    @property
    def of_cycle(self) -> float | None:
        """The noise of one cycle within a block; None where unknown."""
        found = self.calibration
        if found is None or found.window_sd is None:
            return None
        return max(math.sqrt(2) * found.window_sd, SMALLEST_SD)


def _windows_of_an_arm(block: Measurement) -> int:
    arms = {window.arm for window in block.windows}
    return len(block.windows) // len(arms) if arms else 0


# ---- How much memory a configuration needs, learnt from the trials that have run

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


# ---- The candidates: the trials that the search made, their closed blocks, and what these say

MOST_BLOCKS_OF_A_TRIAL = 3
"""The search spends no more on one trial: to decide between good ones is the race's work."""

PATIENCE = 12
"""Trials without a new best, after which a proposal must promise a gain."""

IN_SEARCH = (Origin.BASELINE, Origin.EARLIER, Origin.HEURISTIC, Origin.SAMPLER)

_EVERY_AIM = 0.05  # weight of the sum, which decides where the largest parts are equal
_SAME = 0.02  # log ratio: the least scale on which gains of one metric are compared with another's

Gains = Mapping[str, float]
"""Log ratios to the baseline by metric, signed so that more is better."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the search has so far. `tried` leaves the baseline out, `blocks` open blocks."""

    baseline: Trial | None
    tried: tuple[Trial, ...]
    blocks: Mapping[TrialNumber, Sequence[Measurement]]
    waiting: frozenset[TrialNumber]

    @classmethod
    def of(cls, history: History) -> "Candidates":
        """The candidates of a job, in the order of their numbers."""
        closed: dict[TrialNumber, list[Measurement]] = defaultdict(list)
        blocks = history.blocks(Phase.SEARCH)
        for block in blocks:
            if not block.is_open:
                closed[block.arms[1]].append(block)
        made = [trial for trial in history.trials if trial.origin in IN_SEARCH]
        return cls(
            baseline=next((trial for trial in made if trial.number == BASELINE), None),
            tried=tuple(trial for trial in made if trial.number != BASELINE),
            blocks=closed,
            waiting=frozenset(block.arms[1] for block in blocks if block.is_open),
        )

    @property
    def scores(self) -> Mapping[TrialNumber, float]:
        """The scores of those that ran and kept every bound."""
        return {trial.number: score for trial, score in self._scored() if score is not None}

    def stagnate(self, least: float) -> bool:
        """Whether the best score has not risen by `least` for `PATIENCE` trials."""
        best, since = 0.0, 0
        for _, score in self._scored():
            if score is not None and score > best + least:
                best, since = score, 0
            else:
                since += 1
        return since >= PATIENCE

    def observations(self, noise: Noise, combined: Gains | None = None) -> list[Observation]:
        """What an optimiser may know of the search so far, the baseline first.

        `combined` are weights by metric: the scores are then one number made of all metrics.
        """
        scores = self._combined(combined) if combined else {}
        own = [] if self.baseline is None else [self.baseline]
        return [self._observation(trial, noise, scores) for trial in (*own, *self.tried)]

    def front(self, aims: Sequence[Aim]) -> list[tuple[TrialNumber, Gains]]:
        """The Pareto front of feasible trials and the baseline; empty where there is one metric.

        No other trial is better in one metric of the objective and at least as good in the rest.
        """
        if len(aims) == 1:
            return []
        names, scores = [aim.metric.value for aim in aims], self.scores
        gains: dict[TrialNumber, Gains] = {BASELINE: dict.fromkeys(names, 0.0)}
        for trial in self.tried:
            if trial.outcome is not None and trial.number in scores:
                gains[trial.number] = trial.outcome.gains
        complete = {n: own for n, own in gains.items() if own.keys() >= set(names)}
        return [
            (number, own)
            for number, own in complete.items()
            if not any(_dominates(other, own, names) for other in complete.values())
        ]

    def _scored(self) -> Iterator[tuple[Trial, float | None]]:
        for trial in self.tried:
            outcome = trial.outcome
            yield trial, outcome.score if outcome is not None and outcome.is_feasible else None

    def _observation(
        self, trial: Trial, noise: Noise, combined: Mapping[TrialNumber, float]
    ) -> Observation:
        outcome, blocks = trial.outcome, self.blocks.get(trial.number, ())
        score = outcome.score if outcome else None
        own = trial.number == BASELINE
        return Observation(
            number=trial.number,
            params=trial.params,
            score=combined.get(trial.number, score) if score is not None else None,
            feasible=outcome is None or outcome.is_feasible,
            told=trial.state is not TrialState.FAILED,
            sd=SMALLEST_SD if own else noise.of_score(blocks),
            may_repeat=not own
            and trial.number not in self.waiting
            and outcome is not None
            and outcome.state is TrialState.COMPLETE
            and len(blocks) < MOST_BLOCKS_OF_A_TRIAL,
        )

    def _combined(self, weights: Gains) -> dict[TrialNumber, float]:
        """One score per trial: the distance to the best of each metric (augmented Chebyshev).

        Each metric's gains are in units of their own spread: memory falls by a factor more easily
        than throughput rises by it.
        """
        known: dict[TrialNumber, Gains] = {BASELINE: dict.fromkeys(weights, 0.0)}
        for trial in self.tried:
            if trial.outcome is not None and weights.keys() <= trial.outcome.gains.keys():
                known[trial.number] = trial.outcome.gains
        best = {name: max(own[name] for own in known.values()) for name in weights}
        scale = {name: max(_SAME, pstdev(own[name] for own in known.values())) for name in weights}
        behind = {
            number: [weights[name] * (best[name] - own[name]) / scale[name] for name in weights]
            for number, own in known.items()
        }
        return {n: -(max(parts) + _EVERY_AIM * sum(parts)) for n, parts in behind.items()}


def _dominates(other: Gains, own: Gains, names: Sequence[str]) -> bool:
    pairs = [(other[name], own[name]) for name in names]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)
