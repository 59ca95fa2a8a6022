"""Files that uWSGI serves itself."""

import posixpath
from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, removed
from tuner.uwsgi.lint.rules_meaning.certain import (
    added,
    always,
    is_absent,
    positive,
    settled,
)
from tuner.uwsgi.lint.subject import Subject

_MAPS = ("static-map", "static-map2")
_SERVES_FILES = (*_MAPS, "check-static", "check-static-docroot", "fileserve-mode", "check-cache")


def _no_folder(subject: Subject) -> Iterator[Hit]:
    for entry in always(subject, *_MAPS):
        if "=" not in entry.value and not is_dynamic(entry.value):
            yield Hit(
                line=entry.number,
                message=f"{entry.key} {quoted(entry.value)} names no folder: uWSGI will not start",
                fix=Fix(sentence="say both, as in `static-map = /static=/app/static`"),
            )


def _no_offload(subject: Subject) -> Iterator[Hit]:
    entries = [e for e in always(subject, *_MAPS, "check-static") if e.value]
    threads = settled(subject, "offload-threads")
    none = is_absent(subject, "offload-threads") or (threads and as_int(threads.value) == 0)
    if entries and none and not (threads and is_dynamic(threads.value)):
        yield Hit(
            line=entries[0].number,
            message="a worker that sends a file waits for the client to take it: a slow client "
            "keeps it from all other requests",
            fix=added(subject, "offload-threads = 1"),
        )


def _nothing_to_offload(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "offload-threads")
    if entry and is_absent(subject, *_SERVES_FILES):
        yield Hit(
            line=entry.number,
            message=f"{entry.key} sends files in the worker's place, and this file serves none; "
            "what the app hands over by wsgi.file_wrapper is all that may be left",
            fix=removed([entry.number], "leave it away", is_safe=False),
        )


def _serves_source(subject: Subject) -> Iterator[Hit]:
    home = settled(subject, "chdir")
    homes = {"."} | ({_folder(home.value)} if home and not is_dynamic(home.value) else set())
    for entry in always(subject, *_MAPS, "check-static"):
        folder = entry.value.partition("=")[2] if entry.name in _MAPS else entry.value
        if folder and _folder(folder) in homes:
            yield Hit(
                line=entry.number,
                message=f"{entry.key} serves the app's own folder {quoted(folder)}: its source and "
                "settings are there for everybody",
                fix=Fix(sentence="serve a folder that holds nothing else but public files"),
            )


def _folder(path: str) -> str:
    return posixpath.normpath(path)


RULES = (
    Rule(
        id="U125",
        name="static-map-without-folder",
        severity=Severity.ERROR,
        why="static-map wants a path of URLs and a folder, with `=` between them. uWSGI does not "
        "start with less.",
        example=file_of("static-map = /static", "offload-threads = 1"),
        better=file_of("static-map = /static=/app/static", "offload-threads = 1"),
        evidence="2.0.31: `invalid document root in static map, syntax mountpoint=docroot`, exit "
        "code 1.",
        look=_no_folder,
    ),
    Rule(
        id="U126",
        name="static-without-offload",
        severity=Severity.WARNING,
        why="Without offload-threads the worker itself writes the file to the client, as fast as "
        "that one reads. As many slow downloads as there are workers, and the app stands still.",
        example=file_of("processes = 2", "static-map = /static=/app/static"),
        better=file_of("processes = 2", "static-map = /static=/app/static", "offload-threads = 1"),
        evidence="2.0.31 with one worker, and a client that stopped reading a file of 30 MB: the "
        "next request timed out; with `offload-threads = 1` it was answered at once.",
        look=_no_offload,
    ),
    Rule(
        id="U127",
        name="offload-without-files",
        severity=Severity.NOTE,
        why="Offload threads send files. Where uWSGI serves none they wait for ever, one or more "
        "in each worker.",
        example=file_of("processes = 2", "offload-threads = 2"),
        better=file_of("processes = 2"),
        evidence="core/offload.c; 2.0.31 starts them all the same: `spawned 2 offload threads for "
        "uWSGI worker 1`.",
        look=_nothing_to_offload,
    ),
    Rule(
        id="U128",
        name="serves-its-source",
        severity=Severity.WARNING,
        why="Every file below the folder is public under its own name. In the app's folder those "
        "are its modules, its settings and what else was deployed with it.",
        example=file_of("chdir = /app", "static-map = /=/app", "offload-threads = 1"),
        better=file_of("chdir = /app", "static-map = /static=/app/static", "offload-threads = 1"),
        evidence="2.0.31 with `static-map = /=.` and with `check-static = .`: GET /app.py answers "
        "200 with the module's source.",
        look=_serves_source,
    ),
)
