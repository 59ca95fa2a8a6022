"""What rules on meaning say of files that are not their examples, and where they keep silent."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.budgets import examples
from tests.lint_pages import example
from tuner.study.intake import DEFAULT_INI
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint import RULES, Box, Severity, Subject
from tuner.uwsgi.options import known

ROOT = Path(__file__).parents[3]
SHIPPED = sorted(ROOT.glob("target_apps/*/uwsgi.ini"))
UWSGI = ("uwsgi", "--ini", "uwsgi.ini")


def _subject(text: str, box: Box | None = None) -> Subject:
    return Subject(ini=IniFile.parse(text), catalogue=known(), box=box or Box())


def names(text: str, box: Box | None = None) -> dict[str, int | None]:
    """The rules that find something in a file, each with the line of its first finding."""
    subject = _subject(text, box)
    found = {rule.name: [f.line for f in rule.findings(subject)] for rule in RULES}
    return {name: lines[0] for name, lines in found.items() if lines}


def of(*lines: str) -> str:
    return "\n".join(("[uwsgi]", *lines, ""))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_the_files_that_are_shipped_have_no_error(path: Path) -> None:
    assert _errors(path.read_text()) == []


def test_the_file_that_a_job_without_one_starts_from_has_no_error() -> None:
    assert _errors(DEFAULT_INI.format(port=8000)) == []


def _errors(text: str) -> list[str]:
    subject = Subject(
        ini=IniFile.parse(text), catalogue=known(), box=Box(cpus=2, memory_mb=512, somaxconn=4096)
    )
    findings = [finding for rule in RULES for finding in rule.findings(subject)]
    return [f"{f.rule} {f.message}" for f in findings if f.severity is Severity.ERROR]


SPEAKS: Mapping[str, tuple[str, str, int | None]] = {
    "all CPUs of the host as threads": (
        "processes-of-the-host",
        of("http-socket = :80", "threads = %k"),
        3,
    ),
    "a home in the user's folder": ("tilde-in-path", of("virtualenv = ~shop/venv"), 2),
    "a variable with a blank": ("blank-in-env", of("env = NAME =value"), 2),
    "cheaper-initial alone": (
        "cheaper-initial-alone",
        of("processes = 400", "cheaper-initial = 4"),
        3,
    ),
    "a lifetime without a delta": (
        "lifetimes-end-together",
        of("processes = 24", "max-worker-lifetime = 300"),
        3,
    ),
    "a vassal without an app": ("no-app", of("master = true", "socket = /run/a.sock"), 3),
    "an emperor": ("emperor-of-others", of("emperor = /srv/vassals"), 2),
    "a name of one's own in strict mode": (
        "strict-refuses-placeholder",
        of("strict = true", "base = /srv", "chdir = %(base)/app"),
        3,
    ),
    "a number from the environment": ("variable-not-set", of("processes = $(WORKERS)"), 2),
    "workers is processes": ("no-workers", of("workers = 0"), 2),
    "the last of two counts": ("no-workers", of("processes = 4", "workers = auto"), 3),
    "no value at all": ("no-workers", of("processes ="), 2),
    "cheaper without processes": (
        "cheaper-not-below-processes",
        of("http-socket = :80", "cheaper = 1"),
        3,
    ),
    "an included section of one's own": (
        "no-workers",
        of("ini = :base") + "[base]\nprocesses = 0\n",
        4,
    ),
    "two http-sockets of one port": (
        "same-address-twice",
        of("http-socket = :8000", "http-socket = 0.0.0.0:8000"),
        3,
    ),
    "a router and a socket of one port": (
        "same-address-twice",
        of("http = 127.0.0.1:8000", "socket = 127.0.0.1:8000"),
        3,
    ),
    "one unix socket twice": ("same-address-twice", of("socket = /a", "stats = /a"), 3),
    "a socket that speaks HTTP behind the router": (
        "http-with-http-socket",
        of("http = :8000", "socket = 127.0.0.1:1", "protocol = http"),
        3,
    ),
    "static and no thread to send it": (
        "static-without-offload",
        of("static-map = /s=/s", "offload-threads = 0"),
        2,
    ),
    "the app's own folder by chdir": (
        "serves-its-source",
        of("chdir = /app/", "check-static = /app"),
        3,
    ),
    "a bound that is low for these threads": (
        "address-space-of-threads",
        of("threads = 16", "reload-on-as = 1000"),
        3,
    ),
    "a bound that leaves these threads little": (
        "address-space-of-threads",
        of("threads = 4", "reload-on-as = 512"),
        3,
    ),
    "a master that is switched off": ("no-master", of("http-socket = :80", "master = no"), 3),
    "a master that stats bring": ("reloads-on-sigterm", of("socket = /s", "stats = /t"), 1),
    "a lock that http11-socket switches off": (
        "thunder-lock-for-nothing",
        of("http11-socket = :80", "processes = 4", "thunder-lock = true"),
        4,
    ),
    "harakiri and gevent": ("harakiri-with-threads", of("gevent = 10", "harakiri = 9"), 3),
    "asyncio and threads": ("threads-with-gevent", of("asyncio = 10", "threads = 2"), 3),
    "a lock that gevent does not use": (
        "thunder-lock-for-nothing",
        of("gevent = 10", "processes = 4", "thunder-lock"),
        4,
    ),
}


@pytest.mark.parametrize("case", SPEAKS)
def test_it_is_found(case: str) -> None:
    name, text, line = SPEAKS[case]
    assert names(text).get(name) == line


SILENT: Mapping[str, tuple[str, str]] = {
    "a tilde in the middle": ("tilde-in-path", of("chdir = /srv/~app")),
    "a blank in the value of a variable": ("blank-in-env", of("env = A=b c = d")),
    "in a condition": ("no-workers", of("if-env = X", "processes = 0", "endif =")),
    "a number from the environment": ("no-workers", of("processes = $(WORKERS)")),
    "a number from another option": ("no-workers", of("n = 4", "processes = %(n)")),
    "set by `set`": ("no-master", of("http-socket = :80", "set = master=true")),
    "an option that brings a master": ("no-master", of("http-socket = :80", "stats = /s")),
    "a master in a condition": (
        "no-master",
        of("http-socket = :80", "if-env = X", "master = true", "endif ="),
    ),
    "a hook on SIGTERM": (
        "reloads-on-sigterm",
        of(
            "socket = /s",
            "master = 1",
            "hook-master-start = unix_signal:15 gracefully_kill_them_all",
        ),
    ),
    "an end on reload": (
        "reloads-on-sigterm",
        of("socket = /s", "master = 1", "exit-on-reload = 1"),
    ),
    "no master, no reload": ("reloads-on-sigterm", of("socket = /s")),
    "an emperor": ("no-need-app", of("emperor = /etc/vassals", "http = :80")),
    "a file that only sets something": ("no-need-app", of("processes = 4")),
    "a uwsgi socket first": (
        "http-with-http-socket",
        of("http = :80", "socket = :3031", "http-socket = :81"),
    ),
    "a router that is told where to": (
        "http-with-http-socket",
        of("http = :80", "http-socket = :81", "http-to = 127.0.0.1:3031"),
    ),
    "another machine": ("router-to-nowhere", of("http = :80", "http-to = app:3031")),
    "other ports": ("same-address-twice", of("http = :80", "socket = :81", "stats = :82")),
    "other hosts": ("same-address-twice", of("http = 127.0.0.1:80", "stats = 127.0.0.2:80")),
    "ports that the kernel chooses": ("same-address-twice", of("socket = :0", "stats = :0")),
    "a line that is there twice": ("same-address-twice", of("socket = :80", "socket = :80")),
    "a shared socket that is served": (
        "shared-socket-unused",
        of("shared-socket = :80", "http = =0"),
    ),
    "one process by chance": (
        "thunder-lock-for-nothing",
        of("processes = $(N)", "thunder-lock = true"),
    ),
    "a plugin that may bring it": (
        "unknown-cheaper-algorithm",
        of("plugins = cheaper_backlog2", "cheaper-algo = backlog2"),
    ),
    "async with an engine": ("async-without-engine", of("async = 10", "ugreen = true")),
    "the app's path kept on purpose": ("mount-without-script-name", of("mount = /=app")),
    "a log that is standard output": ("log-file-grows", of("logto = /dev/stdout")),
    "a bound that is high for these threads": (
        "address-space-of-threads",
        of("threads = 4", "reload-on-as = 1024"),
    ),
    "a folder of its own": (
        "serves-its-source",
        of("chdir = /app", "static-map = /s=/app/static"),
    ),
    "chmod by its three digits": ("chmod-socket-invalid", of("chmod-socket = 660")),
    "chmod by a variable": ("chmod-socket-invalid", of("chmod-socket = $(MODE)")),
}


@pytest.mark.parametrize("case", SILENT)
def test_it_keeps_silent(case: str) -> None:
    name, text = SILENT[case]
    assert name in {rule.name for rule in RULES}
    assert name not in names(text)


def test_an_option_of_the_environment_loses_to_the_file() -> None:
    found = names(of("processes = 2"), Box(environ={"UWSGI_WORKERS": "4"}))
    assert found.get("command-loses") == 2
    same = names(of("processes = 2"), Box(environ={"UWSGI_WORKERS": "2"}))
    assert "command-loses" not in same


def test_of_a_process_whose_memory_nobody_says_a_little_is_assumed() -> None:
    limit = Box(memory_mb=512)
    assert names(of("processes = 17"), limit).get("processes-above-memory") == 2
    assert "processes-above-memory" not in names(of("processes = 16"), limit)


@pytest.mark.parametrize(
    "command",
    [
        (*UWSGI, "--processes", "8"),
        (*UWSGI, "--processes=8"),
        (*UWSGI, "--workers", "8"),
        (*UWSGI, "--process", "8"),
        (*UWSGI, "-p", "8"),
        (*UWSGI, "-p8"),
        ("/opt/venv/bin/uwsgi", "--ini=uwsgi.ini", "--processes", "8"),
        ("uwsgi", "--ini", "uwsgi.ini:prod", "-p", "8"),
        ("/entrypoint.sh", *UWSGI, "--master", "--processes", "8"),
        ("/bin/sh", "-c", "migrate && exec uwsgi --ini uwsgi.ini --processes 8"),
    ],
)
def test_an_option_behind_the_file_wins(command: tuple[str, ...]) -> None:
    found = names(of("processes = 2"), Box(command=command))
    assert found.get("command-wins") == 2
    assert "command-loses" not in found


@pytest.mark.parametrize(
    "command",
    [
        UWSGI,
        ("uwsgi", "--processes", "8", "--ini", "uwsgi.ini"),
        ("uwsgi", "uwsgi.ini", "--processes", "8"),
        (*UWSGI, "--processes", "2"),
        (*UWSGI, "--http-socket", ":8001"),
        ("gunicorn", "--processes", "8"),
        ("sh", "-c", "echo 'never closed"),
        ("sh", "-c", "uwsgi --ini uwsgi.ini; other --processes 8"),
        (),
    ],
)
def test_a_command_that_does_not_override_is_no_finding(command: tuple[str, ...]) -> None:
    text = of("http-socket = :8000", "processes = 2")
    assert "command-wins" not in names(text, Box(command=command))


@pytest.mark.parametrize(
    "command",
    [("uwsgi", "-p", "8", "--ini", "uwsgi.ini"), ("uwsgi", "uwsgi.ini:prod", "--processes", "8")],
)
def test_an_option_that_is_read_before_the_file_loses(command: tuple[str, ...]) -> None:
    assert names(of("processes = 2"), Box(command=command)).get("command-loses") == 2


def test_what_the_command_sets_is_not_missing_from_the_file() -> None:
    command = (*UWSGI, "--master", "--need-app", "--die-on-term")
    found = names(of("http-socket = :8000"), Box(command=command))
    assert not {"no-master", "no-need-app", "reloads-on-sigterm"} & set(found)


def test_what_the_command_changes_is_not_judged_by_the_file() -> None:
    box = Box(somaxconn=128, command=(*UWSGI, "--listen", "100"))
    assert "listen-above-somaxconn" not in names(of("listen = 1024"), box)


@pytest.mark.parametrize(
    ("environ", "is_found"),
    [
        ({"UWSGI_THREADS": "4"}, True),
        ({"UWSGI_HTTP_SOCKET": ":8001"}, True),
        ({"UWSGI_PROCESSES": "8"}, False),  # the file says it, and wins
        ({"UWSGI_FOO": "1"}, False),
        ({"UWSGI_RELOADS": "1"}, False),
        ({"THREADS": "4"}, False),
    ],
)
def test_the_environment_is_told_where_it_sets_what_the_file_does_not(
    environ: dict[str, str], is_found: bool
) -> None:
    found = names(of("http-socket = :8000", "processes = 2"), Box(environ=environ))
    assert ("environment-sets-options" in found) is is_found


@pytest.mark.parametrize("command", [("uwsgi", "--http", ":80"), ("sh", "-c", "uwsgi --http :80")])
def test_a_command_that_reads_no_file_is_told(command: tuple[str, ...]) -> None:
    assert "command-without-file" in names(of("processes = 2"), Box(command=command))
    by_variable = Box(command=command, environ={"UWSGI_INI": "uwsgi.ini"})
    assert "command-without-file" not in names(of("processes = 2"), by_variable)


def test_listen_is_an_error_by_the_limit_that_is_given_and_a_note_without_one() -> None:
    rule = next(rule for rule in RULES if rule.name == "listen-above-somaxconn")

    def severities(somaxconn: int | None) -> list[Severity]:
        ini = IniFile.parse(of("listen = 1024"))
        subject = Subject(ini=ini, catalogue=known(), box=Box(somaxconn=somaxconn))
        return [finding.severity for finding in rule.findings(subject)]

    assert severities(128) == [Severity.ERROR]
    assert severities(1024) == []
    assert severities(None) == [Severity.NOTE]


WORDS = st.sampled_from(
    [
        *("uwsgi", "--ini", "--ini=a.ini", "a.ini", "a.ini:x", "-p", "-p4", "4", "--processes"),
        *("--process=", "--master", "-", "--", "--=", "", "sh", "-c", "uwsgi --ini a -p 'x", "&&"),
        *("--so-send-timeout", "--nothing", "value", "-\x00", "\udc80", "--set", "processes=4"),
    ]
)
VALUES = st.sampled_from(
    [
        *("", "0", "1", "-1", "+2", "9" * 5000, "true", "false", "auto", "%k", "%", "$(N)", ";"),
        *(":8000", "0.0.0.0:8000", ":" + "9" * 5000, "@a", "/a", "=0", "[::]:80", "a=b", "=", "."),
        *("660", "0660", "root", "backlog", "busyness", "Connection: keep-alive", "\udc80", "\x00"),
    ]
)
OPTIONS = sorted({entry.name for rule in RULES for entry in _subject(example(rule)).entries})


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(OPTIONS), VALUES), max_size=12),
    st.lists(WORDS, max_size=6),
    st.dictionaries(st.sampled_from(["UWSGI_", "UWSGI_PROCESSES", "UWSGI_A_B", "X"]), VALUES),
    st.sampled_from([None, 0.25, 64.0]),
)
def test_no_value_and_no_command_is_too_odd_to_be_looked_at(
    lines: list[tuple[str, str]], command: list[str], environ: dict[str, str], cpus: float | None
) -> None:
    box = Box(
        cpus=cpus,
        memory_mb=1,
        somaxconn=1,
        nofile=2**31,
        memory_per_process_mb=0.5,
        command=tuple(command),
        environ=environ,
    )
    text = of(*(f"{option} = {value}" for option, value in lines))
    for line in names(text, box).values():
        assert line is None or 1 <= line <= len(lines) + 1


OUTSIDE = Box(environ={"UWSGI_CHEAPER": "2", "UWSGI_PROCESSES": "16"})


@pytest.mark.parametrize(
    ("lines", "is_found"),
    [
        (("processes = 1",), True),
        (("processes = 2",), True),
        (("processes = 3",), False),
        (("processes = 1", "cheaper = 0"), False),
        ((), False),  # 16 of the environment
    ],
)
def test_cheaper_of_the_environment(lines: tuple[str, ...], is_found: bool) -> None:
    found = names(of("http-socket = :80", *lines), OUTSIDE)
    assert ("cheaper-not-below-processes" in found) is is_found
