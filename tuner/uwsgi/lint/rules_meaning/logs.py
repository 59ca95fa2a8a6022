"""Logs: what is written, and where it ends."""

from collections.abc import Iterator

from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted
from tuner.uwsgi.lint.rules_meaning.certain import added, is_off, positive, settled, switched_on
from tuner.uwsgi.lint.subject import Subject

_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/", "/dev/null")


def _errors_too(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "disable-logging")
    if entry and is_off(subject, "log-5xx"):
        yield Hit(
            line=entry.number,
            message="disable-logging silences failed requests as well: nothing tells which request "
            "was answered with 500",
            fix=added(subject, "log-5xx = true"),
        )


def _grows(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "logto", "logto2")
    if entry is None or is_dynamic(entry.value) or entry.value.startswith(_STREAMS):
        return
    rotated = subject.named("touch-logreopen", "touch-logrotate", "log-reopen", "log-truncate")
    if rotated or positive(subject, "log-maxsize") or ":" in entry.value:
        return
    yield Hit(
        line=entry.number,
        message=f"{quoted(entry.value)} grows without end, and in a container it fills a layer "
        "that nobody looks at: `docker logs` stays empty",
        fix=Fix(sentence="leave it away in containers; else set log-maxsize"),
    )


RULES = (
    Rule(
        id="U120",
        name="errors-not-logged",
        severity=Severity.NOTE,
        why="disable-logging drops every line about requests. With log-4xx and log-5xx the ones "
        "that matter come back, at no cost for the others.",
        example=file_of("processes = 2", "disable-logging = true"),
        better=file_of(
            "processes = 2", "disable-logging = true", "log-4xx = true", "log-5xx = true"
        ),
        evidence="2.0.31: with both a request that fails is logged, one that succeeds is not.",
        look=_errors_too,
    ),
    Rule(
        id="U121",
        name="log-file-grows",
        severity=Severity.NOTE,
        why="uWSGI rotates nothing by itself. A container's log belongs on its standard error, "
        "where the engine keeps and rotates it.",
        example=file_of("processes = 2", "logto = /var/log/app.log"),
        better=file_of("processes = 2"),
        evidence="2.0.31: after `logto` nothing but one line reaches the standard error; "
        "log-maxsize is 0 by default.",
        look=_grows,
    ),
)
