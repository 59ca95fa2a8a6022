"""Commands about the database: upgrade, prune, dump, restore."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.output import say
from tuner.cli.service import settings_and_log
from tuner.nouns import wording
from tuner.nouns.model import BYTES_PER_MB
from tuner.service.settings import Settings, age_of

if TYPE_CHECKING:
    from tuner.store.db import Store

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
        size_mb = store.size_mb()
    typer.echo(f"old windows and series removed: of {wording.count(thinned, 'job')}")
    typer.echo(f"deleted: {wording.count(deleted, 'job')}; the database has {size_mb:,.0f} MB")


@db.command()
def dump(file: Annotated[Path, typer.Argument(help="The file to write.")]) -> None:
    """Write the whole database to a file. The service may run meanwhile."""
    from tuner.service import bootstrap

    with database_running() as settings:
        bootstrap.dump(settings, file)
    typer.echo(f"{file}: {file.stat().st_size / BYTES_PER_MB:,.1f} MB")


@db.command()
def restore(file: Annotated[Path, typer.Argument(help="A file of `tuner db dump`.")]) -> None:
    """Fill a database without jobs from a dump. The service must not run."""
    from tuner.service import bootstrap

    with database_running() as settings:
        bootstrap.restore(settings, file)
    typer.echo(f"{file} is restored")


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
