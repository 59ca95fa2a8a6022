"""A grid of configurations on one host: each starts once a round, in shuffled blocks.

The baseline is an arm of each block, to separate the host's drift from the configurations. A
configuration that fails is a result too and does not start again.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean

from tests.benchmarks.replay.records import Landscape, Reading, Start
from tuner.bench.measurement import ArmSpec, Bench, arm_of
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import (
    FailureCode,
    JobSpec,
    MeasurementResult,
    Params,
    Window,
)
from tuner.targets.search_space import Domain

AGAIN = 2
FOREIGN_CPUS = 0.15
"""A block is repeated if other processes keep more CPUs busy on average."""


def recorded(
    landscape: Landscape,
    domain: Domain,
    grid: Sequence[Params],
    bench: Bench,
    *,
    rounds: int,
    together: int,
) -> Iterator[Landscape]:
    """The landscape after every block, until each params of `grid` has its `rounds` starts.

    A block has `together` configurations besides the baseline. Starts in `landscape` are not
    repeated. Raises `Infrastructure`.
    """
    for number in range(rounds):
        order = random.Random(f"{landscape.spec.seed} {number}")  # noqa: S311  a shuffle
        shuffled = order.sample(grid, len(grid))
        for first in range(0, len(grid), together):
            chosen = shuffled[first : first + together]
            missing = [params for params in chosen if _is_missing(landscape, number, params)]
            while missing:
                starts, missing = _block(landscape, domain, missing, bench, number)
                landscape = landscape.model_copy(update={"starts": (*landscape.starts, *starts)})
                yield landscape


def _is_missing(landscape: Landscape, number: int, params: Params) -> bool:
    """Whether params have no start in this round yet, and never failed in an earlier one."""
    return not any(
        start.params == params and (start.round == number or start.failure is not None)
        for start in landscape.starts
    )


def _block(
    landscape: Landscape, domain: Domain, chosen: Sequence[Params], bench: Bench, number: int
) -> tuple[list[Start], list[Params]]:
    """The starts of one block, and the params to repeat without the arm that failed."""
    spec, block = landscape.spec, 1 + max((s.block for s in landscape.starts), default=-1)
    together = [domain.baseline, *chosen]
    arms = [arm_of(spec, index, domain.render(params)) for index, params in enumerate(together)]
    try:
        result = _undisturbed(bench, arms, spec, spec.seed + block)
    except TargetFailed as failure:
        if failure.arm == 0:
            raise
        broken = together[failure.arm]
        start = Start(
            round=number, block=block, params=dict(broken), failure=FailureCode(failure.code)
        )
        return [start], [params for params in chosen if params != broken]
    starts = [
        Start(
            round=number,
            block=block,
            params=dict(params),
            readings=_readings(result.windows, arm, spec),
        )
        for arm, params in enumerate(together)
    ]
    return starts, []


def _undisturbed(
    bench: Bench, arms: Sequence[ArmSpec], spec: JobSpec, seed: int
) -> MeasurementResult:
    """A block; one that a noisy neighbour disturbed is repeated at most `AGAIN` times."""
    for _ in range(AGAIN):
        result = bench.run_block(arms, spec.workload, spec.budget, seed=seed)
        seen = [w.surroundings.foreign_cpu for w in result.windows]
        foreign = [cpus for cpus in seen if cpus is not None]
        if not foreign or fmean(foreign) < FOREIGN_CPUS:
            return result
    return bench.run_block(arms, spec.workload, spec.budget, seed=seed)


def _readings(windows: Collection[Window], arm: int, spec: JobSpec) -> tuple[Reading, ...]:
    return tuple(
        Reading(
            rps=round(window.throughput_rps, 2),
            p50=_rounded(window.latency_p50_ms),
            p95=_rounded(window.latency_p95_ms),
            p99=_rounded(window.latency_p99_ms),
            memory=_rounded(window.memory_mb),
            cpu=_rounded(window.target_cpu, spec.limits.cpus),
            errors=round(window.error_rate, 5),
        )
        for window in sorted(windows, key=lambda window: window.index)
        if window.arm == arm
    )


def _rounded(value: float | None, factor: float = 1.0) -> float | None:
    return None if value is None else round(value * factor, 4)
