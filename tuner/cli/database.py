"""Commands of an operator: the database, its keys, and the benchmark hosts."""

import getpass
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.service import settings_and_log
from tuner.cli.shared import AsJson, print_answer, say
from tuner.nouns import wording
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import BYTES_PER_MB, Action, BenchmarkHost, Key, Scope, is_live
from tuner.service.settings import Settings, age_of

if TYPE_CHECKING:
    from tuner.store.db import Store


# ---- Commands about the database: upgrade, prune, dump, restore

db = typer.Typer(help="Manage the database.", no_args_is_help=True, rich_markup_mode=None)


def age(text: str) -> timedelta:
    """For options: `90d`."""
    try:
        return age_of(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; give days, such as 90d") from error


@db.command()
def upgrade(
    old_bin: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The programs of the older PostgreSQL [default: found or fetched].",
        ),
    ] = None,
) -> None:
    """Bring the database up to date: the tables, and the files of an older PostgreSQL.

    The service must not run while files are upgraded. The old files are kept.
    """
    from tuner.service import bootstrap

    settings = settings_and_log()
    bootstrap.upgrade_cluster(settings, old_bin, say)
    with _running(settings):
        bootstrap.upgrade(settings)
    for folder, size in bootstrap.kept_clusters(settings).items():
        mb = size / BYTES_PER_MB
        say(f"{folder} keeps the files before the upgrade, {mb:,.0f} MB; remove it when you like")
    typer.echo("the database is up to date")


@db.command()
def prune(
    older_than: Annotated[
        timedelta,
        typer.Option(parser=age, metavar="AGE", help="Of jobs that ended earlier, such as 90d."),
    ],
    jobs_older_than: Annotated[
        timedelta | None,
        typer.Option(parser=age, metavar="AGE", help="Delete older jobs as a whole: 730d."),
    ] = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Give the room to the disk. The service waits.")
    ] = False,
) -> None:
    """Remove the windows of old searches, and all time series of old jobs.

    Verdicts, evidence and files stay, unless whole jobs are deleted. The newest answer of an app
    always stays.
    """
    with open_store() as store:
        deleted = store.prune_jobs(jobs_older_than) if jobs_older_than else 0
        thinned = store.prune_windows(older_than)
        if compact:
            store.compact()
        ages = [f"windows of {older_than.days} days"]
        ages += [f"jobs of {jobs_older_than.days} days"] if jobs_older_than else []
        store.write_audit(operator("db"), Action.PRUNE, " and ".join(ages))
        size_mb = store.size_mb()
    typer.echo(f"old windows and series removed: of {wording.count(thinned, 'job')}")
    typer.echo(f"deleted: {wording.count(deleted, 'job')}; the database has {size_mb:,.0f} MB")


@db.command()
def dump(file: Annotated[Path, typer.Argument(help="The file to write.")]) -> None:
    """Write the whole database to a file. The service may run meanwhile."""
    from tuner.service import bootstrap

    with database_running() as settings:
        _note(settings, Action.DUMP, str(file))
        bootstrap.dump(settings, file)
    typer.echo(f"{file}: {file.stat().st_size / BYTES_PER_MB:,.1f} MB")


@db.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file of `tuner db dump`.")],
    trusted: Annotated[
        bool, typer.Option("--trusted", help="The dump is yours: restore it as a superuser too.")
    ] = False,
) -> None:
    """Fill a database without jobs from a dump. The service must not run."""
    from tuner.service import bootstrap

    with database_running() as settings:
        bootstrap.restore(settings, file, is_trusted=trusted)
        _note(settings, Action.RESTORE, str(file))
    typer.echo(f"{file} is restored")


@db.command()
def roles(
    prefix: Annotated[str, typer.Option(help="Their names begin with it.")] = "tuner",
) -> None:
    """Make roles for the API and for workers that cannot change the tables, and print their URLs.

    TUNER_DATABASE_URL names the owner of the tables. Run it again after an upgrade.
    """
    from tuner.service import bootstrap

    with database_running() as settings:
        bootstrap.upgrade(settings)
        made = bootstrap.make_roles(settings, prefix)
    for part, url in made.items():
        typer.echo(f"for the {part}: TUNER_DATABASE_URL={url}")
    if not made:
        say("both roles are there: their rights are up to date")


@db.command()
def audit(
    after: Annotated[int, typer.Option(min=0, help="Only entries with a later number.")] = 0,
) -> None:
    """Print who did what as JSON lines, the oldest first."""
    with open_store() as store:
        for entry in store.audit_since(after):
            typer.echo(entry.model_dump_json())


def _note(settings: Settings, action: Action, said: str) -> None:
    """Write into the audit of the database, if it has one."""
    from tuner.service import bootstrap

    store = bootstrap.store(settings)
    try:
        store.write_audit(operator("db"), action, said)
    finally:
        store.close()


@contextmanager
def database_running() -> Iterator[Settings]:
    """The settings, while PostgreSQL runs: the embedded one too."""
    settings = settings_and_log()
    with _running(settings):
        yield settings


@contextmanager
def _running(settings: Settings) -> Iterator[None]:
    from tuner.service import bootstrap

    database = bootstrap.embedded(settings)
    if database is not None:
        database.start()
    try:
        yield
    finally:
        if database is not None:
            database.stop()


@contextmanager
def open_store() -> Iterator["Store"]:
    """The store, while PostgreSQL runs."""
    from tuner.service import bootstrap

    with database_running() as settings:
        store = bootstrap.store(settings)
        try:
            yield store
        finally:
            store.close()


def operator(command: str) -> str:
    """Who changes something here, for the audit."""
    return f"{getpass.getuser()} (tuner {command})"


# ---- `tuner keys`: the keys of the service, in its database

LONGEST_NAME = 60
_GLOB = re.compile(r"[a-z0-9._*?!\[\]-]{1,63}")  # of names of apps: `tuner.nouns.model.NAME`

keys = typer.Typer(
    help="Make, list and revoke the keys of the service. It runs where the service runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@keys.command()
def create(  # long: Typer reads the options from here
    name: Annotated[str, typer.Argument(help="Who uses the key, such as a team.")],
    scope: Annotated[
        Scope, typer.Option(help="read; submit: also submit and cancel jobs; admin: also delete.")
    ] = Scope.SUBMIT,
    app: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="It may change only these apps. Repeatable [default: all]."
        ),
    ] = None,
    reads: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="It may read only these apps. Repeatable [default: all]."
        ),
    ] = None,
    lasts: Annotated[
        timedelta | None,
        typer.Option(parser=age, metavar="AGE", help="It ends then, such as 90d [default: never]."),
    ] = None,
) -> None:
    """Make a key and print it: now or never, because only its hash is kept."""
    if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidInput.at("NAME", f"give 1 to {LONGEST_NAME} characters that can be printed")
    for option, globs in {"--app": app, "--reads": reads}.items():
        for glob in globs or ():
            if not _GLOB.fullmatch(glob):
                rule = "names have a-z, 0-9, '.', '_' and '-'; globs also '*', '?' and '[...]'"
                raise InvalidInput.at(option, f"{glob!r} fits no app: {rule}")
    secret = secrets.token_urlsafe(32)
    expires_at = datetime.now(UTC) + lasts if lasts is not None else None
    with open_store() as store:
        key = store.create_key(
            name,
            scope,
            secret,
            expires_at,
            by=operator("keys"),
            apps=app or (),
            reads=reads or (),
        )
    say(_line(key))
    typer.echo(secret)


@keys.command("list")
def list_keys(as_json: AsJson = False) -> None:
    """Print all keys, without their secrets."""
    with open_store() as store:
        found = store.keys()
    lines = [_line(key) for key in found] or ["there are no keys but TUNER_API_KEY"]
    print_answer(found, lines, as_json=as_json)


@keys.command()
def revoke(number: Annotated[int, typer.Argument(min=1, help="The number of the key.")]) -> None:
    """Revoke a key: the next request with it, or with a session of it, is refused."""
    with open_store() as store:
        key = store.revoke_key(number, by=operator("keys"))
    typer.echo(f"key {key.id} of {key.name} is revoked")


def _line(key: Key) -> str:
    ends = "does not end"
    if key.expires_at is not None:
        over = key.expires_at <= datetime.now(UTC)
        ends = f"{'ended' if over else 'ends'} {key.expires_at:%Y-%m-%d %H:%M} UTC"
    return f"key {key.id}: {key.what}, made {key.created_at:%Y-%m-%d}, {ends}"


# ---- `tuner hosts`: the benchmark hosts, and whether they take work

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
    lines = [_host_line(host) for host in found] or ["no worker has reported yet"]
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
        typer.echo(_host_line(_host(store, host)))


@hosts.command()
def resume(name: Name = None) -> None:
    """Have a drained host take work again."""
    host = name or _own_name()
    with open_store() as store:
        store.resume(host, by=operator("hosts"))
        typer.echo(_host_line(_host(store, host)))


def _own_name() -> str:
    return Settings.from_environ(os.environ).worker_name


def _host(store: "Store", name: str) -> BenchmarkHost:
    return next(host for host in store.hosts() if host.name == name)


def _is_busy(store: "Store", name: str) -> bool:
    """Whether it lives and has a block."""
    host = _host(store, name)
    return host.job is not None and is_live(host, datetime.now(UTC))


def _host_line(host: BenchmarkHost) -> str:
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
