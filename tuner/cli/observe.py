"""`tuner observe`: a look at a uWSGI in production. It changes nothing; needs no Docker."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.shared import AsJson, explained, print_answer, say, text_of
from tuner.nouns import wording
from tuner.nouns.errors import Unavailable
from tuner.nouns.model import Bottleneck
from tuner.production.looking import Box, Look, Watcher
from tuner.production.observing import Observation, figures_of, is_all_busy, is_queue_full, observed

if TYPE_CHECKING:
    from rich.table import Table

_EVERY_S = 1.0
_SHOWN = 10  # looks that the live figures are of

TURN_ON = """\
uWSGI opens its stats server when it starts or reloads. To turn it on without a restart, add this
line to its file:
  stats = 127.0.0.1:9191
Then reload: send SIGHUP to the master, or `echo r` into its master-fifo. It keeps its listening
sockets, so new requests wait meanwhile. Needs `master`; a uWSGI without it must be restarted."""


def observe(
    address: Annotated[
        str,
        typer.Argument(
            metavar="URL|SOCKET",
            help="uWSGI's stats server: HOST:PORT, a path, @name, or http://HOST:PORT with"
            " stats-http.",
        ),
    ],
    minutes: Annotated[float, typer.Option(min=0.05, help="How long to look.")] = 10.0,
    pid: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The master as this host sees it, for one in a container: docker inspect -f"
            " '{{.State.Pid}}' NAME.",
        ),
    ] = None,
    ini: Annotated[
        str | None, typer.Option(metavar="FILE", help="Its file: the linter says what is wrong.")
    ] = None,
    prometheus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the figures here each second, for Prometheus."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look at a uWSGI in production and say what limits it. Nothing is changed.

    Reads uWSGI's stats, the listen queue, its cgroup and its processes once a second.
    """
    text = None if ini is None else text_of(ini)
    try:
        watcher = Watcher(address, pid)
    except Unavailable:
        say(TURN_ON)
        raise
    if watcher.pid is None:
        say("its processes are not on this machine, or in a container: CPU and memory need --pid")
    looks = _watched(watcher, minutes * 60, prometheus)
    with explained("--minutes"):
        found = observed(looks, watcher.box)
    findings = () if text is None else _linted(text, found.box)
    print_answer(found, [*lines_of(found), *findings], as_json=as_json)


def _watched(watcher: Watcher, seconds: float, prometheus: Path | None) -> list[Look]:
    """One look a second, until the time is over or Ctrl-C. One that fails is left out."""
    looks = [watcher.look()]
    ends = looks[0].at_s + seconds
    missed = 0
    with _screen() as show:
        try:
            while (now := time.monotonic()) < ends:
                time.sleep(_EVERY_S - (now - looks[0].at_s) % _EVERY_S)
                try:
                    looks.append(watcher.look())
                except Unavailable:
                    missed += 1
                    continue
                show(looks, watcher.box)
                if prometheus is not None:
                    _replace(prometheus, exposition(looks, watcher.box))
        except KeyboardInterrupt:
            say("stopped: the answer is of the time so far")
    if missed:
        say(f"uWSGI's stats did not answer {missed} times")
    return looks


# ---- While it lasts


@contextmanager
def _screen() -> Iterator[Callable[[list[Look], Box], None]]:
    """Shows the looks: a table in a terminal, else a line every ten seconds."""
    if not sys.stderr.isatty():
        yield _say_sometimes
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        yield lambda looks, box: live.update(_table(looks, box), refresh=True)


def _say_sometimes(looks: list[Look], box: Box) -> None:
    if len(looks) % _SHOWN == 0:
        say("; ".join(f"{name} {value}" for name, value in now(looks, box)))


def _table(looks: list[Look], box: Box) -> "Table":
    from rich.table import Table

    table = Table(title=f"{looks[-1].at_s - looks[0].at_s:.0f} s", show_header=False)
    for name, value in now(looks, box):
        table.add_row(name, value)
    return table


def now(looks: list[Look], box: Box) -> list[tuple[str, str]]:
    """The last seconds as name and value."""
    recent = looks[-_SHOWN:]
    first, last = recent[0], recent[-1]
    ended = last.activity.counters.requests - first.activity.counters.requests
    shown = [
        ("requests/s", f"{max(0, ended) / max(last.at_s - first.at_s, 0.001):.1f}"),
        ("busy slots", f"{len(last.activity.requests)} of {last.activity.slots}"),
    ]
    if last.queue is not None:
        shown.append(("listen queue", "{} of {}".format(*last.queue)))
    if len(recent) > 1:
        figures = figures_of(recent, box)
        names = ("target_cpu", "throttled", "memory", "busiest_process", "listen_overflows")
        shown += [wording.watched(name, figures[name]) for name in names if name in figures]
    return shown


# ---- The answer


def lines_of(found: Observation) -> list[str]:
    """The answer as text."""
    return [
        *_verdict(found),
        "",
        *(f"  {line}" for line in _figures(found)),
        "",
        *_proposals(found),
    ]


def _verdict(found: Observation) -> Iterator[str]:
    whole = f"{found.seconds:.0f} s"
    kind = found.diagnosis.bottleneck
    what = found.diagnosis.sentence
    if kind is Bottleneck.UNKNOWN:
        yield f"no limit was seen in {whole}: {what}"
        return
    yield f"limited by {kind.value} in {found.limited_s[kind]:.0f} of {whole}: {what}"
    others = {k: s for k, s in found.limited_s.items() if k not in (kind, Bottleneck.UNKNOWN)}
    if others:
        yield "also by " + ", ".join(f"{k.value} ({s:.0f} s)" for k, s in others.items())


def _figures(found: Observation) -> Iterator[str]:
    whole = f"{found.seconds:.0f} s"
    slots = f"processes x threads: {found.processes} x {found.threads}"
    time_of_one = "" if found.mean_ms is None else f", {wording.figure(found.mean_ms)} ms each"
    yield f"{wording.figure(found.rps)} requests/s{time_of_one}"
    yield f"all slots busy {found.all_busy_s:.0f} s of {whole} ({slots})"
    yield f"queue full {found.queue_full_s:.0f} s of {whole}"
    for name, value in found.diagnosis.evidence.items():
        if value:
            yield "{}: {}".format(*wording.watched(name, value))
    for request, share in found.requests.items():
        yield f"{wording.share(share, 0)} of the busy slots' time in {request}"
    if found.box.cpus is not None:
        memory = found.box.memory_mb
        and_memory = "no limit of memory" if memory is None else wording.memory(memory)
        yield f"may use {found.box.cpus:g} CPU, {and_memory}"


_TUNED = frozenset(
    {
        *(Bottleneck.IO_WAIT, Bottleneck.GIL, Bottleneck.BACKLOG, Bottleneck.ROUTER),
        *(Bottleneck.LOG_SINK, Bottleneck.LOCK_CONTENTION),
    }
)
"""What another uwsgi.ini may change."""


def _proposals(found: Observation) -> Iterator[str]:
    if found.diagnosis.bottleneck in _TUNED:
        yield "next: `tuner tune` finds the values and proves the gain"
    elif found.diagnosis.bottleneck is not Bottleneck.UNKNOWN:
        yield "next: see the sentence above; another uwsgi.ini changes little"


def _linted(text: str, box: Box) -> Iterator[str]:
    """What the linter says of the file in this box."""
    from tuner.uwsgi import lint
    from tuner.uwsgi.options import known

    memory_mb = None if box.memory_mb is None else round(box.memory_mb)
    where = lint.Box(cpus=box.cpus, memory_mb=memory_mb)
    for finding in lint.lint(lint.subject_of(text, known(), where)):
        if finding.severity.rank <= lint.Severity.WARNING.rank:
            yield f"line {finding.line or '-'}: {finding.rule} {finding.message}"


# ---- For Prometheus: its text form, of the last seconds


def exposition(looks: list[Look], box: Box) -> str:
    """Gauges and counters, each with its help and type."""
    last, counted = looks[-1].activity, looks[-1].activity.counters
    waiting, size = looks[-1].queue or (0, 0)
    metrics = [
        ("requests_total", "counter", "Requests since the start.", counted.requests),
        ("exceptions_total", "counter", "Exceptions that left the app.", last.exceptions),
        ("respawns_total", "counter", "Processes replaced.", counted.respawns),
        ("slots", "gauge", "Requests that can be handled at once.", last.slots),
        ("busy_slots", "gauge", "Requests under way.", len(last.requests)),
        ("listen_queue", "gauge", "Connections in the fullest listen queue.", waiting),
        ("listen_queue_size", "gauge", "Connections that fit into it.", size),
        ("all_busy", "gauge", "1: each slot has a request.", int(is_all_busy(looks[-1]))),
        ("listen_queue_full", "gauge", "1: no connection fits.", int(is_queue_full(looks[-1]))),
    ]
    lines = [line for metric in metrics for line in _metric(*metric)]
    recent = looks[-_SHOWN:]
    for name, value in (figures_of(recent, box) if len(recent) > 1 else {}).items():
        words, _ = wording.watched(name, value)
        lines += _metric(name, "gauge", f"Last {_SHOWN} s, shares 0..1: {words}.", value)
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, help_: str, value: float) -> list[str]:
    full = f"uwsgi_observed_{name}"
    return [f"# HELP {full} {help_}", f"# TYPE {full} {kind}", f"{full} {value}"]


def _replace(file: Path, text: str) -> None:
    """At once: a collector must not read half of it."""
    with explained("--prometheus"):
        part = file.with_name(f"{file.name}.part")
        part.write_text(text)
        os.replace(part, file)
