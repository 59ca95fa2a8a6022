"""Tables of all that was run: what the records are, what was shipped, said and spent."""

import math
from collections.abc import Iterable, Iterator, Mapping

from tests.benchmarks.replay import tables
from tests.benchmarks.replay.figures import Summary
from tests.benchmarks.replay.jobs import Case, Scene, landscape, truth_of
from tests.benchmarks.replay.smoothing import optimism
from tests.benchmarks.replay.tables import Grid


def records(apps: Iterable[tuple[str, bool]]) -> Grid:
    """What is known of the records themselves."""
    grid = Grid(
        "the records",
        ("app", "starts", "best", "of", "gains", "standard error", "looks better than it is by"),
    )
    for app, is_smoothed in apps:
        truth = truth_of(app, Scene.PLAIN, "standard", is_smoothed=is_smoothed)
        curse = optimism(landscape(app))
        grid.rows.append(
            (
                app,
                str(len(landscape(app).starts)),
                ", ".join(f"{name} {value}" for name, value in truth.best.items()),
                f"{len(truth.configurations)} configurations",
                tables.percent(math.expm1(truth.best_gain)),
                tables.percent(truth.standard_error),
                tables.NONE if curse is None else tables.percent(math.expm1(curse)),
            )
        )
    return grid


def groups(cases: Mapping[str, Case], summaries: Mapping[str, Summary]) -> Iterator[Grid]:
    """One table for each landscape, noise and budget: what was lost, and what was claimed."""
    places = dict.fromkeys((case.app, case.level, case.budget) for case in cases.values())
    for app, level, budget in places:
        place = (app, level, budget)
        mine = {g: c for g, c in cases.items() if (c.app, c.level, c.budget) == place}
        title = f"{app}, noise {100 * level:g} %, budget {budget}"
        lost = Grid(
            f"{title}: what was shipped",
            (
                "scene",
                "method",
                "jobs",
                "regret, median",
                "90th percentile",
                "not explored",
                "not selected",
                "within 2 %",
                "claims",
                "truly worse",
                "breaks a bound",
            ),
        )
        honest = Grid(
            f"{title}: what was said, and what it took",
            (
                "scene",
                "method",
                "95 % interval holds",
                "bias, points",
                "null lines kept",
                "real lines kept",
                "failed",
                "trials",
                "crashes",
                "minutes",
                "blocks",
                "CPU s",
            ),
        )
        for group, case in mine.items():
            name, seen = (case.scene.value, case.method.value), summaries[group]
            lost.rows.append((*name, *_lost(seen, resolution(case))))
            honest.rows.append((*name, *_said(seen)))
        yield lost
        yield honest


def resolution(case: Case) -> float:
    """The standard error of the truth: a regret below it cannot be told from none."""
    return truth_of(case.app, case.scene, case.budget, is_smoothed=case.is_smoothed).standard_error


def _lost(seen: Summary, resolution: float) -> tuple[str, ...]:
    return (
        str(seen.jobs),
        tables.loss(seen.regret, resolution),
        tables.loss(seen.regret_p90, resolution),
        tables.percent(seen.exploration),
        tables.percent(seen.selection),
        tables.share(seen.near),
        tables.share(seen.claims),
        tables.share(seen.worse),
        tables.share(seen.breaks),
    )


def _said(seen: Summary) -> tuple[str, ...]:
    return (
        tables.share(seen.coverage),
        tables.points(seen.bias),
        tables.share(seen.nulls_kept),
        tables.share(seen.reals_kept),
        str(seen.failed),
        f"{seen.trials:g}",
        f"{seen.crashes:.1f}",
        f"{seen.minutes:.0f}",
        tables.counts(list(seen.blocks.items())),
        f"{seen.cpu_s:.2f}",
    )
