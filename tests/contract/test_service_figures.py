"""What a block on the real engine shows of a service that is at its limit."""

from dataclasses import replace

import pytest

from tests import real_bench
from tests.bench_arms import SHORT
from tests.contract.test_backing import COUNTER, arm
from tuner.bench.measurement import ArmSpec, Bench
from tuner.judge import analysis, diagnosis
from tuner.nouns.model import Bottleneck, ClosedLoop, Doubt, Target

pytestmark = pytest.mark.docker

SPINS = {"build": "counter", "entrypoint": ["python3", "-c", "while True: pass"], "cpus": 0.1}


def beside_a_spinning_service(index: int) -> ArmSpec:
    plain = arm(index)
    services = {"counter": COUNTER, "spins": SPINS}
    target = Target.model_validate(plain.target.model_dump() | {"services": services})
    return replace(plain, target=target)


def test_a_service_at_its_limit_is_seen_in_windows_and_named() -> None:
    with real_bench.engine() as engine:
        launcher = engine.for_measurement("1", "7")
        arms = [beside_a_spinning_service(index) for index in (0, 1)]
        bench = Bench(launcher=launcher, load=real_bench.generators())
        result = bench.run_block(arms, ClosedLoop(concurrency=8), SHORT, seed=1)
        engine.end_jobs(())
    for window in result.windows:
        spins, counter = window.services["spins"], window.services["counter"]
        assert spins.throttled  # how often depends on the other work of this machine
        assert 0 < spins.memory_mb < 64
        assert counter.cores > 0
        over_time = window.over_time.usage
        assert set(over_time) == {"app", "counter", "spins"}
        assert over_time["spins"].cores
        assert max(over_time["spins"].memory_mb) < 64
        assert spins.written_mb == pytest.approx(0, abs=0.01)
    for number in (0, 1):  # each request adds a row
        mine = [window.services["counter"] for window in result.windows if window.arm == number]
        written = [used.written_mb or 0.0 for used in mine]
        assert 0 < written[0] < written[-1]
    assert Doubt.SERVICES_SATURATED in analysis.frequent(result.windows)
    found = diagnosis.diagnose(result.windows, arms[0].limits, processes=2, connections=8)
    assert found.bottleneck is Bottleneck.BACKING_SERVICE
    assert found.sentence.startswith("spins ")
