"""The pure parts of the script that runs beside the target."""

import json
from pathlib import Path
from typing import Any

import pytest

from tuner.load import probe
from tuner.uwsgi import stats

NETSTAT = """TcpExt: SyncookiesSent ListenOverflows ListenDrops
TcpExt: 1 42 43
IpExt: InNoRoutes InTruncatedPkts
IpExt: 0 0
"""
SOCKSTAT = """sockets: used 90
TCP: inuse 5 orphan 0 tw 7 alloc 9 mem 1
UDP: inuse 0 mem 0
"""


def worker(status: str, accepting: int) -> dict[str, Any]:
    return {
        "status": status,
        "accepting": accepting,
        "requests": 1,
        "respawn_count": 1,
        "running_time": 0,
        "cores": [{}],
    }


@pytest.mark.parametrize(
    ("workers", "ready"),
    [
        ([worker("idle", 1), worker("busy", 1)], True),
        ([worker("idle", 1), worker("idle", 0)], False),
        ([worker("idle", 1), worker("cheap", 0)], True),
        ([worker("idle", 1), worker("cheap", 1)], True),
        ([worker("cheap", 0)], False),
        ([], False),
    ],
)
def test_the_probe_and_the_stats_agree_on_what_is_ready(workers: list[Any], ready: bool) -> None:
    text = json.dumps({"workers": workers})
    assert probe.accepts(probe.census(text)) is ready
    assert stats.parse(text).is_ready is ready


def test_no_stats_are_not_ready() -> None:
    assert not probe.accepts(probe.census(None))
    assert not probe.accepts(probe.census("{"))


def test_a_few_respawns_are_borne() -> None:
    assert not probe.keeps_dying(None)
    assert not probe.keeps_dying({"processes": 2, "respawns": 5})
    assert probe.keeps_dying({"processes": 2, "respawns": 6})


def test_kernel_counters() -> None:
    assert probe.listen_overflows(NETSTAT) == 42
    assert probe.listen_overflows("") == 0
    assert probe.time_wait(SOCKSTAT) == 7
    assert probe.time_wait("") == 0


def test_one_url_is_a_word_and_several_are_a_file(tmp_path: Path) -> None:
    assert probe.with_urls(["oha"], ["http://a/"], str(tmp_path)) == ["oha", "http://a/"]
    argv = probe.with_urls(["oha"], ["http://a/", "http://b/"], str(tmp_path))
    assert argv[:2] == ["oha", "--urls-from-file"]
    assert Path(argv[2]).read_text() == "http://a/\nhttp://b/\n"


def test_it_needs_nothing_but_the_standard_library() -> None:
    lines = Path(probe.__file__).read_text().splitlines()
    imported = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import", "from"))
    }
    assert imported == {
        *("json", "os", "resource", "socket", "subprocess", "sys", "tempfile", "time", "typing")
    }
