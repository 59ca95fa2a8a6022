"""What we know of options beyond the C source, by subject; keys are canonical names."""

from collections.abc import Mapping

from tuner.uwsgi.options.notes import (
    files,
    lifecycle,
    logs,
    loops,
    python,
    routers,
    sockets,
    static,
    workers,
)
from tuner.uwsgi.options.notes.note import Note

_SUBJECTS = (workers, sockets, routers, loops, logs, static, python, lifecycle, files)

NOTES: Mapping[str, Note] = {
    name: note for subject in _SUBJECTS for name, note in subject.NOTES.items()
}

__all__ = ["NOTES", "Note"]
