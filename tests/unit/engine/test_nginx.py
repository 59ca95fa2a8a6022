"""nginx before a file's own socket."""

import pytest

from tuner.bench.engine import nginx
from tuner.bench.load.probe import usage, window
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import FailureCode
from tuner.uwsgi.topology import PROXY_LOG, PROXY_PID, Front, Topology


def front(socket: str | None) -> Front:
    topology = Topology.NGINX if socket else Topology.HTTP_SOCKET
    return Front(topology=topology, port=8000, socket=socket)


def config(socket: str, nofile: int = 65_536) -> str:
    found = nginx.proxy_of(front(socket))
    assert found is not None
    return found.file(workers=1, nofile=nofile, backlog=4096).text


def test_a_file_that_speaks_http_needs_none() -> None:
    assert nginx.proxy_of(front(None)) is None


@pytest.mark.parametrize(
    ("socket", "upstream"),
    [
        ("127.0.0.1:3031", "127.0.0.1:3031"),
        (":3031", "127.0.0.1:3031"),
        ("0.0.0.0:3031", "127.0.0.1:3031"),
        ("/run/app/app.sock", f"unix:{nginx.SOCKET_MOUNT}/app.sock"),
    ],
)
def test_requests_are_passed_to_the_files_socket(socket: str, upstream: str) -> None:
    text = config(socket)
    assert f"uwsgi_pass {upstream};" in text
    assert "listen 127.0.0.1:8000 backlog=4096;" in text


def test_the_folder_of_a_unix_socket_is_shared_and_its_mode_is_no_obstacle() -> None:
    unix, tcp = nginx.proxy_of(front("/run/app/app.sock")), nginx.proxy_of(front(":3031"))
    assert unix is not None
    assert tcp is not None
    assert (unix.folder, tcp.folder) == ("/run/app", None)
    assert unix.file(workers=1, nofile=1024, backlog=100).as_root
    assert not tcp.file(workers=1, nofile=1024, backlog=100).as_root


@pytest.mark.parametrize(
    "socket",
    [
        "@app",
        "app.sock",
        "/app.sock",
        "/run/../app.sock",
        "/run/$(NAME).sock",
        "/run/a b.sock",
        "/run/x;}/a.sock",
        "$(ADDRESS)",
        "db:3031",
        "127.0.0.1:0",
        ":70000",
        "3031",
    ],
)
def test_a_socket_that_nginx_cannot_reach_is_refused_with_its_name(socket: str) -> None:
    with pytest.raises(TargetFailed) as failed:
        nginx.proxy_of(front(socket))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED
    assert f"`socket = {socket}`" in failed.value.message


@pytest.mark.parametrize(("nofile", "connections"), [(1024, 960), (65_536, 20_064)])
def test_connections_fit_the_open_files(nofile: int, connections: int) -> None:
    assert f"worker_connections {connections};" in config(":3031", nofile)


def test_the_probe_reads_the_log_that_is_written() -> None:
    text = config(":3031")
    assert f"access_log {PROXY_LOG} times;" in text
    assert f"pid {PROXY_PID};" in text
    assert (window.LOG, usage.NGINX_PID) == (PROXY_LOG, PROXY_PID)
    format_line = next(line for line in text.splitlines() if line.startswith("log_format"))
    assert len(format_line.split("'")[1].split("\t")) == window.COLUMNS
