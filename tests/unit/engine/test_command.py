"""The command of an arm, and the files it names."""

import io
import tarfile

import pytest

from tuner.bench.engine.commands import (
    CHECK,
    HARNESS,
    INI,
    PROBE,
    SERVE,
    archive,
    files_of,
    harness_ini,
    program,
    somaxconn_in,
    strictly,
    took_too_long,
    with_ini,
)
from tuner.uwsgi.ini import IniFile


@pytest.mark.parametrize(
    ("command", "started"),
    [
        (["uwsgi", "--ini", "{ini}"], ["uwsgi", "--ini", INI, "--ini", HARNESS]),
        (["uwsgi", "--ini={ini}", "--x"], ["uwsgi", f"--ini={INI}", "--ini", HARNESS, "--x"]),
        (["uwsgi", "{ini}"], ["uwsgi", INI, "--ini", HARNESS]),
        (
            ["sh", "-c", "exec uwsgi --ini {ini} --master"],
            ["sh", "-c", f"exec uwsgi --ini {INI} --ini {HARNESS} --master"],
        ),
    ],
)
def test_the_harness_follows_the_file(command: list[str], started: list[str]) -> None:
    assert with_ini(command, SERVE) == started


def test_a_check_loads_the_app_without_serving() -> None:
    words = with_ini(["uwsgi", "--ini", "{ini}"], CHECK)
    assert words == ["uwsgi", "--ini", INI, "--no-server", "--need-app", "--ini", PROBE]


def test_a_strict_reading_starts_the_commands_own_program_and_reads_the_file_alone() -> None:
    words = strictly(["sh", "-c", "exec /opt/bin/uwsgi --ini {ini} --processes 9"])
    assert words == ["/opt/bin/uwsgi", "--strict", "--ini", INI, "--exit=0"]


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("[uWSGI] getting INI\ntuner-somaxconn=4096\n\n*** Starting", 4096),
        ("tuner-somaxconn=128", 128),
        ("print = tuner-somaxconn=@(/proc/sys/net/core/somaxconn)\n", None),
        ("tuner-somaxconn=\n", None),
        ("", None),
    ],
)
def test_somaxconn_is_what_uwsgi_printed_on_a_line_of_its_own(log: str, found: int | None) -> None:
    assert somaxconn_in(log) == found


@pytest.mark.parametrize(
    ("command", "binary"),
    [
        (["uwsgi", "--ini", "{ini}"], "uwsgi"),
        (["/opt/venv/bin/uwsgi", "{ini}"], "/opt/venv/bin/uwsgi"),
        (["sh", "-c", "exec /usr/bin/uwsgi-core --ini {ini}"], "/usr/bin/uwsgi-core"),
        (["/start.sh", "{ini}"], "uwsgi"),
        (["/uwsgi-start.sh", "/etc/uwsgi.ini"], "uwsgi"),
        (["/start.sh", "uwsgi_python3", "/etc/uwsgi.ini"], "uwsgi_python3"),
        ([], "uwsgi"),
    ],
)
def test_the_binary_to_ask_is_the_one_that_is_started(command: list[str], binary: str) -> None:
    assert program(command) == binary


def test_files_can_be_read_by_any_user() -> None:
    packed = archive({INI: b"[uwsgi]\n", HARNESS: harness_ini("127.0.0.1:1717").encode()})
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        modes = {entry.name: entry.mode for entry in tar}
        harness = tar.extractfile("tuner/harness.ini")
        assert harness is not None
        text = harness.read().decode()
    assert modes == {"tuner": 0o755, "tuner/uwsgi.ini": 0o644, "tuner/harness.ini": 0o644}
    assert text.startswith("[uwsgi]\n")
    assert "\nstats = 127.0.0.1:1717\n" in text
    assert "\nneed-app = true\n" in text


def test_scripts_can_be_run_by_any_user() -> None:
    packed = archive({"/a/run": b"", "/a/read": b""}, executables=("/a/run",))
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        modes = {entry.name: entry.mode for entry in tar}
    assert modes == {"a/run": 0o755, "a/read": 0o644}


def test_what_uwsgi_runs_with_is_printed() -> None:
    assert "\nshow-config = true\n" in harness_ini("127.0.0.1:1717")


def test_folders_of_the_image_keep_their_modes_and_new_ones_are_open() -> None:
    files = {"/tmp/task.json": b"{}", "/tmp/flow/a/b.js": b"", "/tuner/probe/x.py": b""}
    with tarfile.open(fileobj=io.BytesIO(archive(files, owner=65534))) as tar:
        entries = {entry.name: entry for entry in tar}
    folders = {name for name, entry in entries.items() if entry.isdir()}
    assert folders == {"tmp/flow", "tmp/flow/a", "tuner", "tuner/probe"}
    assert {entry.uid for entry in entries.values()} == {65534}
    assert {entries[name].mode for name in folders} == {0o755}


HARNESS_TEXT = harness_ini("127.0.0.1:1717")


@pytest.mark.parametrize("serves", [True, False])
def test_in_a_file_of_the_image_our_lines_come_after_the_users(serves: bool) -> None:
    users = "[uwsgi]\nstats = :9\nneed-app = false\n[other]\nthreads = 2"
    files = files_of(users, "/etc/app.ini", HARNESS_TEXT, serves=serves)
    assert [*files] == ["/etc/app.ini"]
    read = IniFile.parse(files["/etc/app.ini"].decode())
    assert (read.get("need-app"), read.get("show-config")) == ("true", "true")
    assert read.get("stats") == ("127.0.0.1:1717" if serves else ":9")
    assert read.get("no-server") == (None if serves else "true")
    assert read.get("threads") is None


def test_without_such_a_path_the_command_names_our_files() -> None:
    files = files_of("[uwsgi]\n", None, HARNESS_TEXT, serves=True)
    assert [*files] == [INI, HARNESS, PROBE]
    assert files[INI] == b"[uwsgi]\n"


def test_a_check_that_does_not_end_names_the_file_that_uwsgi_may_not_read() -> None:
    assert took_too_long(None, 30) == "loading the app took over 30 s"
    assert took_too_long("/etc/app.ini", 30).endswith("and with /etc/app.ini")
