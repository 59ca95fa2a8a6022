"""The trials of a search as what the browser draws, while they come."""

from collections.abc import Sequence
from typing import Any

from tuner.nouns import wording
from tuner.nouns.masking import masked
from tuner.nouns.model import Metric
from tuner.study import Scored


def plot_of(trials: Sequence[Scored], metric: Metric) -> dict[str, Any] | None:
    """Columns by trial, gains in percent; None before the first score.

    `gain` is of feasible trials, `broken` of those that miss a bound. `words` says of each what a
    reader wants to know who points at it.
    """
    if not any(each.low is not None for each in trials):
        return None
    columns: dict[str, list[Any]] = {
        name: [] for name in ("x", "gain", "broken", "low", "high", "best", "words")
    }
    best: float | None = None
    for each in trials:
        outcome = each.trial.outcome
        gain = _percent(outcome.score if outcome else None, metric)
        is_feasible = outcome is not None and outcome.is_feasible
        if gain is not None and is_feasible:
            best = gain if best is None else max(best, gain)
        ends = sorted(
            (_percent(each.low, metric), _percent(each.high, metric)),
            key=lambda end: (end is None, end or 0.0),
        )
        values = {
            "x": each.trial.number,
            "gain": gain if is_feasible else None,
            "broken": None if is_feasible else gain,
            "low": None if gain is None else ends[0],
            "high": None if gain is None else ends[1],
            "best": best,
            "words": _words(each, gain, metric),
        }
        for name, value in values.items():
            columns[name].append(value)
    return {"label": wording.gain_label(metric), **columns}


def _percent(log: float | None, metric: Metric) -> float | None:
    share = wording.improvement(log, metric)
    return None if share is None else round(100 * share, 2)


def _words(each: Scored, gain: float | None, metric: Metric) -> str:
    trial = each.trial
    outcome = trial.outcome
    if outcome is not None and outcome.failure is not None:
        said = f"{wording.STATES[trial.state]}: {outcome.failure.message}"
    elif gain is None:
        said = wording.STATES[trial.state]
    else:
        low, high = (wording.improvement(end, metric) for end in (each.low, each.high))
        bound = "" if outcome and outcome.is_feasible else ", breaks a bound"
        said = f"{wording.percent(gain / 100)} (95 % CI {wording.interval(low, high)}){bound}"
    return str(masked(f"trial {trial.number}: {said}; {wording.params(trial.params)}"))
