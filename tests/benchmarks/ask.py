"""What asking costs: `python -m tests.benchmarks.ask`, on one core.

Prints the median and the middle half of `propose` at 30 and 100 trials of the default search
space for every sampler, and the same of `believe` and `explain`.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from tests.benchmarks.host import line, spread
from tests.benchmarks.replay.samplers import AnyOptimiser, AnySampler, SpaceFilling
from tests.builders import spec
from tuner.nouns.model import ClosedLoop, Limits, Params, SamplerName, TrialNumber
from tuner.study import Observation
from tuner.targets.catalogue import HostCatalogue
from tuner.targets.search_space import Domain, derive

ROOT = Path(__file__).parents[2]
SIZES = (30, 100)
SD = 0.05  # log ratio
OPTIMISER = AnyOptimiser()


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=15, help="calls per figure")
    count = parser.parse_args().asks
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    domain = default_domain()
    line("free parameters", str(len(domain.free)))
    observations = searched(domain, 8)
    first = timed(
        lambda _: OPTIMISER.propose(domain, observations, sampler=SamplerName.GP, seed=1), 1
    )
    line("first ask of the Gaussian process", f"{first[0]:.0f} ms: the domain is laid out")
    for size in SIZES:
        report(domain, searched(domain, size), count)


def report(domain: Domain, observations: list[Observation], count: int) -> None:
    """One line for every sampler, and for the judgements."""
    print(f"\n{len(observations)} trials, CPU ms")
    for sampler in (*SamplerName, *SpaceFilling):

        def ask(seed: int, sampler: AnySampler = sampler) -> object:
            return OPTIMISER.propose(domain, observations, sampler=sampler, seed=seed)

        show(f"propose, {sampler}", timed(ask, count))
    show("believe", timed(lambda _: OPTIMISER.believe(domain, observations), count))
    show(
        "explain",
        timed(lambda _: OPTIMISER.explain(domain, observations, observations[-1].params), count),
    )


def show(what: str, times_ms: list[float]) -> None:
    """One row of the table."""
    middle = f" {spread(times_ms)}" if len(times_ms) > 1 else ""
    line(what, f"{median(times_ms):7.1f}{middle}")


def timed(call: Callable[[int], object], count: int) -> list[float]:
    """CPU milliseconds of each call, which is given its number."""
    found = []
    for number in range(count):
        began = time.process_time()
        call(number)
        found.append(1000 * (time.process_time() - began))
    return found


def default_domain() -> Domain:
    """The default space on a box of two CPUs with room for 60 processes."""
    catalogue = HostCatalogue.load([ROOT / "target_apps"], [ROOT / "search_spaces"])
    return derive(
        spec(
            search_space=catalogue.spaces["default"],
            limits=Limits(cpus=2.0, memory_mb=4096, somaxconn=4096),
            workload=ClosedLoop(concurrency=128),
        )
    )


def searched(domain: Domain, trials: int) -> list[Observation]:
    """So many trials by the Sobol sequence with scores of a smooth hill and its noise."""
    rng = np.random.default_rng(trials)
    observations = [
        Observation(number=TrialNumber(0), params=domain.baseline, score=0.0, feasible=True)
    ]
    while len(observations) < trials:
        proposal = OPTIMISER.propose(
            domain, observations, sampler=SpaceFilling.QMC, seed=len(observations)
        )
        if proposal is None:
            raise SystemExit(f"the space has no more than {len(observations)} combinations")
        score = height(proposal.params) + SD * rng.standard_normal()
        number = TrialNumber(len(observations))
        observations.append(
            Observation(number=number, params=proposal.params, score=score, feasible=True, sd=SD)
        )
    return observations


def height(params: Params) -> float:
    """A hill over total concurrency, best at 24 slots."""
    slots = int(params["processes"]) * int(params["threads"])
    return float(1 - 0.1 * (np.log2(slots) - np.log2(24)) ** 2)


if __name__ == "__main__":
    main()
