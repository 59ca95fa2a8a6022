"""Who may talk to uWSGI, and as whom it runs."""

import re
from collections.abc import Iterator

from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, set_to
from tuner.uwsgi.lint.rules_meaning.addresses import address_of
from tuner.uwsgi.lint.rules_meaning.certain import added, always, is_absent, is_off, settled
from tuner.uwsgi.lint.rules_meaning.examples import app_on
from tuner.uwsgi.lint.subject import Entry, Subject

_WORKER_SOCKETS = ("socket", "http-socket", "http11-socket", "fastcgi-socket", "scgi-socket")
_ROOT = frozenset({"root", "0"})
_OPEN_TO_ALL = re.compile(r"[0-7][0-7][2367]")


def _open_uwsgi_socket(subject: Subject) -> Iterator[Hit]:
    if not is_absent(subject, "protocol"):
        return
    for entry in always(subject, "socket"):
        address = None if is_dynamic(entry.value) else address_of(entry.value)
        if address and address.is_any_host:
            yield Hit(
                line=entry.number,
                message=f"whoever reaches {quoted(entry.value)} may run code: a uwsgi request can "
                "name the Python file that answers it",
                fix=Fix(sentence="bind it to one address, or let only the proxy reach the port"),
            )


def _chmod_invalid(subject: Subject) -> Iterator[Hit]:
    for entry in always(subject, "chmod-socket"):
        mode = entry.value
        if is_dynamic(mode) or mode == "1" or re.fullmatch("[0-7]{3}", mode):
            continue
        four = re.fullmatch("0([0-7]{3})", mode)
        fix = Fix(sentence="write three octal digits, as in 660")
        if four:
            fix = set_to(entry, four[1], f"write {four[1]}", is_safe=True)
        yield Hit(
            line=entry.number,
            message=f"{entry.key} wants three octal digits: with "
            f"{quoted(mode) if mode else 'no value'} uWSGI will not start",
            fix=fix,
        )


def _chmod_open(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "chmod-socket")
    if entry and _OPEN_TO_ALL.fullmatch(entry.value) and _unix(subject):
        yield Hit(
            line=entry.number,
            message=f"{entry.key} {entry.value} lets every user of the machine talk to the socket, "
            "and a uwsgi request can name the Python file that answers it",
            fix=Fix(sentence="use 660 and a group that the proxy is in"),
        )


def _unix(subject: Subject) -> list[Entry]:
    found = []
    for entry in always(subject, *_WORKER_SOCKETS):
        address = None if is_dynamic(entry.value) else address_of(entry.value)
        if address and address.path:
            found.append(entry)
    return found


def _socket_stays(subject: Subject) -> Iterator[Hit]:
    sockets = _unix(subject)
    if sockets and is_off(subject, "vacuum") and is_off(subject, "abstract-socket"):
        yield Hit(
            line=sockets[0].number,
            message=f"{quoted(sockets[0].value)} stays behind when uWSGI ends: clients then find "
            "a socket that nobody answers",
            fix=added(subject, "vacuum = true"),
        )


def _stats_open(subject: Subject) -> Iterator[Hit]:
    for entry in always(subject, "stats"):
        address = None if is_dynamic(entry.value) else address_of(entry.value)
        if address and address.is_any_host:
            yield Hit(
                line=entry.number,
                message=f"{entry.key} on {quoted(entry.value)} tells everybody what is being "
                "asked: the headers of running requests are in it, cookies included",
                fix=set_to(
                    entry,
                    f"127.0.0.1:{address.port}",
                    f"bind it to 127.0.0.1:{address.port}",
                    is_safe=False,
                ),
            )


def _uid_alone(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "uid")
    if entry and entry.value not in _ROOT and is_absent(subject, "gid", "immediate-gid"):
        yield Hit(
            line=entry.number,
            message="without gid the workers keep the group of whoever starts uWSGI, mostly "
            "root's, and its other groups",
            fix=added(subject, f"gid = {entry.value}"),
        )


def _uid_root(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "uid")
    if entry and entry.value in _ROOT:
        yield Hit(
            line=entry.number,
            message=f"{entry.key} {entry.value} changes nothing: the app runs as root",
            fix=Fix(sentence="name a user that owns nothing but what the app writes"),
        )


RULES = (
    Rule(
        id="U056",
        name="open-uwsgi-socket",
        severity=Severity.NOTE,
        why="uWSGI trusts whoever speaks its protocol: the request says which file is loaded. An "
        "address without a host is open to all that can reach the machine.",
        example=app_on("socket = :3031"),
        better=app_on("socket = 127.0.0.1:3031"),
        evidence="2.0.31: a request with UWSGI_FILE and UWSGI_APPID was answered by the Python "
        "file that it named (plugins/python/pyloader.c).",
        look=_open_uwsgi_socket,
    ),
    Rule(
        id="U057",
        name="chmod-socket-invalid",
        severity=Severity.ERROR,
        why="chmod-socket takes exactly three octal digits. With `0660`, with words, and without "
        "a value uWSGI does not start.",
        example=app_on("socket = /run/app.sock", "chmod-socket = 0660", "vacuum = true"),
        better=app_on("socket = /run/app.sock", "chmod-socket = 660", "vacuum = true"),
        evidence="2.0.31: `invalid chmod value: 0660`, exit code 1 (core/uwsgi.c "
        "uwsgi_opt_chmod_socket). On the command it may go without a value; in a file it may not.",
        look=_chmod_invalid,
    ),
    Rule(
        id="U058",
        name="socket-for-everybody",
        severity=Severity.NOTE,
        why="A unix socket that everybody may write to is open to every process of the machine "
        "or pod, and who speaks uwsgi's protocol may run code.",
        example=app_on("socket = /run/app.sock", "chmod-socket = 666", "vacuum = true"),
        better=app_on("socket = /run/app.sock", "chmod-socket = 660", "vacuum = true"),
        evidence="As for open-uwsgi-socket; the mode is set as written (core/socket.c).",
        look=_chmod_open,
    ),
    Rule(
        id="U059",
        name="socket-stays",
        severity=Severity.NOTE,
        why="Without `vacuum` the file of a unix socket outlives uWSGI. A proxy then says "
        "`connection refused` for what is simply not there, and a check for the file succeeds.",
        example=app_on("socket = /run/app.sock", "chmod-socket = 660"),
        better=app_on("socket = /run/app.sock", "chmod-socket = 660", "vacuum = true"),
        evidence="2.0.31 ended by SIGINT: the file is there without `vacuum`, and gone with it.",
        look=_socket_stays,
    ),
    Rule(
        id="U062",
        name="stats-open",
        severity=Severity.WARNING,
        why="The stats server shows every running request with its headers, to whoever connects: "
        "session cookies and tokens among them.",
        example=file_of("processes = 2", "stats = :9191"),
        better=file_of("processes = 2", "stats = 127.0.0.1:9191"),
        evidence="2.0.31: `HTTP_COOKIE=session=abc` stood in cores[].vars while the request ran.",
        look=_stats_open,
    ),
    Rule(
        id="U063",
        name="uid-without-gid",
        severity=Severity.WARNING,
        why="`uid` alone leaves root's group to the workers, and all that it may write.",
        example=file_of("uid = www-data"),
        better=file_of("uid = www-data", "gid = www-data"),
        evidence="2.0.31 with `uid = nobody`: the app saw uid 65534, gid 0 and the groups [0] "
        "(core/utils.c uwsgi_as_root: setgid and initgroups only with gid).",
        look=_uid_alone,
    ),
    Rule(
        id="U064",
        name="uid-root",
        severity=Severity.NOTE,
        why="uWSGI drops its privileges to the user that `uid` names; to name root is to keep "
        "them.",
        example=file_of("uid = root", "gid = root"),
        better=file_of("uid = www-data", "gid = www-data"),
        evidence="core/utils.c uwsgi_as_root: with uid 0 there is no setuid.",
        look=_uid_root,
    ),
)
