"""The catalogue against the uWSGI in the image: which options there are, and how it reads them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.uwsgi_lab import IMAGE, Lab, lab
from tuner.cli.options import options
from tuner.nouns.errors import NotFound
from tuner.uwsgi.options import Kind, known

pytestmark = [pytest.mark.full, pytest.mark.docker]

READY = r"no-server mode requested"
APP = "[uwsgi]\nno-server = true\nneed-app = true\nwsgi-file = app.py\nsocket = :3031\n"

# Of the options on standard input, as lines: those that refuse a negative number.
REFUSING = r"""
import concurrent.futures
def refuses(name):
    path = pathlib.Path(f"{name}.ini")
    path.write_text(f"[uwsgi]\n{name} = -1\ndump-options = true\n")
    run = subprocess.run(
        ["timeout", "20", "uwsgi", "--ini", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return run.returncode == 1 and b"must be > 0" in run.stdout
names = pathlib.Path("names").read_text().split()
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    seen = [name for name, found in zip(names, pool.map(refuses, names)) if found]
"""


@pytest.fixture(scope="module")
def uwsgi() -> Iterator[Lab]:
    with lab() as playing:
        yield playing


@pytest.fixture(scope="module")
def names(uwsgi: Lab) -> list[str]:
    return uwsgi.play("", args=("--dump-options",), ready=r"\Z(?!)").log.split()


def said(uwsgi: Lab, *lines: str) -> str:
    """What uWSGI logs when it starts on the app with these lines, and that it did."""
    seen = uwsgi.play(
        APP + "\n".join(lines) + "\n", ready=READY, signal="SIGCONT"
    )  # it ends itself
    assert seen.exit == 0, seen.log
    return seen.log


def test_every_option_of_the_image_is_known(names: list[str]) -> None:
    assert len(names) == len(set(names)) == 869
    assert [name for name in names if known().find(name) is None] == []


def test_what_the_image_lacks_needs_something_and_what_needs_nothing_is_there(
    names: list[str],
) -> None:
    present = set(names)
    lacking = {name for option in known().options for name in option.names} - present
    assert lacking
    for name in lacking:
        option = known().find(name)
        assert option
        assert option.needs, name
        assert present.isdisjoint(option.names), "some spellings are here, others are not"
    assert not [o.name for o in known().options if o.needs in {"pcre", "ssl"} and o.name in present]


def test_only_numbers_refuse_to_be_negative(uwsgi: Lab, names: list[str]) -> None:
    present = set(names)
    asked = {
        name: option.kind
        for option in known().options
        for name in option.names
        if option.kind in {Kind.INTEGER, Kind.FLAG} and name in present
    }
    seen = uwsgi.play(
        "", args=("--version",), ready=r"\Z(?!)", files={"names": "\n".join(asked)}, probe=REFUSING
    ).seen
    assert {asked[name] for name in seen} == {Kind.INTEGER}
    for option in known().options:
        heads = present.intersection(option.names)
        assert heads.isdisjoint(seen) or heads <= set(seen), "one spelling is read differently"
    # The others are read into 16 or 64 bits, where -1 is a very large number.
    wide = {name for name, kind in asked.items() if kind is Kind.INTEGER} - set(seen)
    assert {"processes", "listen", "threads", "log-slow", "gevent", "http-keepalive"} <= set(seen)
    assert {"buffer-size", "max-requests", "reload-on-rss", "max-vars", "prio"} <= wide


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("thunder-lock", "enabled"),
        ("thunder-lock =", "enabled"),
        ("thunder-lock = true", "enabled"),
        ("thunder-lock = false ; c", "enabled"),
        ("thunder-lock = disabled", "enabled"),
        ("thunder-lock = false", "disabled"),
        ("thunder-lock = False", "disabled"),
        ("thunder-lock = OFF", "disabled"),
        ("thunder-lock = No", "disabled"),
        ("thunder-lock = 0", "disabled"),
    ],
)
def test_a_flag_is_true_but_for_four_words_in_any_case(uwsgi: Lab, value: str, state: str) -> None:
    option = known().find("thunder-lock")
    assert option is not None
    assert option.kind is Kind.FLAG
    assert f"thunder lock: {state}" in said(uwsgi, value)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("worker-reload-mercy = 7s", "graceful operations on workers is 7 seconds"),
        ("worker-reload-mercy = true", "graceful operations on workers is 0 seconds"),
        ("worker-reload-mercy", "graceful operations on workers is 0 seconds"),
        ("listen = 90 ; c", "backlog is limited to 90 connections"),
        ("listen = 90\nlisten = 80", "backlog is limited to 80 connections"),
        ("processes = 3\nworkers = 2", "Operational MODE: preforking"),
        ("workers = 4\nprocesses = 1", "Operational MODE: single process"),
        ("threads = 3", "Operational MODE: threaded"),
        ("processes = abc", "Operational MODE: no-workers"),
    ],
)
def test_a_number_is_what_its_first_digits_say(uwsgi: Lab, line: str, sentence: str) -> None:
    assert sentence in said(uwsgi, line)


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("static-map = /a=/tmp\nstatic-map = /b=/usr", ("/a => /tmp", "/b => /usr")),
        ("check-static = /tmp\nstatic-check = /usr", ("check for /tmp", "check for /usr")),
        ("pp = /tmp\npythonpath = /usr", ("/tmp/ to pythonpath", "/usr/ to pythonpath")),
    ],
)
def test_a_list_gets_longer_with_every_line(
    uwsgi: Lab, line: str, sentences: tuple[str, ...]
) -> None:
    for key in (part.partition(" =")[0] for part in line.splitlines()):
        option = known().find(key)
        assert option
        assert option.kind is Kind.LIST
    log = said(uwsgi, line)
    assert [sentence for sentence in sentences if sentence not in log] == []


def test_of_a_text_the_last_line_counts(uwsgi: Lab) -> None:
    option = known().find("chdir")
    assert option
    assert option.kind is Kind.TEXT
    log = said(uwsgi, "chdir = /usr", "chdir = /", "wsgi-file = %d/app.py")
    assert "chdir() to /\n" in log
    assert "chdir() to /usr" not in log


def test_an_action_is_done_where_it_stands(uwsgi: Lab) -> None:
    for key in ("if-opt", "endif"):
        option = known().find(key)
        assert option
        assert option.kind is Kind.ACTION
    asks = ("if-opt = listen=70", "worker-reload-mercy = 9", "endif =")
    assert "workers is 9 seconds" in said(uwsgi, "listen = 70", *asks)
    assert "workers is 60 seconds" in said(uwsgi, *asks, "listen = 70")


@pytest.mark.parametrize("value", ["%(n)", "$(N)", "@(n.txt)"])
def test_only_what_is_not_immediate_sees_what_a_variable_stands_for(uwsgi: Lab, value: str) -> None:
    immediate, late = known().find("listen"), known().find("worker-reload-mercy")
    assert immediate
    assert immediate.is_immediate
    assert late
    assert not late.is_immediate
    lines = f"n = 77\nlisten = {value}\nworker-reload-mercy = {value}\n"
    seen = uwsgi.play(
        APP + lines, ready=READY, signal="SIGCONT", environ={"N": "77"}, files={"n.txt": "77"}
    )
    assert "limited to 0 connections" in seen.log
    assert "workers is 77 seconds" in seen.log


def test_the_command_asks_an_image(capsys: pytest.CaptureFixture[str]) -> None:
    options("http-processes", image=IMAGE)
    assert capsys.readouterr().out.startswith("http-processes\n")
    with pytest.raises(NotFound, match="no option route: it needs pcre"):
        options("route", image=IMAGE)


def test_defaults_are_what_a_plain_start_says(uwsgi: Lab) -> None:
    log = said(uwsgi)
    for name, sentence in {
        "listen": "backlog is limited to {} connections",
        "worker-reload-mercy": "graceful operations on workers is {} seconds",
    }.items():
        option = known().find(name)
        assert option
        assert option.default
        assert sentence.format(option.default) in log
    assert "thunder lock: disabled" in log
    assert "Operational MODE: single process" in log


def test_a_plugin_that_is_not_there_stops_only_who_needs_it(uwsgi: Lab) -> None:
    assert "UNABLE to load uWSGI plugin" in said(uwsgi, "plugin = nosuch")
    refused = uwsgi.play("[uwsgi]\nneed-plugin = nosuch\n", ready="unable to load plugin")
    assert refused.exit == 1


def test_the_table_is_of_the_release_in_the_image(uwsgi: Lab) -> None:
    log = uwsgi.play("", args=("--version",), ready=r"\Z(?!)").log
    assert log.strip() == known().version
    head = Path("tuner/uwsgi/options/known.tsv").read_text().splitlines()[0]
    assert known().version in head
