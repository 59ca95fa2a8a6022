"""A text out of an image: of a container that was made from it and never starts."""

from pathlib import PurePosixPath

from tuner.engine.connection import Connection

MOST_BYTES = 200_000
"""As many characters may a uwsgi.ini in a request have."""
MOST_LINKS = 10


def text_at(connection: Connection, container: str, path: str) -> str:
    """The text at `path`; links are followed. Raises `ValueError` with what is there instead."""
    at = PurePosixPath(path)
    for _ in range(MOST_LINKS):
        entry, content = connection.entry(container, str(at))
        if entry is None:
            its = "" if str(at) == path else f": it is a link to {at}"
            raise ValueError(f"there is no such file{its}")
        if not entry.issym():
            break
        at = at.parent / entry.linkname
    else:
        raise ValueError(f"it is a chain of more than {MOST_LINKS} links")
    if not entry.isreg():
        raise ValueError("it is a folder" if entry.isdir() else "it is not a regular file")
    if entry.size > MOST_BYTES:
        raise ValueError(f"it has {entry.size} bytes; a uwsgi.ini may have {MOST_BYTES}")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
