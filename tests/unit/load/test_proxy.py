"""What nginx logs, read."""

from pathlib import Path

import pytest

from tuner.bench.load.probe import window
from tuner.uwsgi.topology import PROXY_LOG

LINE = "1700000000.000\t200\t0.010\t0.001\t0.009\t0.010\n"
GAVE_UP = "1700000000.000\t502\t0.030\t0.001, 0.002\t- : 0.004\t-\n"


def test_times_are_in_ms_and_those_of_several_tries_add_up() -> None:
    found = window.figures(LINE * 98 + GAVE_UP * 2)
    assert found is not None
    assert found["requests"] == 100
    assert found["by_status"] == {"200": 98, "502": 2}
    assert found["request"] == {"p50_ms": 10.0, "p95_ms": 10.0, "max_ms": 30.0}
    assert found["connect"]["max_ms"] == pytest.approx(3.0)
    assert found["header"]["max_ms"] == pytest.approx(9.0)
    assert found["response"]["max_ms"] == pytest.approx(10.0)


def test_a_column_without_a_time_is_0() -> None:
    found = window.figures("1.0\t502\t0.000\t-\t-\t-\n")
    assert found is not None
    assert found["connect"] == {"p50_ms": 0.0, "p95_ms": 0.0, "max_ms": 0.0}


def test_no_request_is_no_figures() -> None:
    assert window.figures("") is None
    assert window.figures("half a li") is None


def test_only_lines_of_this_window_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "nginx.log"
    monkeypatch.setattr(window, "LOG", str(log))
    assert window.log_size() is None
    assert window.read(None) is None
    log.write_text(LINE * 5)
    offset = window.log_size()
    with log.open("a") as file:
        file.write(GAVE_UP)
    found = window.read(offset)
    assert found is not None
    assert found["by_status"] == {"502": 1}


def test_the_log_is_where_the_engine_has_it_written() -> None:
    assert window.LOG == PROXY_LOG
