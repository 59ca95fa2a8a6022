"""The way from an app to its services on the real engine: as long as the target asks for."""

from typing import Any

import pytest

from tests import real_bench
from tests.bench_arms import SHORT
from tests.contract.test_backing import answer, arm
from tuner.bench.engine import DockerLauncher, target
from tuner.bench.measurement import Bench
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import ClosedLoop, FailureCode

pytestmark = pytest.mark.docker


def measured_ms(launcher: DockerLauncher, **counter: Any) -> float:
    """The lowest of three medians: another program may keep the CPUs busy."""
    asked = arm(**counter)
    with launcher.launch(asked) as running:
        load = real_bench.generators()
        load.wait_ready(running, asked.target)
        assert answer(running, "/count").isascii()
        return min(load.round_trips(running, asked.target)["counter"] for _ in range(3))


def test_round_trips_are_as_long_as_asked_for(launcher: DockerLauncher) -> None:
    for wanted_ms in (0.5, 2.0):
        found_ms = measured_ms(launcher, rtt_ms=wanted_ms)
        # Other tests run beside it and make it longer; `make bench-round-trips` has the promise.
        assert wanted_ms - 0.1 < found_ms < 1.1 * wanted_ms + 0.15
    assert measured_ms(launcher, rtt_ms=0) < 0.2
    assert measured_ms(launcher, runs="beside") < 0.2


def test_a_block_shows_the_round_trip_of_each_arm(launcher: DockerLauncher) -> None:
    bench = Bench(launcher=launcher, load=real_bench.generators())
    arms = [arm(0, rtt_ms=0), arm(1, rtt_ms=2)]
    result = bench.run_block(arms, ClosedLoop(concurrency=4), SHORT, seed=1)
    seen = [
        {window.services["counter"].rtt_ms for window in result.windows if window.arm == index}
        for index in (0, 1)
    ]
    assert [len(each) for each in seen] == [1, 1]
    near, far = ((each.pop() or 0.0) for each in seen)
    assert 0 < near < 0.5
    assert 1.9 < far < 3.0


def test_a_delay_that_has_ended_is_no_measurement(launcher: DockerLauncher) -> None:
    with launcher.launch(arm(rtt_ms=2)) as running:
        running.service_usage()
        assert running.delay is not None
        running.connection.remove([running.delay])
        with pytest.raises(Infrastructure, match="delays packets"):
            running.service_usage()


def test_a_host_that_cannot_delay_packets_refuses_and_says_what_to_do(
    launcher: DockerLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.bench.engine.options.TUN", "/dev/net/missing")
    monkeypatch.setattr(target, "TUN", "/dev/net/missing")
    refused = pytest.raises(TargetFailed, match="rtt_ms: 0")
    with refused as caught, launcher.launch(arm()):
        pass
    assert caught.value.code == FailureCode.WORKLOAD_REFUSED
    with launcher.launch(arm(rtt_ms=0)) as running:
        assert running.delay is None
