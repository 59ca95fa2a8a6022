"""A record of a grid of configurations: what is measured, what is kept, and going on."""

import json
from typing import Any

import pytest

from tests.benchmarks.record import as_text
from tests.benchmarks.replay.recording import recorded
from tests.benchmarks.replay.records import Landscape
from tests.builders import FACTS, INI, space, spec
from tests.fake_bench import FakeWorld, Options, number
from tests.grids import grid
from tuner.bench.measurement import Bench
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import Budget, FailureCode
from tuner.targets.search_space import derive

SPEC = spec(
    budget=Budget(trials=0, confirm_blocks=0, cycles=2, window_s=1.0, warmup_s=0),
    search_space=space(processes={"type": "int", "low": 1, "high": 6}),
)
DOMAIN = derive(SPEC)
GRID = grid(DOMAIN, {"processes": ("1", "2", "3", "4", "6")})


def record(world: FakeWorld, start: Landscape | None = None, rounds: int = 2) -> list[Landscape]:
    bench = Bench(world.launcher, world.load)
    begun = start or Landscape(spec=SPEC, facts=FACTS)
    return list(recorded(begun, DOMAIN, GRID, bench, rounds=rounds, together=2))


def by_processes(options: Options) -> float:
    return 100.0 * number(options, "processes")


def counts(landscape: Landscape) -> dict[Any, int]:
    """Starts by processes; those of the baseline (2) in every block are among them."""
    found: dict[Any, int] = {}
    for start in landscape.starts:
        found[start.params["processes"]] = found.get(start.params["processes"], 0) + 1
    return found


def test_every_configuration_is_started_in_every_round_beside_the_baseline() -> None:
    last = record(FakeWorld(throughput=by_processes))[-1]
    assert {n: c for n, c in counts(last).items() if n != 2} == {1: 2, 3: 2, 4: 2, 6: 2}
    for block in {start.block for start in last.starts}:
        own = [start for start in last.starts if start.block == block]
        assert own[0].params == DOMAIN.baseline
        assert 1 < len(own) <= 3


def test_a_start_keeps_every_window() -> None:
    last = record(FakeWorld(throughput=by_processes, noise_sd=0.0))[-1]
    start = next(start for start in last.starts if start.params["processes"] == 4)
    assert [reading.rps for reading in start.readings] == [400.0, 400.0]
    assert start.readings[0].p95 is not None


def test_a_record_goes_on_where_it_was_stopped() -> None:
    first = record(FakeWorld(throughput=by_processes))
    again = FakeWorld(throughput=by_processes)
    rest = record(again, first[1])
    assert counts(rest[-1]) == counts(first[-1])
    assert len(again.launches) == len(first[-1].starts) - len(first[1].starts)
    assert record(FakeWorld(), rest[-1]) == []


def test_what_does_not_run_is_a_result_and_not_started_again() -> None:
    def too_many(options: Options) -> FailureCode | None:
        return FailureCode.OUT_OF_MEMORY if number(options, "processes") > 5 else None

    last = record(FakeWorld(throughput=by_processes, fails=too_many))[-1]
    failed = [start for start in last.starts if start.failure is not None]
    assert [(start.params["processes"], start.failure) for start in failed] == [
        (6, FailureCode.OUT_OF_MEMORY)
    ]
    assert {n: c for n, c in counts(last).items() if n not in (2, 6)} == {1: 2, 3: 2, 4: 2}


def test_a_baseline_that_does_not_run_ends_the_record() -> None:
    def always(options: Options) -> FailureCode | None:
        return FailureCode.BAD_OPTIONS if number(options, "processes") == 2 else None

    with pytest.raises(TargetFailed):
        record(FakeWorld(fails=always))


def test_the_file_has_a_line_for_each_start_and_comes_back_whole() -> None:
    last = record(FakeWorld(throughput=by_processes))[-1]
    text = as_text(last)
    assert Landscape.model_validate_json(text) == last
    assert len(text.splitlines()) == len(last.starts) + 2
    assert json.loads(text)["spec"]["baseline_ini"] == INI
