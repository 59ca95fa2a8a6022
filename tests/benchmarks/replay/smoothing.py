"""A rough record made as smooth as its own noise allows.

The mean of a few starts is off by its standard error, and the best of hundreds of such means is a
lucky one: a search would be held to peaks that are not there. So every configuration is drawn
towards a model in which the parameters add up (those of `TOGETHER` as one), by as much as the
distances from that model are noise:

    share kept = 1 - standard error² / variance about the model       (0 where noise explains all)

Where parameters really do interact, the distances are larger than noise and most of them is kept.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.benchmarks.replay.records import Landscape
from tests.benchmarks.replay.surface import Axis, FloatArray, Node, Point, Surface
from tuner.nouns.model import Params

TOGETHER = ("processes", "threads")
"""Parameters whose combinations all have an effect of their own in the model."""


def smoothed(surface: Surface) -> Surface:
    """The same record, each configuration but the user's own drawn towards the additive model.

    A record in which nothing was started twice is returned as it is: its noise is not known.
    """
    if math.isnan(surface.standard_error):
        return surface
    nodes = list(surface.points)
    levels = np.vstack([surface.points[node].logs for node in nodes])
    known = np.isfinite(levels).all(axis=0)
    design = _design(surface.axes, nodes)
    rank = int(np.linalg.matrix_rank(design))
    if rank >= len(nodes):
        return surface
    fitted, *_ = np.linalg.lstsq(design, levels[:, known], rcond=None)
    model = levels.copy()
    model[:, known] = design @ fitted
    spread = np.sum((levels - model) ** 2, axis=0) / (len(nodes) - rank)
    noise = np.nan_to_num(surface.standard_errors) ** 2
    kept = np.where(spread > noise, 1 - noise / np.where(spread > 0, spread, 1.0), 0.0)
    drawn = model + kept * (levels - model)
    users = tuple(axis.users for axis in surface.axes)
    points = {
        node: surface.points[node] if node == users else Point(row, surface.points[node].errors)
        for node, row in zip(nodes, drawn, strict=True)
    }
    used = rank / len(nodes)  # of the degrees of freedom
    errors = surface.standard_errors * np.sqrt(used + (1 - used) * kept)
    return replace(surface, points=points, standard_errors=np.asarray(errors, dtype=np.float64))


def optimism(landscape: Landscape) -> float | None:
    """By how much the record's best looks better than it is, as a log ratio of the throughput.

    The best of the odd rounds is looked up in the even ones, and the other way round. None where
    there is but one round.
    """
    halves = [_half(landscape, odd=odd) for odd in (False, True)]
    if any(half is None for half in halves):
        return None
    found = []
    for own, other in (halves, halves[::-1]):
        assert own is not None
        assert other is not None
        common = [node for node in own if node in other]
        best = max(common, key=lambda node: own[node])
        found.append(own[best] - other[best])
    return sum(found) / len(found)


def _half(landscape: Landscape, *, odd: bool) -> dict[Node, float] | None:
    """Log throughput relative to the user's file by configuration, from every other round."""
    starts = tuple(start for start in landscape.starts if start.round % 2 == odd)
    if not starts:
        return None
    surface = Surface.of(landscape.model_copy(update={"starts": starts}))
    whole = Surface.of(landscape).axes
    base = surface.points[tuple(axis.users for axis in surface.axes)].logs[0]
    return {
        _node(whole, surface.axes, node): float(point.logs[0] - base)
        for node, point in surface.points.items()
    }


def _node(whole: Sequence[Axis], axes: Sequence[Axis], node: Node) -> Node:
    """The place on the axes of the whole record, which may have more values than a half has."""
    params: Params = {axis.name: axis.values[index] for axis, index in zip(axes, node, strict=True)}
    return tuple(axis.values.index(params[axis.name]) for axis in whole)


def _design(axes: Sequence[Axis], nodes: Sequence[Node]) -> FloatArray:
    """One column for every combination on the axes of `TOGETHER`, and every value on the others."""
    joint = [place for place, axis in enumerate(axes) if axis.name in TOGETHER]
    others = [place for place in range(len(axes)) if place not in joint]
    keys = [
        {("joint", *(node[place] for place in joint)), *((place, node[place]) for place in others)}
        for node in nodes
    ]
    columns = sorted(set().union(*keys), key=str)
    return np.array([[float(column in own) for column in columns] for own in keys])
