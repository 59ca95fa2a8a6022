"""What is read of a uWSGI: its stats from every kind of socket, its cgroup of both versions."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tuner.bench.measurement import cgroups
from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.production.looking import Watcher, box_of, places_of, read_stats

DOCUMENT = json.dumps({"workers": [], "pid": 0, "sockets": []})


@contextmanager
def answering(listener: socket.socket, *, reads: bool = False) -> Iterator[None]:
    """Sends the document on each connect; with `reads` over HTTP, after a request."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                if reads:
                    assert connection.recv(4096).startswith(b"GET / HTTP/1.0\r\n")
                    connection.sendall(b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n")
                connection.sendall(DOCUMENT.encode())

    listener.listen()
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize(
    ("reads", "address"),
    [
        (False, "127.0.0.1:{}"),
        (False, ":{}"),
        (False, "tcp://127.0.0.1:{}"),
        (False, "http://127.0.0.1:{}"),
        (True, "http://127.0.0.1:{}/"),
    ],
)
def test_stats_are_read_over_tcp_and_http(address: str, reads: bool) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with answering(listener, reads=reads):
        assert read_stats(address.format(port)) == DOCUMENT


def test_stats_are_read_from_unix_sockets(tmp_path: Path) -> None:
    path, name = str(tmp_path / "stats"), f"tuner-stats-{os.getpid()}"
    for bound, addresses in ((path, (path, f"unix://{path}")), (f"\0{name}", (f"@{name}",))):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(bound)
        with answering(listener):
            assert [read_stats(each) for each in addresses] == [DOCUMENT] * len(addresses)


def test_a_stats_server_that_is_off_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unavailable, match="stats server"):
        Watcher(f"127.0.0.1:{port}")


def test_something_else_on_the_port_is_no_stats_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.production.test_looking.DOCUMENT", "220 smtp ready")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with answering(listener), pytest.raises(InvalidInput, match="no stats server of uWSGI"):
        Watcher(f"127.0.0.1:{port}")


def test_a_process_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no process"):
        Watcher("127.0.0.1:1", pid=2**22 + 1)


V1 = "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/docker/abc\n"


def test_a_cgroup_of_version_1_has_a_place_for_each_controller(tmp_path: Path) -> None:
    for controller in ("memory", "cpu", "cpuacct"):
        (tmp_path / controller / "docker/abc").mkdir(parents=True)
    places = places_of(V1, tmp_path)
    assert places == dict.fromkeys(("memory", "cpu", "cpuacct"), "docker/abc")
    assert "cpu/docker/abc/cpu.stat" in cgroups.files_of(places)


def test_a_cgroup_of_version_2_has_one_place(tmp_path: Path) -> None:
    (tmp_path / "system.slice/a.service").mkdir(parents=True)
    (tmp_path / "cgroup.controllers").touch()
    places = places_of("0::/system.slice/a.service\n", tmp_path)
    assert places == {"": "system.slice/a.service"}
    assert "system.slice/a.service/memory.events" in cgroups.files_of(places)


def test_a_container_sees_its_own_cgroup_as_the_root(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    places = places_of("4:memory:/docker/abc\n", tmp_path)
    assert places == {"memory": ""}
    assert "memory/./memory.stat" in cgroups.files_of(places)


@pytest.mark.parametrize(
    ("texts", "cpus"),
    [
        ({"cpu.max": "50000 100000\n"}, 0.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.cfs_quota_us": "200000\n", "cpu.cfs_period_us": "100000\n"}, 2.0),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_a_quota_is_read_of_both_versions(texts: dict[str, str], cpus: float | None) -> None:
    assert cgroups.quota_of(texts) == cpus


@pytest.mark.parametrize(
    ("texts", "limit"),
    [
        ({"memory.max": "1048576\n"}, 1 << 20),
        ({"memory.max": "max\n"}, None),
        ({"memory.limit_in_bytes": "1048576\n"}, 1 << 20),
        ({}, None),
    ],
)
def test_a_memory_limit_is_read_of_both_versions(texts: dict[str, str], limit: int | None) -> None:
    assert cgroups.memory_of(texts) == limit


def test_a_process_may_use_no_more_cpus_than_it_may_run_on() -> None:
    box = box_of(os.getpid(), {})
    assert box.cpus == len(os.sched_getaffinity(0))
    assert not box.has_quota
