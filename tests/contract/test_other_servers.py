"""A server that is not uWSGI, in a real container with real load."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests import real_bench
from tuner.bench.measurement import ArmSpec, Bench, Preparation
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import Budget, ClosedLoop, Doubt, FailureCode, HttpRequest

pytestmark = pytest.mark.docker

FOLDER = ("python3", "-m", "http.server", "8000")
"""It lists its folder, in HTTP/1.0: each answer closes the connection."""

SHORT = Budget(trials=0, confirm_blocks=0, cycles=1, window_s=0.6, warmup_s=0.0)


@pytest.fixture
def bench() -> Iterator[Bench]:
    with real_bench.engine() as launcher:
        yield Bench(launcher.for_measurement("1", "7"), real_bench.generators())


def other(*command: str, index: int = 0, path: str = "/") -> ArmSpec:
    target = real_bench.moody(path).model_copy(update={"command": command})
    return replace(real_bench.moody_arm(target=target, index=index), ini="")


def test_it_is_measured_and_its_connections_count_its_requests(bench: Bench) -> None:
    kept = ClosedLoop(concurrency=4, keep_alive=True)
    (window,) = bench.run_block([other(*FOLDER)], kept, SHORT, seed=1).windows
    assert window.throughput_rps > 10
    assert window.served is None
    assert not {Doubt.COUNTER_MISMATCH, Doubt.UNCOUNTED} & {*window.doubts}
    assert window.server.connections_per_request == pytest.approx(1, abs=0.1)
    assert window.server.queue_size is not None
    assert window.target_cpu is not None
    assert window.target_cpu > 0.01
    assert (window.memory_mb or 0) > 1


def test_a_job_without_uwsgi_is_prepared_without_a_file(bench: Bench) -> None:
    result = Preparation(bench).run(other(*FOLDER), None, ClosedLoop(concurrency=4), processes=1)
    assert result.facts is not None
    assert (result.facts.uwsgi_version, result.facts.topology) == ("", "other")
    assert result.facts.memory.base_mb > 0


def test_one_that_serves_something_else_than_the_first_arm_is_at_fault(bench: Bench) -> None:
    arms = [real_bench.moody_arm(), other(*FOLDER, index=1)]
    with pytest.raises(TargetFailed, match="and the first arm with 200 and 2 bytes") as failed:
        bench.run_block(arms, ClosedLoop(requests=(HttpRequest(),)), SHORT, seed=1)
    assert (failed.value.arm, failed.value.code) == (1, FailureCode.WORKLOAD_REFUSED)


@pytest.mark.parametrize(
    ("arm", "code", "words"),
    [
        (other("no-such-server"), FailureCode.NOT_STARTED, "no-such-server"),
        (other("sh", "-c", "echo cannot bind; exit 1"), FailureCode.NOT_STARTED, "cannot bind"),
        (other("sleep", "60"), FailureCode.NOT_READY, "nothing listens on port 8000"),
        (other(*FOLDER, path="/absent"), FailureCode.ERRORS_ONLY, "with 404 only"),
    ],
)
def test_one_that_does_not_answer_says_why(
    bench: Bench, arm: ArmSpec, code: FailureCode, words: str
) -> None:
    with pytest.raises(TargetFailed, match=words) as failed:
        bench.run_block([arm], ClosedLoop(), SHORT, seed=1)
    assert failed.value.code == code
