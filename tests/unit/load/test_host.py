"""The host's own counters."""

import pytest

from tuner.bench.load.probe import counters, usage
from tuner.uwsgi.topology import PROXY_PID

STAT = """cpu  100 10 50 9000 77 5 5 30 40 0
cpu0 50 5 25 4500 38 3 2 15 20 0
cpu1 50 5 25 4500 39 2 3 15 20 0
intr 5
"""
PRESSURE = """some avg10=1.53 avg60=0.87 avg300=0.40 total=2500000
full avg10=0.00 avg60=0.00 avg300=0.00 total=9
"""
NETSTAT = """TcpExt: SyncookiesSent ListenOverflows TCPReqQFullDrop
TcpExt: 1 42 43
IpExt: InNoRoutes InTruncatedPkts
IpExt: 0 0
"""
SOCKSTAT = """sockets: used 90
TCP: inuse 5 orphan 0 tw 7 alloc 9 mem 1
UDP: inuse 0 mem 0
"""


def test_waiting_for_a_disk_and_stolen_time_are_not_busy() -> None:
    found = usage.cpu_times(STAT)
    assert found["cpus"] == 2
    assert found["busy_s"] == pytest.approx(170 / counters.TICKS_PER_S)
    assert found["steal_s"] == pytest.approx(30 / counters.TICKS_PER_S)


def test_pressure_is_in_seconds() -> None:
    assert usage.parse_pressure(PRESSURE) == 2.5
    assert usage.parse_pressure("full avg10=0 total=5\n") is None


def test_differences_count_client_and_probe_as_our_own() -> None:
    before = {"cpus": 2, "busy_s": 10, "steal_s": 1, "client_s": 2, "probe_s": 1, "pressure_s": 3}
    after = {"cpus": 2, "busy_s": 14, "steal_s": 1, "client_s": 4, "probe_s": 2, "pressure_s": 5}
    assert usage.difference(before, after) == {
        "cpus": 2,
        "busy_s": 4,
        "steal_s": 0,
        "client_s": 2,
        "own_s": 3,
        "pressure_s": 2,
    }
    assert usage.difference({**before, "pressure_s": None}, after)["pressure_s"] is None


def test_this_machine_can_be_read() -> None:
    before = usage.snapshot()
    after = usage.snapshot()
    assert before["cpus"] >= 1
    assert usage.difference(before, after)["busy_s"] >= 0


def test_nginx_is_looked_for_where_the_engine_starts_it() -> None:
    assert usage.NGINX_PID == PROXY_PID


def test_kernel_counters() -> None:
    assert counters.paired(NETSTAT, "TcpExt:")["ListenOverflows"] == 42
    assert counters.paired(NETSTAT, "TcpExt:")["TCPReqQFullDrop"] == 43
    assert counters.paired("", "TcpExt:") == {}
    assert counters.time_wait(SOCKSTAT) == 7
    assert counters.time_wait("") == 0
