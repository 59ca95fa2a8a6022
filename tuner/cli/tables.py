"""Measurements and calibrations as tables and sentences for people; from the API's JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from tuner.cli.printing import certainty, of_log, share
from tuner.model import Doubt
from tuner.wording import percent

Json = Mapping[str, Any]

_NAMES = {
    "throughput_rps": "requests/s",
    "latency_p50_ms": "p50, ms",
    "latency_p95_ms": "p95, ms",
    "latency_p99_ms": "p99, ms",
    "memory_mb": "memory, MB",
}
WIDTH = 110  # where output goes to no terminal


def show(*parts: RenderableType) -> None:
    """Print on standard output."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    for part in parts:
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))


def measurement_parts(found: Json) -> Iterator[RenderableType]:
    """A measurement that is done: figures, effects, and what speaks for and against them."""
    report = found["report"]
    yield f"{found['app']}: {_load(found['workload'])}, {report['blocks']} blocks"
    yield _figures(report["arms"])
    if any(arm["effects"] for arm in report["arms"]):
        yield _effects(report["arms"], found["metric"])
    for arm in report["arms"]:
        yield from (f"{arm['name']}: {line}" for line in _arm_lines(arm))


def calibration_parts(found: Json) -> Iterator[RenderableType]:
    """What a calibration says of its hosts: noise, bias, headroom, what they can see."""
    known = found["calibration"]
    hosts = ", ".join(known["hosts"]) or "no host"
    yield f"{found['app']} against itself on {hosts}: {known['blocks']} blocks"
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, text in _calibration_rows(known):
        table.add_row(name, text)
    yield table
    for sight in found["sees"]:
        yield f"in {sight['minutes']:g} minutes {_sight(sight['effect'])}"
    yield from (f"doubt: {Doubt(doubt).sentence}" for doubt in known["doubts"])


def _calibration_rows(known: Json) -> Iterator[tuple[str, str]]:
    yield "requests/s", f"{known['throughput_rps']:.1f}"
    yield "noise of a block", share(known["block_sd"])
    for name, field in (("from start to start", "start_sd"), ("window to window", "window_sd")):
        if known[field] is not None:
            yield f"  {name}", share(known[field])
    yield "bias", f"{of_log(known['bias'])} ({certainty(known)})"
    if known["client_cpu"] is not None:
        yield "load generator's CPU in use", share(known["client_cpu"])
    if known["period_s"] is not None:
        yield "quietest alternation", f"{known['period_s']:g} s"
    if known["block_s"] is not None:
        yield "one block takes", f"{known['block_s']:.1f} s"


def _sight(effect: float | None) -> str:
    if effect is None:
        return "there is no verdict: too few blocks fit"
    return f"this host can see {share(effect)} or more"


def _load(workload: Json) -> str:
    match workload["kind"]:
        case "ladder":
            return f"ladder of {', '.join(map(str, workload['concurrencies']))} connections"
        case "open_loop":
            return f"{workload['rate_rps']:g} requests/s"
        case "burst":
            return f"{workload['users']} users at once"
        case "journey":
            return f"{workload['users']} users on their journeys"
        case _:
            return f"{workload['concurrency']} connections"


def _figures(arms: list[Json]) -> Table:
    """A row a metric, file by file."""
    has_rungs = any(f["concurrency"] is not None for s in arms for f in s["figures"])
    table = Table(box=box.SIMPLE)
    table.add_column("file")
    if has_rungs:
        table.add_column("connections", justify="right")
    for heading in ("metric", "value", "95 % interval"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    for arm in arms:
        name = arm["name"]
        for figure in arm["figures"]:
            rung = [_number(figure["concurrency"])] if has_rungs else []
            metric = _NAMES.get(figure["metric"], figure["metric"])
            table.add_row(name, *rung, metric, _value(figure["value"]), _interval(figure))
            name = ""
        table.add_section()
    return table


def _effects(arms: list[Json], metric: str) -> Table:
    """Every other file against the first, in the same blocks."""
    table = Table(box=box.SIMPLE)
    table.add_column(f"against {arms[0]['name']}")
    table.add_column("metric")
    table.add_column("effect", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("verdict")
    for arm in arms[1:]:
        name = arm["name"]
        for effect in arm["effects"]:
            low, high = percent(effect["ci_low"]), percent(effect["ci_high"])
            verdict = (arm["verdict"] or "").replace("_", " ") if effect["metric"] == metric else ""
            label = _NAMES.get(effect["metric"], effect["metric"])
            table.add_row(name, label, percent(effect["estimate"]), f"{low} .. {high}", verdict)
            name = ""
        table.add_section()
    return table


def _arm_lines(arm: Json) -> Iterator[str]:
    error = arm["error"]
    if error is not None:
        yield f"not measured to the end: {error['code']}: {error['message']}"
    if arm["errors_by_class"]:
        counts = ", ".join(f"{n} {name}" for name, n in arm["errors_by_class"].items())
        yield f"errors: {counts}"
    if arm["over_limit"] is not None:
        yield f"{share(arm['over_limit'])} of all requests not answered within the limit"
    for where, spread in (("client", arm["connect"]), ("nginx", arm["proxy_connect"])):
        if spread is not None:
            times = ", ".join(_value(spread[name]) for name in ("p50_ms", "p95_ms", "max_ms"))
            yield f"connects of the {where}, p50, p95, max in ms: {times}"
    if arm["windows"]:
        yield f"bottleneck: {arm['diagnosis']['sentence']}"
    yield from (f"doubt: {doubt['sentence']}" for doubt in arm["doubts"])


def _interval(figure: Json) -> str:
    if figure["ci_low"] is None and figure["ci_high"] is None:
        return "too few blocks"
    return f"{_value(figure['ci_low'])} .. {_value(figure['ci_high'])}"


def _value(value: float | None) -> str:
    """As many digits as say something: 161.4, 3.25, 12 500."""
    if value is None:
        return "?"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace(",", " ")


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
