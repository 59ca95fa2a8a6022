"""Names behind `%(...)`: which ones a file uses, and which ones it sets."""

import re

from tuner.uwsgi.lint.subject import Subject

REFERENCE = re.compile(r"%\(([^()]*)\)")
PLACEHOLDERS = frozenset({"set-placeholder", "set-ph"})
SETS = PLACEHOLDERS | {"set"}
_CONDITIONS = frozenset({"if-opt", "if-not-opt"})


def referenced(subject: Subject) -> frozenset[str]:
    """Every name that a `%(...)` or a condition of the file uses, in any section."""
    found: set[str] = set()
    for line in subject.ini.lines:
        if line.key is None:
            continue
        if line.key in _CONDITIONS:
            found.add(line.value.partition("=")[0])
        if "%(" in line.value:
            for inner in REFERENCE.findall(line.value):
                found.update((inner, *inner.split(" ")))
    return frozenset(found)


def assigned(subject: Subject) -> frozenset[str]:
    """Every name that the file sets, directly or by `set`."""
    found = {entry.key for entry in subject.entries}
    for entry in subject.entries:
        if entry.key in SETS or entry.key == "resolve":
            found.add(entry.value.partition("=")[0])
    return frozenset(found)


def includes_others(subject: Subject) -> bool:
    """Whether uWSGI reads another file too, which may use and set the same names."""
    steps = subject.ini.read.steps
    return any(step.is_foreign or step.line.key == "inherit" for step in steps)
