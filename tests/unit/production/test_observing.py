"""Staged productions are named right, with their figures."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.production.staging import BOX, look, looks
from tuner.nouns.model import Bottleneck
from tuner.production.looking import Box
from tuner.production.observing import figures_of, observed

FULL: dict[str, Any] = {"busy": 4, "rps": 8.0, "queue": (30, 100)}


@pytest.mark.parametrize(
    ("staged", "named"),
    [
        ({**FULL, "cores": 0.05}, Bottleneck.IO_WAIT),
        ({**FULL, "cores": 0.98}, Bottleneck.CPU_QUOTA),
        ({**FULL, "cores": 0.5, "throttled": 0.6}, Bottleneck.CPU_QUOTA),
        ({**FULL, "cores": 0.3, "others": 1.7, "waited": 2.0}, Bottleneck.CPU_QUOTA),
        ({**FULL, "cores": 0.01, "others": 1.9, "waited": 0.01}, Bottleneck.IO_WAIT),
        ({"rps": 50.0, "exceptions": 2.0, "cores": 0.3}, Bottleneck.APP_ERRORS),
        ({"memory_mb": 250.0, "rps": 5.0}, Bottleneck.MEMORY),
        ({"busy": 2, "rps": 9.0, "queue": (100, 100), "overflows": 3.0}, Bottleneck.BACKLOG),
        ({"busy": 1, "rps": 9.0, "cores": 0.2}, Bottleneck.UNKNOWN),
    ],
)
def test_what_limits_is_named(staged: dict[str, Any], named: Bottleneck) -> None:
    assert observed(looks(30, **staged), BOX).diagnosis.bottleneck is named


def test_a_busy_minute_does_not_drown_in_a_quiet_hour() -> None:
    quiet = looks(300, rps=1.0)
    busy = looks(40, 301, busy=4, rps=1.0, queue=(100, 100))
    found = observed([*quiet, *busy], BOX)
    assert found.diagnosis.bottleneck is Bottleneck.IO_WAIT
    assert found.limited_s[Bottleneck.IO_WAIT] == pytest.approx(40, abs=10)
    assert found.limited_s[Bottleneck.UNKNOWN] == pytest.approx(300, abs=10)
    assert (found.queue_full_s, found.all_busy_s) == (40, 40)
    assert found.diagnosis.evidence["busy"] == 1.0


def test_without_its_cpu_nobody_knows_whether_a_busy_slot_waits() -> None:
    unseen: dict[str, Any] = {"usage": None, "processes": None, "waited_s": None, "machine": None}
    seen = [replace(each, **unseen) for each in looks(30, **FULL)]
    found = observed(seen, Box())
    assert found.diagnosis.bottleneck is Bottleneck.UNKNOWN
    assert "the CPU was not seen" in found.diagnosis.sentence


def test_the_cpu_of_a_cgroup_without_a_limit_is_that_of_the_processes() -> None:
    first, *_, last = looks(10, cores=0.4)
    assert last.usage is not None
    shared = replace(last, usage=replace(last.usage, cpu_s=15.0))
    assert figures_of([first, shared], Box(cpus=2.0))["target_cpu"] == pytest.approx(0.2)
    assert "memory" not in figures_of([first, shared], Box(cpus=2.0))


def test_a_uwsgi_that_began_anew_begins_a_new_span() -> None:
    anew = [replace(each, at_s=each.at_s + 100) for each in looks(20, rps=10.0, cores=0.1)]
    found = observed([*looks(100, rps=10.0, cores=0.1), *anew], BOX)
    assert found.rps == pytest.approx(10.0, rel=0.01)
    assert found.mean_ms == pytest.approx(20.0)


def test_the_requests_that_hold_the_slots_have_their_share() -> None:
    assert observed(looks(20, busy=3), BOX).requests == {"GET /shop/*": 1.0}


def test_one_look_is_too_few() -> None:
    with pytest.raises(ValueError, match="too short"):
        observed([look(0.0)], BOX)
