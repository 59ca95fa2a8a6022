"""harakiri: how long a request may take before its worker is killed."""

from collections.abc import Iterator

from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of
from tuner.uwsgi.lint.rules_meaning.certain import added, is_absent, number, positive
from tuner.uwsgi.lint.subject import Entry, Subject


def _concurrent(subject: Subject) -> tuple[Entry | None, int | None]:
    gevent = positive(subject, "gevent")
    return gevent, None if gevent else number(subject, "threads", default=1)


def _with_threads(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "harakiri")
    gevent, threads = _concurrent(subject)
    if entry is None or not (gevent or (threads or 0) > 1):
        return
    message = "there is one deadline to a worker, not to a request: whichever request ends clears "
    message += "it, and one that hangs may hang on"
    if positive(subject, "post-buffering") and not gevent:
        message += "; with post-buffering 2.0.31 also kills workers whose requests are in time"
    yield Hit(
        line=entry.number,
        message=message,
        fix=Fix(sentence="set time limits in the app, for its database and its outgoing calls"),
    )


def _missing(subject: Subject) -> Iterator[Hit]:
    gevent, threads = _concurrent(subject)
    processes = subject.named("processes")
    if gevent or threads != 1 or not processes or not is_absent(subject, "harakiri"):
        return
    yield Hit(
        line=processes[-1].number,
        message="a request that never ends keeps its process for ever: without harakiri nothing "
        "stops it",
        fix=added(subject, "harakiri = 60"),
    )


def _slow_uploads(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "harakiri")
    gevent, threads = _concurrent(subject)
    direct = subject.named("http-socket") and not subject.named("http")
    if entry and not gevent and threads == 1 and direct and is_absent(subject, "post-buffering"):
        yield Hit(
            line=entry.number,
            message="a client that sends its body slowly uses up the time: the worker is killed "
            "for what the app has no part in",
            fix=added(subject, "post-buffering = 65536"),
        )


RULES = (
    Rule(
        id="U110",
        name="harakiri-with-threads",
        severity=Severity.WARNING,
        why="uWSGI keeps one deadline for a worker. With threads or gevent every request sets it "
        "anew and clears it, so that it guards nothing while there is traffic.",
        example=file_of("processes = 2", "threads = 4", "harakiri = 30"),
        better=file_of("processes = 4", "harakiri = 30"),
        evidence="2.0.31 with harakiri 1, two threads and a short request every 0.2 s: one of 5 s "
        "was answered, without a line of HARAKIRI; with one thread it was killed. Kills in time, "
        "with post-buffering: unbit/uwsgi issue 2706.",
        look=_with_threads,
    ),
    Rule(
        id="U111",
        name="no-harakiri",
        severity=Severity.NOTE,
        why="A process serves one request at a time. One that waits for ever for another service "
        "takes its process out, and as many of them as there are processes take the app out.",
        example=file_of("processes = 4"),
        better=file_of("processes = 4", "harakiri = 60", "post-buffering = 65536"),
        evidence="2.0.31: harakiri is 0 by default, which is none.",
        look=_missing,
    ),
    Rule(
        id="U112",
        name="harakiri-of-slow-uploads",
        severity=Severity.NOTE,
        why="The time counts from when the worker took the connection, and includes waiting for "
        "the client's body. post-buffering reads the body before the app is called.",
        example=file_of("processes = 4", "harakiri = 30"),
        better=file_of("processes = 4", "harakiri = 30", "post-buffering = 65536"),
        evidence="2.0.31 itself says so at its start: `you have enabled harakiri without post "
        "buffering. Slow upload could be rejected on post-unbuffered webservers`.",
        look=_slow_uploads,
    ),
)
