"""What the rules on syntax say of uWSGI, seen on the real 2.0.31; and what an image says itself."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.uwsgi_lab import IMAGE, Lab
from tuner.nouns.errors import InvalidInput
from tuner.service import images
from tuner.service.settings import Settings
from tuner.uwsgi.lint import lint, subject_of
from tuner.uwsgi.options import of_build

pytestmark = [pytest.mark.full, pytest.mark.docker]

CHECK = ("--ini", "uwsgi.ini", "--show-config", "--no-server")
NO_MASTER = "running uWSGI without its master"
MISSING = "Can't find section"


def _file(*lines: str) -> str:
    return "\n".join(("[uwsgi]", *lines, ""))


@pytest.mark.parametrize(
    ("rule", "text", "message"),
    [
        ("U005", "\ufeff[uwsgi]\nmaster = true\n", MISSING),
        ("U006", "[uwsgi]\rmaster = true\r", MISSING),
        ("U008", "master = true\n", MISSING),
        ("U009", "[uwsgi] ; app\nmaster = true\n", MISSING),
        ("U010", "master = true\n[uwsgi]\nthreads = 2\n", NO_MASTER),
        ("U012", _file("ini = :none"), MISSING),
        ("U018", _file("Master = true"), NO_MASTER),
        ("U019", _file("mastr = true"), NO_MASTER),
        ("U023", _file("master: true"), NO_MASTER),
        ("U024", _file("master true"), NO_MASTER),
        ("U007", _file("\u00a0master = true"), NO_MASTER),
        ("U031", _file("harakiri = -1"), "must be > 0"),
        ("U040", _file("set-placeholder = threads=2"), "as a placeholder"),
        ("U040", _file("set = threads"), "invalid placeholder/--set value"),
        ("U017", _file("if-env = PATH", "if-env = PATH", "endif ="), "recursive logic"),
        ("U042", _file("; 50%", "master = true", "threads = 2"), NO_MASTER),
    ],
)
def test_uwsgi_does_what_a_rule_warns_of(uwsgi: Lab, rule: str, text: str, message: str) -> None:
    seen = uwsgi.play(text, args=CHECK, ready="never", seconds=5)
    assert message in seen.log
    assert rule in {finding.rule for finding in lint(subject_of(text, of_build("2.0.31", OPTIONS)))}


OPTIONS = (
    *("master", "threads", "harakiri", "ini", "set", "set-placeholder", "if-env", "endif"),
    *("disable-logging", "log-date", "listen", "buffer-size", "http-socket", "wsgi-file"),
)


@pytest.mark.parametrize(
    ("value", "is_on"),
    [
        *((word, False) for word in ("false", "False", "OFF", "No", "0")),
        *((word, True) for word in ("none", "disabled", "false ; c", '"false"', "", "00")),
    ],
)
def test_words_switch_an_option_on_or_off(uwsgi: Lab, value: str, is_on: bool) -> None:
    seen = uwsgi.play(_file(f"master = {value}"), args=CHECK, ready="never", seconds=5)
    assert (NO_MASTER not in seen.log) == is_on


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("U014", _file("ini = :uwsgi")),
        ("U015", _file("if-env = PATH", "threads = 2")),
    ],
)
def test_uwsgi_dies_of_a_segmentation_fault(uwsgi: Lab, rule: str, text: str) -> None:
    seen = uwsgi.play(text, args=CHECK, ready="never", seconds=5)
    assert seen.exit == -11 or "Segmentation Fault" in seen.log
    assert rule in {finding.rule for finding in lint(subject_of(text, of_build("2.0.31", OPTIONS)))}


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (("foo = 50%", "master = true"), "foo = 50master = true\n"),
        (("foo = 50% x%20",), "foo = 50x0\n"),
        (("foo = %(nope)x",), "foo = %(nope)x\n"),
        (("foo = %(nope 1 + 2)",), "foo = 3\n"),
        (("a = 1", "a = 2", "foo = %(a)"), "foo = 1\n"),
        (("threads: 2",), "threads: 2 = \n"),
    ],
)
def test_what_becomes_of_a_value(uwsgi: Lab, lines: tuple[str, ...], shown: str) -> None:
    assert shown in uwsgi.play(_file(*lines), args=CHECK, ready="never", seconds=5).log


SERVING = ("http-socket = :8000", "wsgi-file = app.py", "master = true")


@pytest.mark.parametrize(
    ("line", "is_answered"),
    [("buffer-size = 32k", False), ("buffer-size = 32768", True), ("buffer-size = 131072", True)],
)
def test_a_unit_is_dropped_from_a_number(uwsgi: Lab, line: str, is_answered: bool) -> None:
    seen = uwsgi.play(_file(*SERVING, line), probe="seen = get()[0]")
    assert (seen.seen == 200) == is_answered


def test_a_short_form_counts_on_the_command_line_alone(uwsgi: Lab) -> None:
    in_file = uwsgi.play(_file(*SERVING, "p = 3"))
    on_command = uwsgi.play(_file(*SERVING), args=("--ini", "uwsgi.ini", "-p", "3"))
    assert "MODE: single process" in in_file.log
    assert "MODE: preforking" in on_command.log


def test_a_variable_in_listen_is_not_put_in(uwsgi: Lab) -> None:
    probe = (
        "time.sleep(2.5)  # the master looks once a second\n"
        "sockets = json.loads(get(port=8001)[1])['sockets']\n"
        "seen = sockets[0]['max_queue'], sockets[0]['name']"
    )
    lines = (*SERVING, "stats = :8001", "stats-http = true", "backlog = 7")
    late = uwsgi.play(_file(*lines, "listen = %(backlog)"), probe=probe)
    plain = uwsgi.play(_file(*lines, "listen = 7"), probe=probe)
    assert (late.seen, plain.seen) == ([0, ":8000"], [7, ":8000"])


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings.from_environ({"TUNER_DATA_DIR": str(tmp_path_factory.mktemp("data"))})


@contextmanager
def _image(folder: Path, *lines: str) -> Iterator[str]:
    name = f"uwsgi-tuner/lint-test:{os.getpid()}"
    (folder / "Dockerfile").write_text("\n".join((f"FROM {IMAGE}", *lines, "")))
    subprocess.run(["docker", "build", "-q", "-t", name, str(folder)], check=True)
    try:
        yield name
    finally:
        subprocess.run(["docker", "rmi", name], check=True, capture_output=True)


def test_an_image_says_its_release_its_options_and_its_command(
    settings: Settings, tmp_path: Path
) -> None:
    command = 'CMD ["uwsgi", "--ini", "a.ini", "-p", "9"]'
    with _image(tmp_path, "ENV UWSGI_LISTEN=7", command) as name:
        facts = images.image_facts(settings, name)
    assert facts.uwsgi_version == "2.0.31"
    assert len(facts.options) > 800
    assert facts.command == ("uwsgi", "--ini", "a.ini", "-p", "9")
    assert facts.environ["UWSGI_LISTEN"] == "7"


def test_an_image_without_its_uwsgi_is_bad_input(settings: Settings, tmp_path: Path) -> None:
    with (
        _image(tmp_path, 'CMD ["uwsgi-of-old", "--ini", "a.ini"]') as name,
        pytest.raises(InvalidInput) as refused,
    ):
        images.image_facts(settings, name)
    assert "--image" in str(refused.value)
