"""A command line and the file that we make of it are the same to the real uWSGI."""

import pytest

from tests.uwsgi_judge import Case, Judge
from tuner.uwsgi.command_line import command_of, ini_of
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

pytestmark = pytest.mark.docker

COMMANDS = (
    "uwsgi --http :9808 --wsgi-file app.py --processes 4 --threads 2 --disable-logging",
    "uwsgi -Mp4 -w shop:app --http-timeout=9 --env 'A=b c'",
    "uwsgi --thunder --workers 3 --listen 7 -s /tmp/a.sock -C666",
    "uwsgi --http-socket :80 --static-map /a=/b --static-map /c=/d --need-app --http-keepalive",
)


def read(judge: Judge, command: str) -> list[tuple[str, str]]:
    """What uWSGI has read of a command, by its own words."""
    said = judge.run(f"timeout 10 {command} --show-config --no-server 2>&1 || true")
    shown = said.partition("[uwsgi]\n")[2].partition(";end of configuration")[0]
    pairs = (line.partition(" = ")[::2] for line in shown.splitlines() if line)
    return [(name, value) for name, value in pairs if name not in ("show-config", "no-server")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_file_has_what_uwsgi_reads_of_the_command(judge: Judge, command: str) -> None:
    ini = ini_of(command, known())
    (answer,) = judge.ask([Case({"uwsgi.ini": ini.encode()})])
    assert answer.options is not None
    of_file = [(n, v) for n, v in answer.options if n not in ("show-config", "no-server", "ini")]
    alone = {("http-keepalive", "true"): ("http-keepalive", "1")}  # what a file has to say
    assert of_file == [alone.get(pair, pair) for pair in read(judge, command)]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_way_back_is_the_same_to_uwsgi(judge: Judge, command: str) -> None:
    file = IniFile.parse(ini_of(command, known()))
    again = read(judge, command_of(file, known()))
    assert again == [
        ("http-keepalive", "1") if name == "http-keepalive" else (name, value)
        for name, value in read(judge, command)
    ]
