"""The probe around a client: a script that plays oha."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.load import findings
from tests.unit.load.servers import serving
from tests.unit.load.test_usage import V2, written
from tuner.bench.load import probe_files
from tuner.bench.load.probe import queues, usage
from tuner.bench.load.probe.counters import StatsGone
from tuner.bench.load.probe.rows import SERIES_STEP_S
from tuner.bench.load.probe.window import FOLDERS, Watched, await_idle, over_time, window
from tuner.bench.load.results import WINDOW, reading_of

OHA = """
import json, sqlite3
assert open("body").read() == "\\u00e4\\n"
rows = sqlite3.connect("rows.db")
rows.execute(
    "CREATE TABLE oha (url, start, start_latency_correction, end, duration, status, len_bytes)"
)
for number in range(100):
    at = number / 50
    status = 500 if number % 10 == 9 else 200
    times = (at + 0.01, DUE, at + 0.02)
    rows.execute("INSERT INTO oha VALUES ('/', ?, ?, ?, 0, ?, 100)", (*times, status))
rows.commit()
print(json.dumps({"statusCodeDistribution": {"200": COUNTED, "500": 10},
                  "errorDistribution": {"timeout": 1}}))
"""


BEFORE, SERVED = 7, 100  # oha's script has 100 answers, and one request without


@contextmanager
def counting(*counts: int) -> Iterator[str]:
    """The address of uWSGI's stats: each look sees the next count, and then the last for good."""
    left = list(counts)

    def answer(connection: socket.socket) -> None:
        connection.sendall(findings.stats(left.pop(0) if left[1:] else left[0]).encode())

    with serving(answer) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def stats() -> Iterator[str]:
    with counting(BEFORE, BEFORE + SERVED) as address:
        yield address


def task(stats: str, script: str, **changes: Any) -> dict[str, Any]:
    return {
        "argv": [sys.executable, "-c", script],
        "files": {"body": "ä\n"},
        "summary": "oha",
        "connections": 4,
        "head_s": 0.5,
        "length_s": 2.0,
        "paths": ["/"],
        "stats": stats,
        "front": {"topology": "http_socket", "port": 1, "socket": None},
        "cgroups": {},
        **changes,
    }


def play_oha(*, due: str = "None", counted: int = 90) -> str:
    return OHA.replace("DUE", due).replace("COUNTED", str(counted))


def test_rows_become_the_figures_of_a_window(stats: str) -> None:
    reading = reading_of(WINDOW.validate_python(window(task(stats, play_oha()))), "oha")
    assert reading.sent == 101
    assert reading.errors_by_class == {"http_500": 10, "read_timeout": 1}
    assert reading.duration_s == 1.5
    assert reading.requests == 68  # of 76 that ended after the head, 8 had failed
    assert reading.body_bytes == 68 * 100
    assert reading.latency_p50_ms == pytest.approx(10)
    assert len(reading.series) == 8
    assert reading.client_cpu_s > 0
    assert reading.host is not None
    assert reading.host.own_s >= reading.client_cpu_s


def test_cpu_and_memory_are_followed_while_the_client_runs(stats: str, tmp_path: Path) -> None:
    folder = written(tmp_path, {**V2, "cpu.stat": "usage_usec 0\n"})
    works = f"""
import time
time.sleep(0.35)
open({folder + "/cpu.stat"!r}, "w").write("usage_usec 500000\\n")
time.sleep(0.4)
"""
    found = window(task(stats, works + play_oha(), cgroups={"app": folder}))
    reading = reading_of(WINDOW.validate_python(found), "oha")
    app = reading.over_time.usage["app"]
    assert 3 <= len(app.cores) == len(app.memory_mb) < 8, "rows of 2 s, and a run of 0.8"
    assert sum(app.cores) * SERIES_STEP_S == pytest.approx(0.5, abs=0.1)
    assert set(app.memory_mb) == {8.0}
    assert reading.over_time.queue == (), "nothing listens there"


def test_the_steps_begin_with_the_first_request() -> None:
    watched = Watched(100.0, queues.Watch([]), usage.Watch({}))
    watched.used.samples["app"] = [
        usage.Sample(100.0, 0.0, 8.0),
        usage.Sample(100.5, 0.0, 8.0),
        usage.Sample(101.5, 0.5, 8.0),
    ]
    client: dict[str, Any] = {"rows": {"loaded_s": 0.6}}
    began = over_time({"started_at": 7.0, "client": client}, watched)
    assert began["usage"]["app"]["cores"] == [0.0, 0.0]
    later = over_time({"started_at": 7.0, "client": {**client, "started_at": 7.5}}, watched)
    assert later["usage"]["app"]["cores"] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("later", "counted"), [((20, 60, SERVED), SERVED), ((SERVED - 1,), SERVED - 1)]
)
def test_the_count_of_uwsgi_is_awaited_but_not_for_ever(
    later: tuple[int, ...], counted: int
) -> None:
    with counting(BEFORE, *(BEFORE + each for each in later)) as address:
        found = window(task(address, play_oha()))
    reading = reading_of(WINDOW.validate_python(found), "oha")
    assert reading.before is not None
    assert reading.after is not None
    assert reading.after.requests - reading.before.requests == counted


@pytest.mark.parametrize(
    ("errors", "looks"), [({"read_timeout": 2}, 3), ({"http_502": 2}, 0), ({}, 0)]
)
def test_what_clients_gave_up_is_over_before_the_next_run(
    errors: dict[str, int], looks: int
) -> None:
    seen = ["busy", "queue", "idle"]
    answers = {
        "busy": {"workers": [{"status": "busy"}]},
        "queue": {"workers": [{"status": "idle"}], "listen_queue": 3},
        "idle": {"workers": [{"status": "idle"}, {"status": "cheap"}], "listen_queue": 0},
    }

    def answer(connection: socket.socket) -> None:
        connection.sendall(json.dumps(answers[seen.pop(0)]).encode())

    with serving(answer) as port:
        await_idle(errors, f"127.0.0.1:{port}")
    assert len(seen) == 3 - looks


def test_oha_says_which_request_of_a_mix_an_answer_belongs_to(stats: str) -> None:
    mixed = play_oha().replace("VALUES ('/'", "VALUES (iif(? % 4, '/a', '/b?c=1')")
    mixed = mixed.replace("(*times", "(number, *times")
    found = window(task(stats, mixed, paths=["/a", "/b?c=1", "/a", "/never"]))
    reading = reading_of(WINDOW.validate_python(found), "oha")
    assert [(r.request, r.sent, r.failed, r.over_limit) for r in reading.by_request] == [
        (0, 75, 10, None),
        (1, 25, 0, None),
        (3, 0, 0, None),
    ]
    assert sum(r.histogram.total for r in reading.by_request) == reading.histogram.total


def test_at_a_fixed_rate_latency_counts_from_when_it_was_due(stats: str) -> None:
    found = window(task(stats, play_oha(due="at"), connections=None))
    reading = reading_of(WINDOW.validate_python(found), "oha")
    assert reading.latency_p50_ms == pytest.approx(20)


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, "not oha's output"),
        ("raise SystemExit('no such flag')", 1, "no such flag"),
        (play_oha(counted=91), 0, "oha counted 101 answers and wrote 100 rows"),
    ],
)
def test_a_client_that_fails_leaves_no_figures(
    stats: str, script: str, code: int, words: str
) -> None:
    found = window(task(stats, script))
    assert found["client"] is None
    assert found["exit_code"] == code
    assert words in found["client_error"]


def test_nothing_is_left_behind(stats: str) -> None:
    def left() -> set[str]:
        mine = f"window-{os.getpid()}-"
        return {name for folder in FOLDERS for name in os.listdir(folder) if mine in name}

    window(task(stats, play_oha()))
    window(task(stats, "raise SystemExit(1)"))
    assert left() == set()


def test_stats_that_do_not_answer_are_an_error() -> None:
    with pytest.raises(StatsGone, match="do not answer on"):
        window(task("127.0.0.1:1", play_oha()))


def run_copy(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    for path, contents in probe_files().items():
        copy = folder / path.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(contents)
    home = str(folder / "tuner" / "probe")
    return subprocess.run(
        [sys.executable, "-I", "-S", home, *words], capture_output=True, text=True, check=False
    )


def test_what_is_copied_runs_without_anything_of_ours_around(tmp_path: Path, stats: str) -> None:
    done = run_copy(tmp_path, "window", json.dumps(task(stats, play_oha())))
    assert done.stderr == ""
    assert reading_of(WINDOW.validate_python(json.loads(done.stdout)), "oha").requests == 68


def test_a_long_task_is_read_from_a_file(tmp_path: Path, stats: str) -> None:
    long = tmp_path / "task.json"
    long.write_text(json.dumps({**task(stats, play_oha()), "padding": "x" * 200_000}))
    assert json.loads(run_copy(tmp_path, "window", str(long)).stdout)["exit_code"] == 0


def test_missing_stats_are_said_in_one_line(tmp_path: Path) -> None:
    done = run_copy(tmp_path, "window", json.dumps(task("127.0.0.1:1", play_oha())))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "uWSGI's stats do not answer on 127.0.0.1:1\n"


def test_it_needs_nothing_but_itself_and_the_standard_library() -> None:
    known = sys.stdlib_module_names | {"tuner.bench.load.probe"}
    for path, contents in probe_files().items():
        for line in contents.decode().splitlines():
            if line.startswith(("import ", "from ")):
                module = line.split()[1]
                assert module.split(".")[0] in known or module.startswith(
                    "tuner.bench.load.probe"
                ), path
