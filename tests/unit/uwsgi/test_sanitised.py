"""What of a file a benchmark host does not run, and what it leaves alone."""

import pytest

from tuner.nouns.model import Danger, LeftOut
from tuner.uwsgi.derived import Sanitised, sanitised
from tuner.uwsgi.ini import MARK, IniFile

APP = "[uwsgi]\nhttp-socket = :8000\nmodule = shop.wsgi\nprocesses = 2\n"


def of(text: str, *allowed: Danger) -> Sanitised:
    return sanitised(IniFile.parse(text), allowed)


def names(text: str, *allowed: Danger) -> list[str]:
    return [line.option for line in of(text, *allowed).left_out]


def test_a_file_that_only_serves_is_the_same_object() -> None:
    ini = IniFile.parse(APP)
    assert sanitised(ini) == Sanitised(ini, ())
    assert sanitised(ini).ini is ini


@pytest.mark.parametrize(
    ("line", "danger"),
    [
        ("exec-asap = touch /tmp/x", Danger.COMMANDS),
        ("exec-pre-app = manage.py migrate", Danger.COMMANDS),
        ("hook-post-app = exec:manage.py warm", Danger.COMMANDS),
        ("attach-daemon = celery worker", Danger.COMMANDS),
        ("attach-daemon2 = cmd=celery worker", Danger.COMMANDS),
        ("smart-attach-daemon = /run/c.pid celery", Danger.COMMANDS),
        ("cron = 5 -1 -1 -1 -1 manage.py report", Danger.COMMANDS),
        ("unique-cron = 5 -1 -1 -1 -1 manage.py report", Danger.COMMANDS),
        ("subscribe2 = server=10.0.0.1:9000,key=shop", Danger.NETWORK),
        ("subscribe-to = 10.0.0.1:9000:shop", Danger.NETWORK),
        ("carbon = 10.0.0.1:2004", Danger.NETWORK),
        ("shared-socket = :8000", Danger.NETWORK),
        ("http-to = 10.0.0.7:3031", Danger.NETWORK),
        ("unshare = pid,fs", Danger.PRIVILEGES),
        ("daemonize = /var/log/shop.log", Danger.FILES),
        ("plugin = /opt/mine.so", Danger.CODE),
        ("req-logger = pipe:tee /var/log/requests", Danger.COMMANDS),
        ("logger = slow pipe:tee /var/log/slow", Danger.COMMANDS),
        ("alarm = shout cmd:mail -s help ops", Danger.COMMANDS),
        ("started = @(exec://date)", Danger.COMMANDS),
    ],
)
def test_what_does_more_than_serving_is_commented_out_unless_it_is_allowed(
    line: str, danger: Danger
) -> None:
    option = line.partition(" ")[0]
    found = of(f"{APP}{line}\nharakiri = 30\n")
    assert found.left_out == (LeftOut(option=option, line=5, danger=danger),)
    assert found.ini.dump() == f"{APP}{MARK}was: {line}\nharakiri = 30\n"
    assert names(f"{APP}{line}\n", danger) == []


@pytest.mark.parametrize(
    "line",
    [
        "plugin = python3",
        "plugins = python3,http",
        "uid = www-data",
        "gid = www-data",
        "chdir = /srv/shop",
        "env = SHOP=1",
        "static-map = /static=/srv/static",
        "import = shop.warm",
        "wsgi-file = shop.py",
        "socket = /run/shop.sock",
        "http = :8001",
        "logto = /var/log/shop.log",
        "logger = file:/var/log/shop.log",
        "req-logger = stdio",
        "stats = 127.0.0.1:1717",
        "mule = shop/mule.py",
        "log-format = exec of %(uri)",
        "my-own = placeholder",
        "pidfile = /run/shop.pid",
        "chmod-socket = 660",
        "vacuum = true",
        "touch-reload = /srv/reload",
        "safe-pidfile = /run/shop.pid",
        "die-on-term = true",
        "cache2 = name=shop,items=100",
        "master-fifo = /run/shop.fifo",
        "http-to = 127.0.0.1:3031",
        "http-to = /run/shop.sock",
        "mount = /shop=shop.py",
    ],
)
def test_what_the_app_is_deployed_with_stays(line: str) -> None:
    assert names(f"{APP}{line}\n") == []


def test_conditional_lines_go_too_and_line_endings_stay() -> None:
    text = APP.replace("\n", "\r\n") + "if-env = CRON\r\ncron = 1 1 1 1 1 x\r\nendif =\r\n"
    found = of(text)
    assert [line.line for line in found.left_out] == [6]
    assert found.ini.dump() == text.replace("cron = 1", f"{MARK}was: cron = 1")


def test_a_condition_that_runs_something_goes_with_all_that_it_encloses() -> None:
    text = f"{APP}if-opt = x=@(exec://id)\nthreads = 2\ncron = c\nendif =\nthreads = 3\n"
    found = of(text)
    assert [line.line for line in found.left_out] == [5]
    assert found.ini.values("threads") == ["3"]
    assert found.ini.dump().count(f"{MARK}was: ") == 4


def test_sections_that_the_file_includes_are_read_and_others_are_not() -> None:
    base, jobs, other = ("exec-asap = a", "cron = 1 1 1 1 1 b", "attach-daemon = c")
    text = f"{APP}ini = :base\n[base]\n{base}\nini = :jobs\n[jobs]\n{jobs}\n[other]\n{other}\n"
    found = of(text)
    assert [(line.option, line.line) for line in found.left_out] == [("exec-asap", 7), ("cron", 10)]
    assert other in found.ini.dump().splitlines()


def test_an_option_that_a_set_names_is_no_other() -> None:
    found = of(f"{APP}set = exec-asap=touch /tmp/x\n")
    assert found.left_out == (LeftOut(option="exec-asap", line=5, danger=Danger.COMMANDS),)
    assert found.ini.dump() == f"{APP}{MARK}was: set = exec-asap=touch /tmp/x\n"


def test_a_line_that_goes_on_below_goes_as_a_whole() -> None:
    found = of(f"{APP}cron = 1 1 1 1 1 a %\nthreads = 9\nharakiri = 3\n")
    assert [line.line for line in found.left_out] == [5]
    assert found.ini.get("threads") is None
    assert found.ini.get("harakiri") == "3"


def test_a_file_whose_sections_include_each_other_without_end_is_searched_as_a_whole() -> None:
    depth = 40
    sections = "".join(f"[s{n}]\nini = :s{n + 1}\n" for n in range(depth))
    assert names(f"{APP}ini = :s0\n{sections}[s{depth}]\ncron = c\n") == ["cron"]


def test_sections_that_include_each_other_end() -> None:
    text = f"{APP}ini = :a\n[a]\nini = :b\n[b]\nini = :a\ncron = 1 1 1 1 1 c\n"
    assert names(text) == ["cron"]


def test_only_what_is_allowed_runs() -> None:
    text = f"{APP}cron = 1 1 1 1 1 c\nsubscribe-to = 10.0.0.1:9000:shop\n"
    assert names(text, Danger.COMMANDS) == ["subscribe-to"]
    assert names(text, Danger.NETWORK) == ["cron"]
    assert names(text, *Danger) == []
