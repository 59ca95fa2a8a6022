"""Workers that end and are replaced: by number of requests, by age, by a changed file."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, removed
from tuner.uwsgi.lint.rules_meaning.certain import (
    added,
    is_absent,
    number,
    positive,
    version_of,
)
from tuner.uwsgi.lint.subject import Subject

_HAS_DELTA = (2, 0, 21)
_LEAST_LIFETIME_S = 10
_FEW_REQUESTS = 100


def _all_at_once(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-requests")
    processes = number(subject, "processes", default=1)
    if entry is None or processes is None or processes < 2 or version_of(subject) < _HAS_DELTA:
        return
    if is_absent(subject, "max-requests-delta"):
        delta = max(1, as_int(entry.value) // 10)
        yield Hit(
            line=entry.number,
            message=f"all {processes} processes reach {as_int(entry.value)} requests at about the "
            "same time, and end together",
            fix=added(subject, f"max-requests-delta = {delta}"),
        )


def _too_short(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-worker-lifetime")
    least = number(subject, "min-worker-lifetime", default=_LEAST_LIFETIME_S)
    if entry is None or least is None or as_int(entry.value) > least:
        return
    yield Hit(
        line=entry.number,
        message=f"max-worker-lifetime {as_int(entry.value)} is not above min-worker-lifetime, "
        f"which is {least}: uWSGI will not start",
        fix=Fix(sentence="say the lifetime in seconds, as in 3600"),
    )


def _few_requests(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-requests")
    if entry and as_int(entry.value) < _FEW_REQUESTS:
        yield Hit(
            line=entry.number,
            message=f"a worker ends after {as_int(entry.value)} requests, which under load is as "
            f"soon as min-worker-lifetime lets it: every {_LEAST_LIFETIME_S} s by default",
            fix=Fix(sentence="use thousands, or leave it away"),
        )


def _watches_sources(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "py-autoreload")
    if entry:
        yield Hit(
            line=entry.number,
            message=f"{entry.key} looks at the file of every module, and reloads all workers when "
            "one changes: it is made for development",
            fix=removed([entry.number], "leave it away in production", is_safe=False),
        )


RULES = (
    Rule(
        id="U105",
        name="recycled-together",
        severity=Severity.NOTE,
        why="Requests are spread evenly, so workers that may serve the same number of them are "
        "replaced within the same moment, and for that moment nobody serves.",
        example=file_of("processes = 4", "max-requests = 5000"),
        better=file_of("processes = 4", "max-requests = 5000", "max-requests-delta = 500"),
        evidence="core/utils.c:1192 adds the delta once for each worker before this one; since "
        "2.0.21. unbit/uwsgi issue 648.",
        look=_all_at_once,
    ),
    Rule(
        id="U106",
        name="lifetime-too-short",
        severity=Severity.ERROR,
        why="uWSGI lets a worker live for min-worker-lifetime, 10 s by default, and does not start "
        "where max-worker-lifetime is not above that.",
        example=file_of("processes = 2", "max-worker-lifetime = 10"),
        better=file_of("processes = 2", "max-worker-lifetime = 3600"),
        evidence="2.0.31: `invalid min-worker-lifetime value (10), must be lower than "
        "max-worker-lifetime (10)`, exit code 1.",
        look=_too_short,
    ),
    Rule(
        id="U107",
        name="recycled-too-often",
        severity=Severity.WARNING,
        why="A new worker costs a fork, and with lazy-apps the whole import of the app. At some "
        "dozens of requests to a worker that is most of the work under load.",
        example=file_of("processes = 4", "max-requests = 10", "max-requests-delta = 5"),
        better=file_of("processes = 4", "max-requests = 5000", "max-requests-delta = 500"),
        evidence="core/utils.c:1192: a worker that has had its requests ends once it is 10 s old.",
        look=_few_requests,
    ),
    Rule(
        id="U108",
        name="autoreload-in-production",
        severity=Severity.WARNING,
        why="A deployment that writes files one by one is picked up in the middle, and every "
        "changed file is a reload with requests in flight.",
        example=file_of("processes = 2", "py-autoreload = 2"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `[uwsgi-python-reloader] module/file app.py has been modified`, then "
        "`...gracefully killing workers...`.",
        look=_watches_sources,
    ),
)
