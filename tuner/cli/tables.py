"""Comparisons and calibrations as tables and lines of text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from tuner.cli.printing import bias_of
from tuner.cli.shared import print_on
from tuner.nouns.model import Curve, Effect, Figure, Metric, Rung, Workload
from tuner.nouns.schemas import ArmAnswer, CalibrationAnswer, JobAnswer, ReportAnswer, SeesAnswer
from tuner.nouns.wording import (
    CAPACITY_COLUMNS,
    COLUMNS,
    VERDICTS,
    capacity_cells,
    capacity_ratio,
    count,
    ends,
    errors,
    figure,
    interval,
    load,
    measured,
    percent,
    place,
    proxy_times,
    reality,
    request_of,
    rung,
    service,
    share,
    spread,
    statuses,
)

_OF_NUMBERS = frozenset(
    {"connections", "value", "figure", "effect", "95 % interval", "trimmed mean"}
    | {"sent", "failed", "over limit", "max, ms", *COLUMNS.values(), *CAPACITY_COLUMNS}
)
MOST_CHANGES = 12
"""Lines of a step that are shown."""

MOST_WHOLE = 4
"""Columns beside each other that are shown with their intervals."""

WIDTH = 110  # of output that is not a terminal


def show(parts: Iterable[RenderableType]) -> None:
    """Print on standard output."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    for part in parts:
        if isinstance(part, str):
            print_on(console, part)
        else:
            console.print(part, markup=False, highlight=False)


def comparison_parts(job: JobAnswer, report: ReportAnswer) -> Iterator[RenderableType]:
    """The figures of each file, effects, steps and curves, bottlenecks and doubts."""
    yield f"{job.app}: {load(job.workload)}, {count(report.blocks, 'block')}"
    if any(arm.capacity for arm in report.arms):
        yield from _capacities(report.arms)
    else:
        yield from _figures(report.arms)
    if report.curves:
        yield from _curves(report, job.metric)
    elif any(arm.effects for arm in report.arms):
        yield _effects(report.arms, job.metric)
    if any(arm.step for arm in report.arms) and not report.curves:
        yield _steps(report.arms, job.metric)
    if any(arm.by_request for arm in report.arms):
        yield _requests(report.arms, job.workload)
    for arm in report.arms:
        yield from (f"{arm.name}: {line}" for line in _arm_lines(arm, report.arms[0]))


def calibration_parts(job: JobAnswer, known: CalibrationAnswer) -> Iterator[RenderableType]:
    """Noise, bias and headroom of a host, and the effects that it can detect."""
    hosts = ", ".join(known.hosts) or "no host"
    yield f"{job.app} against itself on {hosts}: {count(known.blocks, 'block')}"
    table = _table("", "figure", has_header=False)
    for name, text in _calibration_rows(known):
        table.add_row(name, text)
    yield table
    yield from map(_sight, job.sees)
    yield from (f"doubt: {doubt.sentence}" for doubt in known.doubts)


def _calibration_rows(known: CalibrationAnswer) -> Iterator[tuple[str, str]]:
    yield "requests/s", f"{known.throughput_rps:.1f}"
    yield "noise of a block", share(known.block_sd)
    if known.start_sd is not None:
        yield "  from start to start", share(known.start_sd)
    if known.window_sd is not None:
        yield "  from window to window", share(known.window_sd)
    yield "bias", bias_of(known)
    if known.client_cpu is not None:
        yield "CPU of the load generator", share(known.client_cpu)
    if known.period_s is not None:
        yield "quietest alternation", f"{known.period_s:g} s"
    if known.block_s is not None:
        yield "one block", f"{known.block_s:.1f} s"


def _table(*columns: str, has_header: bool = True) -> Table:
    """An empty table; columns of numbers are aligned on the right."""
    table = Table(box=box.SIMPLE, show_header=has_header)
    for column in columns:
        table.add_column(column, justify="right" if column in _OF_NUMBERS else "left")
    return table


def _sight(sees: SeesAnswer) -> str:
    if sees.effect is None:
        return f"{sees.minutes:g} minutes are too short for a verdict"
    return f"smallest detectable effect in {sees.minutes:g} minutes: {share(sees.effect)}"


def _figures(arms: Sequence[ArmAnswer]) -> Iterator[Table]:
    """One row for each metric of each arm; of several rungs one table for each metric."""
    rungs = list(dict.fromkeys(rung.rung for arm in arms for rung in arm.rungs))
    if rungs:
        metrics = dict.fromkeys(found.metric for arm in arms for found in arm.figures)
        yield from (_over_rungs(arms, rungs, metric) for metric in metrics)
        return
    table = _table("file", "metric", "value", "95 % interval", "trimmed mean")
    for arm in arms:
        name = arm.name
        for found in arm.figures:
            metric, mean = found.metric, found.trimmed_mean
            trimmed = "" if mean is None else measured(mean, metric)
            values = (measured(found.value, metric), ends(found), trimmed)
            table.add_row(name, COLUMNS[metric], *values)
            name = ""
        table.add_section()
    yield table


def _over_rungs(arms: Sequence[ArmAnswer], rungs: Sequence[Rung], metric: Metric) -> Table:
    """One metric of each arm at each rung: the fewer of both as columns, intervals if they fit."""
    found = {
        (arm.name, figure.rung): figure
        for arm in arms
        for figure in arm.figures
        if figure.metric is metric
    }
    names = [arm.name for arm in arms]
    is_turned = len(rungs) > len(names)
    columns = names if is_turned else [rung(name) for name in rungs]
    table = _table()
    table.add_column(COLUMNS[metric])
    for column in columns:
        table.add_column(column, justify="right")
    cell = partial(_cell, is_whole=len(columns) <= MOST_WHOLE)
    for one in rungs if is_turned else ():
        table.add_row(rung(one), *(cell(found.get((name, one))) for name in names))
    for name in () if is_turned else names:
        table.add_row(name, *(cell(found.get((name, one))) for one in rungs))
    return table


def _cell(found: Figure | None, *, is_whole: bool) -> str:
    if found is None:
        return "-"
    value = measured(found.value, found.metric)
    return f"{value} ({ends(found)})" if is_whole else value


def _capacities(arms: Sequence[ArmAnswer]) -> Iterator[RenderableType]:
    """The sentence of each file, its curve, and what to know of it."""
    for arm, found in ((arm, arm.capacity) for arm in arms):
        if found is None:
            continue
        yield f"{arm.name}: {found.sentence}"
        if found.ratio is not None:
            yield f"{arm.name}: {capacity_ratio(found)} of {arms[0].name}"
        table = _table(*CAPACITY_COLUMNS, "")
        for point in found.points:
            table.add_row(*capacity_cells(point), "late" if point.is_late else "")
        yield table
        yield from (f"{arm.name}: {note}" for note in found.notes)


def _effects(arms: Sequence[ArmAnswer], metric: Metric) -> Table:
    """Each other file against the first one, in the same blocks."""
    table = _table(f"against {arms[0].name}", "metric", "effect", "95 % interval", "verdict")
    for arm in arms[1:]:
        verdict = VERDICTS[arm.verdict] if arm.verdict is not None else ""
        name = arm.name
        for effect in arm.effects:
            table.add_row(name, *_cells(effect, metric, verdict))
            name = ""
        table.add_section()
    return table


def _steps(arms: Sequence[ArmAnswer], metric: Metric) -> Table:
    """Each file against the one before it, with the lines that it changes."""
    table = _table("step", "metric", "effect", "95 % interval", "against the one before")
    for arm, step in [(arm, arm.step) for arm in arms if arm.step is not None]:
        lines = [arm.name, *(f"  {line}" for line in step.changes[:MOST_CHANGES])]
        lines += ["  ..."] * (len(step.changes) > MOST_CHANGES)
        rows = [_cells(effect, metric, reality(step)) for effect in step.effects]
        for line, row in zip_longest(lines, rows or [("", "", "", reality(step))]):
            table.add_row(line or "", *(row or ()))
        table.add_section()
    return table


def _curves(report: ReportAnswer, metric: Metric) -> Iterator[RenderableType]:
    """Each curve, and where it stops rising."""
    arms = {arm.name: arm for arm in report.arms}
    for curve in report.curves:
        yield _curve(curve, arms, metric)
        yield f"{place(curve)}{': ' if curve.at else ''}{curve.sentence}"


def _curve(curve: Curve, arms: Mapping[str, ArmAnswer], metric: Metric) -> Table:
    """A row for each level. The figures of a ladder's rungs are in the table of all figures."""
    columns = (COLUMNS[metric], "95 % interval", "effect", "95 % interval")
    table = _table(curve.over, *columns, "against the one below")
    table.title, table.title_justify = place(curve) or None, "left"
    for level, name in zip(curve.levels, curve.arms, strict=True):
        arm = arms[name]
        found = [f for f in arm.figures if f.metric is metric and f.rung is None]
        value = (measured(found[0].value, metric), ends(found[0])) if found else ("", "")
        effects = arm.step.effects if arm.step is not None else ()
        rows = [_cells(e, metric, reality(arm.step))[1:] for e in effects if e.metric is metric]
        table.add_row(f"{level:g}", *value, *(rows[0] if rows else ("", "", reality(arm.step))))
    return table


def _cells(effect: Effect, main: Metric, verdict: str) -> tuple[str, str, str, str]:
    """The metric, its effect, the interval, and the verdict of the main metric."""
    bounds = interval(effect.ci_low, effect.ci_high)
    judged = verdict if effect.metric is main else ""
    return COLUMNS[effect.metric], percent(effect.estimate), bounds, judged


def _requests(arms: Sequence[ArmAnswer], workload: Workload) -> Table:
    """One row for each request of each file."""
    has_limit = any(found.over_limit is not None for arm in arms for found in arm.by_request)
    late = ["over limit"] * has_limit
    table = _table("file", "request", "sent", "failed", *late, "p50, ms", "p95, ms", "max, ms")
    for arm in arms:
        name = arm.name
        for found in arm.by_request:
            counts = [found.sent, found.failed] + [found.over_limit] * has_limit
            times = (found.p50_ms, found.p95_ms, found.max_ms)
            numbers = ("" if number is None else figure(number) for number in (*counts, *times))
            table.add_row(name, request_of(workload, found.request), *numbers)
            name = ""
        table.add_section()
    return table


def _arm_lines(arm: ArmAnswer, first: ArmAnswer) -> Iterator[str]:
    yield from _failure_lines(arm)
    if arm.errors_by_class:
        yield f"errors: {errors(arm.errors_by_class)}"
    for one in arm.rungs:
        if one.errors_by_class:
            yield f"errors at {rung(one.rung)}: {errors(one.errors_by_class)}"
    if arm.over_limit is not None:
        yield f"{share(arm.over_limit)} of all requests not answered within the limit"
    if arm.connect is not None:
        yield f"connect times of the client, p50, p95, max in ms: {spread(arm.connect, ', ')}"
    if arm.proxy is not None:
        yield f"nginx answered: {statuses(arm.proxy.by_status)}"
        for what, times in proxy_times(arm.proxy).items():
            yield f"nginx, {what}, p50, p95, max in ms: {spread(times, ', ')}"
    if arm.windows:
        yield f"bottleneck: {arm.diagnosis.sentence}"
    compared = {} if arm is first else first.services
    for name, used in arm.services.items():
        yield f"service {name}: {service(used, compared.get(name))}"
    yield from (f"doubt: {doubt.sentence}" for doubt in arm.doubts)


def _failure_lines(arm: ArmAnswer) -> Iterator[str]:
    """Why it was not measured to the end; of a ladder, from which rung on."""
    if arm.failure is not None and not arm.rungs:
        yield f"not measured to the end: {arm.failure.code}: {arm.failure.message}"
    for one in arm.rungs:
        if one.failure is not None:
            is_path = isinstance(one.rung, str)
            here = f"at {one.rung}" if is_path else f"from {rung(one.rung)} on"
            yield f"not measured {here}: {one.failure.code}: {one.failure.message}"
