"""`tuner workload`: a workload from what production does. Needs neither a service nor Docker."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from tuner.cli.shared import (
    STANDARD_INPUT,
    check_folder,
    explained,
    named,
    print_json,
    print_lines,
    say,
    text_of,
    write_text,
)
from tuner.nouns.errors import InvalidInput
from tuner.nouns.plain import thousands

if TYPE_CHECKING:
    from tuner.traffic.counting import Reading
    from tuner.traffic.formats import Format

workload = typer.Typer(
    help="Make a workload from what production does.", no_args_is_help=True, rich_markup_mode=None
)

_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@workload.callback()
def group() -> None:
    """Make a workload from what production does."""


@workload.command("from-logs")
def from_logs(  # long: Typer reads the options from here
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Access logs, plain or as gz, xz, zst; - is standard input. The format is seen.",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Write the YAML to this file.")] = None,
    ini: Annotated[
        str | None, typer.Option(metavar="FILE", help="The uwsgi.ini with the log-format.")
    ] = None,
    nginx: Annotated[
        str | None, typer.Option(metavar="FILE", help="nginx's file with the log_format.")
    ] = None,
    apache: Annotated[
        str | None, typer.Option(metavar="FILE", help="Apache's file with the LogFormat.")
    ] = None,
    unit: Annotated[
        Literal["us", "ms", "s"] | None,
        typer.Option(help="The unit of a bare number at the end: us for Apache's %D."),
    ] = None,
    rate: Annotated[
        Literal["median", "p95", "p99", "max"] | None,
        typer.Option(help="An open loop at this rate of the busiest hour; else a closed loop."),
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A template, as /shop/{name}/items. Repeatable."),
    ] = None,
    bots: Annotated[
        Literal["keep", "drop"], typer.Option(help="Whether bots and scanners count.")
    ] = "keep",
    source: Annotated[
        Literal["uwsgi", "proxy"] | None,
        typer.Option(help="Whose lines count, if a log has those of uWSGI and of a proxy."),
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(min=1, help="How many replicas wrote the logs.")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, max=40, help="Paths of each template, in their frequency.")
    ] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Make a workload from access logs, each line with its evidence in a comment.

    Nothing of a line is kept but its template, and paths whose values are public.
    """
    from tuner.traffic.counting import Reading
    from tuner.traffic.formats import known_formats
    from tuner.traffic.workload import traffic_of, yaml_of

    if out is not None:
        check_folder("--out", out)
    unit_s = None if unit is None else _UNITS_S[unit]
    formats = [*_own_formats(ini, nginx, apache), *known_formats(unit_s)]
    reading = Reading(formats, template or (), drops_bots=bots == "drop")
    for file in files:
        _read(reading, file)
    _say_unread(reading, unit)
    with explained(files[0] if len(files) == 1 else "FILE"):
        traffic = traffic_of(reading, source=source, replicas=replicas, samples=samples)
        if as_json:
            print_json(traffic.as_json())
            return
        text = yaml_of(traffic, [Path(file).name for file in files], rate)
    if out is None:
        print_lines(text.splitlines())
    else:
        write_text("--out", out, text)
        say(f"{out}: {thousands(traffic.requests)} requests, {len(traffic.templates)} templates")


def _own_formats(ini: str | None, nginx: str | None, apache: str | None) -> Iterator["Format"]:
    from tuner.traffic.own_formats import log_formats_of_apache, of_apache, of_nginx, of_uwsgi
    from tuner.uwsgi.ini import IniFile

    if ini is not None:
        found = IniFile.parse(text_of(ini))
        texts = [*found.values("log-format"), *found.values("logformat")]
        if not texts:
            raise InvalidInput.at("--ini", "has no log-format: leave it out for uWSGI's own line")
        with explained("--ini"):
            yield of_uwsgi(texts[-1])
    if nginx is not None:
        from tuner.cli.around import nginx_log_formats

        with explained("--nginx"):
            texts = nginx_log_formats(text_of(nginx))
            if not texts:
                raise ValueError("has no log_format: leave it out for nginx's own line")
            yield from map(of_nginx, texts)
    if apache is not None:
        with explained("--apache"):
            texts = log_formats_of_apache(text_of(apache))
            if not texts:
                raise ValueError("has no LogFormat: leave it out for Apache's own line")
            yield from map(of_apache, texts)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with named(file), Path(file).open("rb") as opened:
        yield opened


def _read(reading: "Reading", file: str) -> None:
    from tuner.traffic.lines import batches

    with _opened(file) as opened, explained(file):
        reading.feed(batches(opened))


def _say_unread(reading: "Reading", unit: str | None) -> None:
    if reading.unread:
        say(f"{thousands(reading.unread)} of {thousands(reading.lines)} lines are no requests, as:")
    for line in reading.shown:
        say(f"  {line}")
    if reading.formats["numbered"] and unit is None:
        say("the last number of a line has no unit: --unit us (Apache's %D), ms or s, or --ini")
