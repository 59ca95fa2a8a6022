"""`tuner hosts`: the benchmark hosts, and whether they take work."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.database import open_store, operator
from tuner.cli.shared import AsJson, print_answer
from tuner.nouns.model import BenchmarkHost, is_live
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.store.db import Store

LOOKS_EVERY_S = 1.0

hosts = typer.Typer(
    help="List, drain and resume benchmark hosts. It runs where the service or a worker runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[
    str | None, typer.Argument(metavar="[HOST]", help="Its name [default: this machine's worker].")
]


@hosts.command("list")
def list_hosts(as_json: AsJson = False) -> None:
    """Print the hosts of all pools, and what each does."""
    with open_store() as store:
        found = store.hosts()
    lines = [_line(host) for host in found] or ["no worker has reported yet"]
    print_answer(found, lines, as_json=as_json)


@hosts.command()
def drain(
    name: Name = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return only when its last block has ended.")
    ] = False,
) -> None:
    """Have a host take no more work: then its worker may stop and loses no block.

    Its job goes on where another host of the pool is free, or else waits for one.
    """
    host = name or _own_name()
    with open_store() as store:
        store.drain(host, by=operator("hosts"))
        while wait and _is_busy(store, host):
            time.sleep(LOOKS_EVERY_S)
        typer.echo(_line(_host(store, host)))


@hosts.command()
def resume(name: Name = None) -> None:
    """Have a drained host take work again."""
    host = name or _own_name()
    with open_store() as store:
        store.resume(host, by=operator("hosts"))
        typer.echo(_line(_host(store, host)))


def _own_name() -> str:
    return Settings.from_environ(os.environ).worker_name


def _host(store: "Store", name: str) -> BenchmarkHost:
    return next(host for host in store.hosts() if host.name == name)


def _is_busy(store: "Store", name: str) -> bool:
    """Whether it lives and has a block."""
    host = _host(store, name)
    return host.job is not None and is_live(host, datetime.now(UTC))


def _line(host: BenchmarkHost) -> str:
    return f"{host.name} (pool {host.pool}): {', '.join(_states(host))}"


def _states(host: BenchmarkHost) -> Iterator[str]:
    lives = is_live(host, datetime.now(UTC))
    if not lives:
        yield f"gone, last seen {host.last_seen:%Y-%m-%d %H:%M} UTC"
    elif host.job is not None:
        yield f"measures job {host.job}"
    if host.drained_at is not None:
        yield f"drained since {host.drained_at:%Y-%m-%d %H:%M} UTC"
    if lives and host.problem is not None:
        yield host.problem
    elif lives and host.job is None and host.drained_at is None:
        yield "ready"
