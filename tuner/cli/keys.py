"""`tuner keys`: the keys of the service, in its database."""

import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from tuner.cli.arguments import AsJson
from tuner.cli.database import age, open_store, operator
from tuner.cli.output import print_answer, say
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import Key, Scope

LONGEST_NAME = 60
_GLOB = re.compile(r"[a-z0-9._*?!\[\]-]{1,63}")  # of names of apps: `tuner.nouns.model.NAME`

keys = typer.Typer(
    help="Make, list and revoke the keys of the service. It runs where the service runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@keys.command()
def create(
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
    lasts: Annotated[
        timedelta | None,
        typer.Option(parser=age, metavar="AGE", help="It ends then, such as 90d [default: never]."),
    ] = None,
) -> None:
    """Make a key and print it: now or never, because only its hash is kept."""
    if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidInput.at("NAME", f"give 1 to {LONGEST_NAME} characters that can be printed")
    for glob in app or ():
        if not _GLOB.fullmatch(glob):
            rule = "names have a-z, 0-9, '.', '_' and '-'; globs also '*', '?' and '[...]'"
            raise InvalidInput.at("--app", f"{glob!r} fits no app: {rule}")
    secret = secrets.token_urlsafe(32)
    expires_at = datetime.now(UTC) + lasts if lasts is not None else None
    with open_store() as store:
        key = store.create_key(name, scope, secret, expires_at, by=operator("keys"), apps=app or ())
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
