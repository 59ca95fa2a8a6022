"""A landscape with planted values, as `tuner record` would have written it, and worlds on it."""

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.noise import Noise, residuals
from tests.benchmarks.replay.records import Landscape, Reading, Start
from tests.benchmarks.replay.world import World
from tests.builders import FACTS, space, spec
from tests.grids import grid
from tuner.nouns.model import FailureCode, JobSpec, Params, Scalar
from tuner.targets.search_space import derive

Planted = Callable[[Params], float]
"""Log throughput relative to 100 requests per second."""

SPACE = space(
    processes={"type": "int", "low": 1, "high": 16, "log": True},
    threads={"type": "choice", "values": [1, 2, 4]},
    logging={
        "type": "choice",
        "values": ["user", "errors-only"],
        "emit": {"errors-only": {"disable-logging": True}},
    },
)
SPEC = spec(search_space=SPACE)
PROCESSES = (1, 2, 4, 8, 16)


def by_slots(params: Params) -> float:
    """Best at 8 slots: 20 % for every doubling up to there, 10 % less beyond; no log: +6 %."""
    slots = int(params["processes"]) * int(params["threads"])
    doublings = math.log2(slots)
    quiet = 0.06 if params["logging"] == "errors-only" else 0.0
    return 0.2 * min(doublings, 3) - 0.1 * max(0.0, doublings - 3) + quiet


def landscape(
    planted: Planted = by_slots,
    *,
    fails: Callable[[Params], bool] = lambda params: False,
    rounds: int = 2,
    start_sd: float = 0.0,
    window_sd: float = 0.02,
    drift: float = 0.3,
    job: JobSpec = SPEC,
) -> Landscape:
    """Every configuration in a block of its own with the baseline; the host drifts by `drift`.

    Windows come in pairs about their start's level: noise does not move what is planted.
    """
    rng = random.Random(1)  # noqa: S311  planted noise
    domain = derive(job, FACTS.memory)
    configurations = grid(domain, {"processes": [str(count) for count in PROCESSES]})
    starts: list[Start] = []
    for number in range(rounds):
        for params in configurations:
            block = number * len(configurations) + configurations.index(params)
            level = rng.uniform(-drift, drift)
            if fails(params):
                broken = FailureCode.OUT_OF_MEMORY
                starts.append(Start(round=number, block=block, params=dict(params), failure=broken))
                continue
            for arm in (domain.baseline, params):
                own = planted(arm) + level + rng.gauss(0, start_sd)
                off = abs(rng.gauss(0, window_sd))
                readings = tuple(reading(own + sign * off) for sign in (-1, 1))
                starts.append(Start(round=number, block=block, params=dict(arm), readings=readings))
    return Landscape(spec=job, facts=FACTS, starts=tuple(starts))


def reading(log: float, **changes: Any) -> Reading:
    """A window of a closed loop whose throughput is e^log times 100 requests per second."""
    values: Mapping[str, float] = {
        "rps": 100 * math.exp(log),
        "p50": 10 * math.exp(-log),
        "p95": 20 * math.exp(-log),
        "p99": 30 * math.exp(-log),
        "memory": 50.0,
        "cpu": 0.9,
        "errors": 0.0,
    }
    return Reading(**{**values, **changes})


def params(processes: int = 2, threads: int = 1, logging: str = "user") -> dict[str, Scalar]:
    """A configuration of `SPACE`; without arguments the user's own."""
    return {"processes": processes, "threads": threads, "logging": logging}


def world(truth: Truth, record: Landscape, *, level: float = 0.03, seed: int = 1) -> World:
    """A host of that noise."""
    return World(truth, residuals(record), Noise(level=level), seed=seed)
