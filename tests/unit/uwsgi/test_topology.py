"""Which way the load takes is read from the file."""

import pytest

from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.topology import Front, Topology, front_of


def front(*lines: str, port: int = 8000) -> Front:
    return front_of(IniFile.parse("\n".join(("[uwsgi]", *lines, ""))), port)


@pytest.mark.parametrize(
    ("lines", "topology"),
    [
        (["http-socket = :8000"], Topology.HTTP_SOCKET),
        (["http11-socket = :8000"], Topology.HTTP11_SOCKET),
        (["http = :8000"], Topology.HTTP_ROUTER),
        (["httprouter = 0.0.0.0:8000"], Topology.HTTP_ROUTER),
        (["processes = 2"], Topology.HTTP_SOCKET),
        (["http = :8000", "socket = 127.0.0.1:3031"], Topology.HTTP_ROUTER),
        (["socket = :3031", "http-socket = :8000"], Topology.HTTP_SOCKET),
    ],
)
def test_http_is_spoken_to_where_the_file_speaks_it(lines: list[str], topology: Topology) -> None:
    assert front(*lines) == Front(topology=topology, port=8000)


@pytest.mark.parametrize("option", ["socket", "uwsgi-socket"])
def test_a_socket_alone_gets_nginx_before_it(option: str) -> None:
    expected = Front(topology=Topology.NGINX, port=8000, socket="127.0.0.1:3031")
    assert front(f"{option} = 127.0.0.1:3031") == expected


def test_nginx_goes_elsewhere_where_the_socket_has_the_targets_port() -> None:
    found = front("socket = :8000", port=8000)
    assert found.socket == ":8000"
    assert found.port != 8000


@pytest.mark.parametrize(
    ("lines", "socket"),
    [
        (["socket = /run/app/app.sock"], "/run/app/app.sock"),
        (["socket = @app"], "@app"),
        (["abstract-socket = true", "socket = /run/app.sock"], "@/run/app.sock"),
        (["dir = /run", "name = %(dir)/shop", "socket = %(name).sock"], "/run/shop.sock"),
        (["socket = $(SOCKET)"], "$(SOCKET)"),
        (["socket = /run/%(absent).sock"], "/run/%(absent).sock"),
        (["a = %(a)", "socket = /%(a)"], "/%(a)"),
        (["socket = :3031", "socket = :3032"], ":3031"),
    ],
)
def test_the_address_is_the_files_own(lines: list[str], socket: str) -> None:
    assert front(*lines).socket == socket


def test_a_section_of_something_else_is_not_ours() -> None:
    ini = IniFile.parse("[app:main]\nsocket = :3031\n[uwsgi]\nhttp-socket = :8000\n")
    assert front_of(ini, 8000).topology is Topology.HTTP_SOCKET
