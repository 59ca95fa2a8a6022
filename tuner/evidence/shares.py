"""Logs of ratios, as the study keeps them, to the relative changes that people read."""

import math

from tuner.model import Metric

_LARGEST_LOG = 13.0
"""Beyond it, a factor of 400 000, an end of an interval says nothing but that there is none."""


def improvement(gain: float | None, metric: Metric) -> float | None:
    """By which share the metric is better, given a log ratio that is signed so that more is better.

    0.05 is 5 % more of what there should be more of, or 5 % less of what there should be less of.
    None where the log has no readable value: not known, or without bound.
    """
    if gain is None or not abs(gain) <= _LARGEST_LOG:
        return None
    return metric.sign * math.expm1(metric.sign * gain)


def bounded(share: float | None) -> float | None:
    """A relative change; None where it is not known or without bound."""
    return share if share is not None and abs(share) <= math.exp(_LARGEST_LOG) else None
