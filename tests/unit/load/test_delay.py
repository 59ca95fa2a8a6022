"""Packets to services go on when their time has come; the probe sees how long the way is."""

import os
import socket
import struct
from collections.abc import Iterator

import pytest

from tuner.bench.load.probe import counters, delay, ready

NEAR, FAR = socket.inet_aton("172.20.0.2"), socket.inet_aton("172.20.0.3")


def packet(address: bytes, number: int = 0) -> bytes:
    return bytes(16) + address + bytes([number])


@pytest.fixture
def tun() -> Iterator[tuple[int, int]]:
    """A socket pair in place of the device: it keeps packets apart too."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.setblocking(False)
        yield ours.fileno(), theirs.fileno()


def test_each_packet_waits_for_the_round_trip_of_its_service(tun: tuple[int, int]) -> None:
    device, kernel = tun
    lines = delay.lines_of({NEAR: 0.5, FAR: 10.0})
    assert delay.wait_s(lines, 0.0) is None
    sent = [packet(FAR), packet(NEAR, 1), packet(NEAR, 2), packet(socket.inet_aton("10.0.0.1"))]
    for each in sent:
        os.write(kernel, each)
    delay.take(device, lines)
    first = lines[NEAR].held[0][0]
    last = lines[FAR].held[0][0]
    assert last - first == pytest.approx(0.0095, abs=0.002)
    assert delay.wait_s(lines, first - 0.0001) == pytest.approx(0.0001)
    assert delay.wait_s(lines, last + 1) == 0.0
    assert delay.due(lines, first - 0.0001) == []
    assert delay.due(lines, last - 0.001) == [packet(NEAR, 1), packet(NEAR, 2)]
    assert delay.due(lines, last) == [packet(FAR)]
    assert delay.wait_s(lines, last) is None


def test_what_the_program_takes_itself_is_not_held_too() -> None:
    lines = delay.lines_of({NEAR: 0.05, FAR: 0.2})
    assert lines[NEAR].hold_s == 0.0
    assert lines[FAR].hold_s == pytest.approx(0.0001)


def test_a_route_leads_to_one_address_through_one_interface() -> None:
    made = delay.route(NEAR, 7)
    family, length = made[:2]
    assert (family, length, made[4]) == (socket.AF_INET, 32, 254)  # of the main table
    attributes = made[12:]
    assert attributes[:8] == struct.pack("=HH", 8, 1) + NEAR
    assert attributes[8:] == struct.pack("=HHI", 8, 4, 7)


def test_a_service_that_has_ended_has_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(name: str) -> str:
        if name != "postgres":
            raise socket.gaierror(f"no {name}")
        return "172.20.0.2"

    monkeypatch.setattr(socket, "gethostbyname", known)
    assert delay.addresses_of({"postgres": 0.5, "migrate": 0.5}) == {NEAR: 0.5}
    assert ready.round_trips({"services": ["migrate"]}) == {}


def test_a_refused_and_an_accepted_connection_are_one_round_trip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(ready, "CLOSED_PORT", server.getsockname()[1])
        assert 0 < ready.once_ms("127.0.0.1") < 500
    assert 0 < ready.round_trips({"services": ["localhost"]})["localhost"] < 500


def test_processes_are_found_by_name() -> None:
    own = counters.read_process(os.getpid())
    assert own is not None
    assert own.name in {each.name for each in counters.named(own.name)}
    assert counters.named("no such process") == []
