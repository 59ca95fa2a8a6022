"""What to change in a target whose app does not work, from the failure and the app's last lines."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tuner.nouns.model import APP, Failure, FailureCode, Target
from tuner.nouns.model.hosts import LOOPBACK, hosts_of, is_outside

_MOST = 3
_HERE = LOOPBACK | {APP}

_UNRESOLVED = "Name or service not known|failure in name resolution|nodename nor servname"
_NO_SUCH_HOST = (
    "the app looks for the host {0}: no service has this name, and there is no way out of an arm's"
    " network"
)
_NO_WAY_OUT = rf"{_UNRESOLVED}|Network is unreachable|[Cc]onnection (?:refused|timed out)"
_OF_BUILD = (
    "image builds have a network of their own: if only the host's reaches the package index, set"
    " TUNER_BUILD_NETWORK=host for the worker"
)
_SIGNS = (
    (
        r"KeyError: '([A-Z][A-Z0-9_]+)'",
        "the app reads the variable {0}: give it in `env` or `env_file`",
    ),
    (
        r"(?:ImproperlyConfigured|UndefinedValueError)[^:]*: (.+)",
        'the app\'s settings say "{0}": set it in `env`',
    ),
    (
        r"Invalid HTTP_HOST header: '([^']+)'",
        "the app refuses the Host {0}: set `host_header` to a name of its ALLOWED_HOSTS",
    ),
    (r"(?:translate host name \"|server host ')([^\"']+)[\"']", _NO_SUCH_HOST),
    (rf"(?:host|to|on|resolve)[ =]'?([a-z][\w.-]*)(?:'|:\d)[^\n]*(?:{_UNRESOLVED})", _NO_SUCH_HOST),
    (
        _UNRESOLVED,
        "the app looks for a host that is no service: there is no way out of an arm's network",
    ),
    (
        r"[Nn]o such table|relation \"[^\"]+\" does not exist|doesn't exist",
        "a table is missing: give the migration as a step of `prepare`",
    ),
    (
        r"answers GET \S+ on port \d+ with (30[1278]) only",
        "the health path answers {0}: give the path that it leads to, or one that answers 200",
    ),
    (
        r"answers GET \S+ on port \d+ with (400) only",
        "the health path answers {0}, as Django does to a Host that is not in ALLOWED_HOSTS: set"
        " `host_header` to a name that is",
    ),
    (
        r"answers GET \S+ on port \d+ with (40[1-9]) only",
        "the health path answers {0}: give a `health_path` that answers 200, and a `host_header`",
    ),
    (
        r"service (\S+) was not healthy",
        "the test of {0} never ended well: correct its `healthcheck`, or what its last lines say."
        " If it only needs longer, give `--wait-s`; jobs wait 120 s",
    ),
    (
        r"nothing listens on port (\d+)",
        "the file makes uWSGI listen elsewhere than on {0}: correct `port`, or the file",
    ),
    (
        r"No module named '([\w.]+)'",
        "the app imports {0}, which the image lacks: look at `working_dir`, chdir and pythonpath",
    ),
    (
        r"[Pp]assword authentication failed for user \"([^\"]+)\"",
        "the service refuses the password of {0}: `env` of app and service must agree",
    ),
    (
        r"answers GET \S+ on port \d+ with (5[0-9][0-9]) only",
        "the app fails on its health path with {0}: if its database is empty, give the migration as"
        " a step of `prepare`; else let it log its errors",
    ),
)


def hints(failure: Failure, target: Target) -> list[str]:
    """Advice, the likeliest cause first; empty if nothing is recognised."""
    text = f"{failure.message}\n{failure.log_tail}"
    if failure.code is FailureCode.BUILD_FAILED and re.search(_NO_WAY_OUT, text):
        return [_OF_BUILD]
    found = [*_found(text)]
    if re.search(_UNRESOLVED, text) and (names := sorted(_hosts(target) - target.names)):
        found.append(f"`env` names hosts that are no services: {', '.join(names)}")
    return list(dict.fromkeys(found))[:_MOST]


_MOST_LINES = 12
_TRACEBACK = "Traceback (most recent call last)"
_IS_ERROR = re.compile(
    r"(?i)\berror\b|[a-z]Error\b|exception|critical|fatal|fail|refused|denied|unable|cannot|can't"
    r"|could not|no such|not found|no module|killed|segfault|unavailable|timed out"
)
_IS_DEBUG = re.compile(r"(?i)\b(debug|trace)\b")


def telling(log: str) -> tuple[list[str], int]:
    """The lines of a log that say why something failed, each once; and how many others it has.

    These are whole tracebacks and the lines of errors; the last lines where none looks like that.
    """
    lines = log.splitlines()
    marked = [*_errors(lines)] or range(len(lines))[-_MOST_LINES:]
    alike = Counter(_without_numbers(lines[n]) for n in marked)
    first = {_without_numbers(lines[n]): n for n in reversed(marked)}
    kept = sorted(first.values())[-_MOST_LINES:]
    times = {n: alike[_without_numbers(lines[n])] for n in kept}
    shown = [f"{lines[n]}  ({times[n]} times)" if times[n] > 1 else lines[n] for n in kept]
    return shown, len(lines) - sum(times.values())


def _errors(lines: Sequence[str]) -> Iterator[int]:
    """The places of tracebacks and errors. A traceback ends with its first line without indent."""
    in_traceback = False
    for n, line in enumerate(lines):
        begins = _TRACEBACK in line
        if begins or in_traceback or (_IS_ERROR.search(line) and not _IS_DEBUG.search(line)):
            yield n
        in_traceback = begins or (in_traceback and line.startswith(" "))


def _without_numbers(line: str) -> str:
    """Equal for lines that differ in times, process ids and addresses only."""
    return re.sub(r"0x[0-9a-f]+|\d+", "#", line)


def outside(target: Target, failure: Failure | None = None) -> tuple[str, ...]:
    """The hosts outside that an app looks up: a stub may stand in for each.

    They are those that it failed to resolve, and those in its `env`. A name without a dot is that
    of a service that is missing.
    """
    text = f"{failure.message}\n{failure.log_tail}" if failure is not None else ""
    failed = {
        host
        for sign, advice in _SIGNS
        if advice == _NO_SUCH_HOST
        for host in re.findall(sign, text)
    }
    is_about_names = failure is None or re.search(_UNRESOLVED, text) is not None
    found = failed | (_hosts(target) if is_about_names else set())
    named = {host.lower().rstrip(".") for host in found}
    return tuple(sorted(host for host in named - target.names if is_outside(host)))


def _hosts(target: Target) -> set[str]:
    """The hosts that the app's environment names."""
    return {named.host for named in hosts_of(target.env)} - _HERE


def _found(text: str) -> Iterator[str]:
    for sign, advice in _SIGNS:
        if found := re.search(sign, text):
            yield advice.format(*(group.strip()[:200] for group in found.groups()))
