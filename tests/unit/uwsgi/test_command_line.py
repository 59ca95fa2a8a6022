"""A command line as a file, and a file as a command line."""

import pytest

from tuner.nouns.errors import InvalidInput
from tuner.uwsgi.command_line import command_of, ini_of, with_options
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

PUBLISHED = "uwsgi --http :9808 --wsgi-file app.py --processes 4 --threads 2 --disable-logging"


def lines(command: str) -> list[str]:
    first, *found = ini_of(command, known()).splitlines()
    assert first == "[uwsgi]"
    return found


def test_a_published_command_becomes_a_file_and_comes_back() -> None:
    assert lines(PUBLISHED) == [
        "http = :9808",
        "wsgi-file = app.py",
        "processes = 4",
        "threads = 2",
        "disable-logging = true",
    ]
    assert command_of(IniFile.parse(ini_of(PUBLISHED, known())), known()) == PUBLISHED


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("uwsgi -Mp4 -w shop:app", ["master = true", "processes = 4", "module = shop:app"]),
        ("uwsgi -p 4 --workers=5", ["processes = 4", "workers = 5"]),
        ("uwsgi --http-keepalive --http-timeout 9", ["http-keepalive = 1", "http-timeout = 9"]),
        ("uwsgi --thunder", ["thunder-lock = true"]),
        ("uwsgi --env 'A=b c' --listen $BACKLOG", ["env = A=b c", "listen = $(BACKLOG)"]),
        ("/usr/bin/uwsgi app.py:application", ["wsgi-file = app.py", "callable = application"]),
        ("sh -c 'sleep 1; exec uwsgi --master; true'", ["master = true"]),
        ("uwsgi --http :${PORT}", ["http = :$(PORT)"]),
    ],
)
def test_the_words_are_read_as_getopt_reads_them(command: str, found: list[str]) -> None:
    assert lines(command) == found


@pytest.mark.parametrize(
    ("command", "mistakes"),
    [
        ("gunicorn app", ["it does not start uwsgi"]),
        ("uwsgi 'app", ["it does not start uwsgi"]),
        ("uwsgi --proceses 4", ["uWSGI has no option --proceses: is it --processes?"]),
        ("uwsgi --master=true -Z", ["--master takes no value on a command line", "no option -Z"]),
        ("uwsgi --processes", ["--processes needs a value of one line"]),
        ("uwsgi --ini app.ini", ["--ini"]),
        ("uwsgi app.ini", ["`app.ini` is no option: the command must have all options itself"]),
    ],
)
def test_every_mistake_is_named(command: str, mistakes: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        ini_of(command, known())
    found = [mistake.message for mistake in refused.value.mistakes]
    assert len(found) == len(mistakes)
    for own, wanted in zip(found, mistakes, strict=True):
        assert wanted in own


def test_what_a_command_line_cannot_say() -> None:
    off = IniFile.parse("[uwsgi]\nmaster = false\nhttp-keepalive = 0\n")
    assert command_of(off, known()) == "uwsgi --http-keepalive=0"
    with pytest.raises(ValueError, match="master = true"):
        command_of(IniFile.parse("[uwsgi]\nif-env = A\nmaster = true\nendif =\n"), known())


def test_of_thousands_of_wrong_options_the_first_ones_are_named() -> None:
    words = " ".join(f"--no-such-{n} 1" for n in range(3_000))
    with pytest.raises(InvalidInput) as refused:
        ini_of(f"uwsgi {words}", known())
    assert len(refused.value.mistakes) == 20


@pytest.mark.parametrize(
    ("words", "changes", "new"),
    [
        # The first place of an option keeps it, under each of its names; the others go.
        ("--master -p 4 -w shop --workers=5", {"processes": "6"}, "--master --processes 6 -w shop"),
        ("-Mp4", {"processes": "6"}, "-M --processes 6"),
        ("--http=:80 app.py", {"threads": "2"}, "--http=:80 app.py --threads 2"),
        ("--lazy-apps --harakiri 9", {"lazy-apps": None, "harakiri": "5"}, "--harakiri 5"),
        ("--thunder-lock", {"thunder-lock": "false"}, ""),
        ("", {"thunder-lock": "true"}, "--thunder-lock"),
    ],
)
def test_changed_options_of_a_command(words: str, changes: dict[str, str | None], new: str) -> None:
    assert with_options(words.split(), changes, known()) == new.split()


def test_behind_two_dashes_nothing_is_an_option() -> None:
    assert with_options(["--", "--processes", "4"], {"processes": "6"}, known()) is None
