"""Files that uWSGI serves itself."""

import posixpath
from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.certainty import always, is_absent, positive, settled, word
from tuner.uwsgi.lint.checks.patterns import advised
from tuner.uwsgi.lint.edits import added, quoted, removed
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Subject

_MAPS = ("static-map", "static-map2")
_SERVES_FILES = (*_MAPS, "check-static", "check-static-docroot", "fileserve-mode", "check-cache")


advised(
    "static-map-without-folder",
    always,
    *_MAPS,
    when=lambda _, entry: "=" not in entry.value and not entry.is_dynamic,
)


@check("static-without-offload")
def no_offload(subject: Subject) -> Iterator[Hit]:
    entries = [e for e in always(subject, *_MAPS, "check-static") if e.value]
    threads = settled(subject, "offload-threads")
    is_zero = threads and not threads.is_dynamic and as_int(threads.value) == 0
    if entries and (is_zero or is_absent(subject, "offload-threads")):
        yield hit(entries[0], added(subject, "offload-threads = 1"))


advised(
    "offload-without-files",
    positive,
    "offload-threads",
    when=lambda subject, _: is_absent(subject, *_SERVES_FILES),
    fix=removed,
)


@check("serves-its-source")
def serves_source(subject: Subject) -> Iterator[Hit]:
    home = word(subject, "chdir")
    homes = {"."} | ({posixpath.normpath(home.value)} if home else set())
    for entry in always(subject, *_MAPS, "check-static"):
        folder = entry.value.partition("=")[2] if entry.name in _MAPS else entry.value
        if folder and posixpath.normpath(folder) in homes:
            yield hit(entry, folder=quoted(folder))
