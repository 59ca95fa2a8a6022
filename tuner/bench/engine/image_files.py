"""A text out of an image: of a container that was made from it and never starts."""

from pathlib import PurePosixPath
from tarfile import TarInfo

from tuner.bench.engine.connection import Connection
from tuner.nouns.errors import Infrastructure

MOST_BYTES = 200_000
"""As many characters may a uwsgi.ini in a request have."""
MOST_LINKS = 10
LINKS = "it is a chain of too many links"
REFUSED_PATHS = {"too many links": LINKS, "not a directory": "a part of its path is no folder"}
"""What the engine says of a path, and what we say. It follows some links itself."""


def text_at(connection: Connection, container: str, path: str) -> str:
    """The text at `path`; links are followed. Raises `ValueError` with what is there instead."""
    at = PurePosixPath(path)
    for _ in range(MOST_LINKS):
        entry, content = _entry(connection, container, str(at))
        if entry is None:
            its = "" if str(at) == path else f": it is a link to {at}"
            raise ValueError(f"there is no such file{its}")
        if not entry.issym():
            break
        at = at.parent / entry.linkname
    else:
        raise ValueError(LINKS)
    if not entry.isreg():
        raise ValueError("it is a folder" if entry.isdir() else "it is not a regular file")
    if entry.size > MOST_BYTES:
        raise ValueError(f"it has {entry.size} bytes; a uwsgi.ini may have {MOST_BYTES}")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _entry(connection: Connection, container: str, path: str) -> tuple[TarInfo | None, bytes]:
    try:
        return connection.entry(container, path)
    except Infrastructure as error:
        for words, why in REFUSED_PATHS.items():
            if words in str(error):
                raise ValueError(why) from None
        raise
