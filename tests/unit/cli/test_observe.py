"""`tuner observe`: the table while it lasts, the answer, and the text for Prometheus."""

import re
import socket

import pytest

from tests.unit.cli.conftest import run
from tests.unit.production.staging import BOX, looks
from tuner.cli.observe import exposition, lines_of, now
from tuner.production.observing import observed

WAITING = looks(60, busy=4, rps=8.0, queue=(100, 100), cores=0.05)


def test_the_answer_names_the_class_with_its_figures() -> None:
    text = "\n".join(lines_of(observed(WAITING, BOX)))
    assert text.startswith("limited by io_wait in 60 of 60 s: all 4 slots are busy waiting")
    assert "8.00 requests/s, 20.0 ms each" in text
    assert "all slots busy 60 s of 60 s (processes x threads: 4 x 1)" in text
    assert "queue full 60 s of 60 s" in text
    assert "CPU of the app, of its limit: 5.0 %" in text
    assert "100 % of the busy slots' time in GET /shop/*" in text
    assert "may use 1 CPU, 256 MB" in text
    assert "tuner tune" in text


def test_an_idle_uwsgi_is_limited_by_nothing() -> None:
    text = "\n".join(lines_of(observed(looks(20, rps=1.0), BOX)))
    assert text.startswith("no limit was seen in 20 s")
    assert "next:" not in text


def test_the_table_shows_the_last_seconds() -> None:
    shown = dict(now(WAITING, BOX))
    assert shown["busy slots"] == "4 of 4"
    assert shown["listen queue"] == "100 of 100"
    assert shown["requests/s"] == "8.0"
    assert shown["CPU of the app, of its limit"] == "5.0 %"


def test_each_metric_for_prometheus_has_help_type_and_value_once() -> None:
    lines = exposition(WAITING, BOX).splitlines()
    names = [line.split()[2] for line in lines[::3]]
    assert len(names) == len({*names}) > 10
    for name, help_, type_, value in zip(names, lines[::3], lines[1::3], lines[2::3], strict=True):
        assert help_.startswith(f"# HELP {name} ")
        assert re.fullmatch(rf"# TYPE {name} (gauge|counter)", type_)
        assert re.fullmatch(rf"{name} [\d.e+-]+", value)
    assert "uwsgi_observed_listen_queue 100" in lines


def test_counters_for_prometheus_keep_all_their_digits() -> None:
    assert "uwsgi_observed_requests_total 12345678" in exposition(
        looks(1, 12345678 - 1, rps=1.0), BOX
    )


def test_it_says_how_stats_that_are_off_are_turned_on(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert run("observe", f"127.0.0.1:{port}") == 5
    said = capsys.readouterr().err
    assert "stats = 127.0.0.1:9191" in said
    assert "SIGHUP" in said
