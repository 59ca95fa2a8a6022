"""Does the search find what is there, and claim nothing else? `make bench-search`.

Whole jobs are replayed on landscapes that were recorded on real containers: the study is the real
one, only the host is not. Every case is run with the same seeds, fixed below, and all of them are
reported. Rivals may spend the seconds that our job of the same seed took.

Every replayed job is one line of --out, written as soon as it is there; with the same file the run
goes on where it was stopped. A line's key says which landscape, noise, method and seed it is of,
and nothing of the code: after a change of the code begin with --fresh. The exit code is 1 where a
threshold is missed.
"""

import json
import math
import multiprocessing
import os
import signal
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing.pool import Pool
from pathlib import Path
from statistics import median

from rich.console import Console

from tests.benchmarks import rig
from tests.benchmarks.replay import asking, intervals, noise, overview, tables
from tests.benchmarks.replay.figures import Summary, summary
from tests.benchmarks.replay.jobs import (
    APPS,
    DEFAULT_SAMPLER,
    Case,
    Method,
    Rival,
    Scene,
    is_recorded,
    run,
    truth_of,
)
from tests.benchmarks.replay.samplers import AnySampler, SpaceFilling
from tests.benchmarks.replay.scoring import Result
from tests.benchmarks.replay.tables import Grid
from tuner.nouns.model import PRESETS, SamplerName

SEEDS = range(1, 201)
BUDGETS = {0.005: "standard", 0.01: "standard", 0.03: "standard", 0.08: "noisy"}
"""Noise levels, and what a job on so noisy a host is told to use."""

REGRET_AT_MOST = {0.005: 0.01, 0.01: 0.01, 0.03: 0.01, 0.08: 0.03}
"""Median loss on cpu-bound, by noise."""

REGRET_OF_RIVAL = 0.5  # of the median regret of TPE + best_trial at equal measured seconds
FALSE_CLAIMS_AT_MOST = 15 / 200  # on null landscapes: compatible with 5 %
WORSE_AT_MOST = 0.01
COVERAGE = (0.92, 0.98)
BIAS_BELOW = 0.005  # log ratio: half a point
NULLS_KEPT_AT_MOST = 0.10
REALS_KEPT_AT_LEAST = 0.90
ASK_MS_AT_MOST = 150.0

SAMPLERS: tuple[AnySampler, ...] = (*SamplerName, *SpaceFilling)

HONEST_APP = "cpu-bound"
"""The landscape whose regret has a threshold."""

METHODS: Mapping[Scene, tuple[Method, ...]] = {
    Scene.PLAIN: (*SAMPLERS, *Rival),
    Scene.NULL: (DEFAULT_SAMPLER, Rival.TPE_BEST),
    Scene.PLANTED: (DEFAULT_SAMPLER,),
    Scene.GOOD: (DEFAULT_SAMPLER, Rival.TPE_BEST),
}
"""What is run on which truth. A null truth has no regret, a planted one is about lines kept."""

OUT = Path.home() / ".cache" / "uwsgi-tuner" / "bench-search.jsonl"
PROGRESS_EVERY_S = 20.0

Results = dict[str, Result]
"""By the case's key."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One threshold, what was found, and whether it holds; None where there is nothing yet."""

    figure: str
    needed: str
    found: str
    holds: bool | None


def main() -> None:
    """Run, or go on, and print."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"  # for the processes below, which load their libraries afresh
    options = parsed()
    rig.begin()
    apps = [app for app in APPS if is_recorded(app)]
    for app in sorted(set(APPS) - set(apps)):
        print(f"there is no record of {app}: it is left out")
    cases = list(chosen(apps, options))
    results = stored(options.out, fresh=options.fresh)
    print(f"{len(cases)} cases, {sum(c.key in results for c in cases)} are in {options.out}\n")
    asks: dict[AnySampler, list[float]] = {}
    spawn, ignoring = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_IGN)
    with spawn.Pool(options.jobs, signal.signal, ignoring) as pool:  # Ctrl-C is for us alone
        try:
            if not options.only and HONEST_APP in apps:
                asks = {s: pool.apply(ask_times, (HONEST_APP, s)) for s in SAMPLERS}
            ours = [case for case in cases if not needs_seconds(case)]
            replay(ours, results, options.out, pool)
            theirs = [with_seconds(case, results) for case in cases if needs_seconds(case)]
            ready = [case for case in theirs if case.seconds]
            if len(ready) < len(theirs):
                print(f"{len(theirs) - len(ready)} rivals wait for our own jobs to be run")
            replay(ready, results, options.out, pool)
        except KeyboardInterrupt:
            print("\nstopped")
    verdicts = report(cases, results, asks, options)
    raise SystemExit(any(verdict.holds is False for verdict in verdicts))


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--only", action="append", default=[], help="cases whose key holds this")
    parser.add_argument(
        "--sampler", type=sampler_named, choices=SAMPLERS, help="only our jobs with it"
    )
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="the first so many")
    parser.add_argument("--budget", choices=sorted(PRESETS), help="whatever the noise is")
    parser.add_argument("--bad-machine", action="store_true", help="bursts of -30 %% besides")
    parser.add_argument(
        "--smoothed", action="store_true", help="draw the record towards an additive model"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs left")
    parser.add_argument("--out", type=Path, default=OUT, help="results, one a line")
    parser.add_argument("--markdown", type=Path, help="the tables; beside --out if not given")
    return parser.parse_args()


def sampler_named(name: str) -> AnySampler:
    """Ours, or one that only the benchmarks have. Raises `ValueError`."""
    return next((s for s in SAMPLERS if s.value == name), None) or SamplerName(name)


def chosen(apps: Sequence[str], options: Namespace) -> Iterator[Case]:
    """All cases that are asked for: seed by seed, so that a stopped run has some of everything."""
    for seed in SEEDS[: options.seeds]:
        for app in apps:
            for level, budget in BUDGETS.items():
                for scene, methods in METHODS.items():
                    for method in methods:
                        case = Case(
                            app=app,
                            scene=scene,
                            level=level,
                            method=method,
                            seed=seed,
                            budget=options.budget or budget,
                            is_bad_machine=options.bad_machine,
                            is_smoothed=options.smoothed,
                        )
                        if is_wanted(case, options):
                            yield case


def is_wanted(case: Case, options: Namespace) -> bool:
    """Whether it is among what --only and --sampler say."""
    if options.sampler is not None and case.method != options.sampler:
        return False
    return all(text in case.key for text in options.only)


def needs_seconds(case: Case) -> bool:
    """Whether it spends what our job took."""
    return case.method in (Rival.TPE_BEST, Rival.TPE_SEEDED_BEST, Rival.RANDOM_BEST)


def with_seconds(case: Case, results: Results) -> Case:
    """The case with the seconds of our job of the same seed, once that was run."""
    ours = results.get(case.reference.key)
    return replace(case, seconds=ours.measured_s if ours else None)


def ask_times(app: str, sampler: AnySampler) -> list[float]:
    """In a process of its own, on one core."""
    return asking.times_ms(truth_of(app, Scene.PLAIN, "standard"), sampler)


# ---- running


def stored(path: Path, *, fresh: bool) -> Results:
    """What earlier runs left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if fresh:
        path.unlink(missing_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    rows = (json.loads(line) for line in lines)
    return {row["key"]: Result(**row["result"]) for row in rows}


def replay(cases: Iterable[Case], results: Results, out: Path, pool: Pool) -> None:
    """Run what is missing, and write each result down."""
    missing = [case for case in cases if case.key not in results]
    began = printed = time.monotonic()
    with out.open("a") as file:
        for number, (case, result) in enumerate(pool.imap_unordered(ran, missing), start=1):
            results[case.key] = result
            print(json.dumps({"key": case.key, "result": asdict(result)}), file=file, flush=True)
            now = time.monotonic()
            if now - printed > PROGRESS_EVERY_S or number == len(missing):
                printed, left = now, (len(missing) - number) * (now - began) / number
                print(f"  {number} of {len(missing)} jobs, {left / 60:.0f} min left", flush=True)


def ran(case: Case) -> tuple[Case, Result]:
    """A case with what came of it."""
    return case, run(case)


# ---- reporting


def report(
    cases: Sequence[Case],
    results: Results,
    asks: Mapping[AnySampler, list[float]],
    options: Namespace,
) -> list[Verdict]:
    """Print all tables, write them as Markdown, and return the thresholds."""
    found: dict[str, list[Result]] = defaultdict(list)
    groups: dict[str, Case] = {}
    for case in cases:
        if case.key in results:
            found[case.group].append(results[case.key])
            groups.setdefault(case.group, case)
    summaries = {group: summary(rows) for group, rows in found.items()}
    verdicts = [*thresholds(groups, found, summaries), *ask_verdicts(asks)]
    apps = dict.fromkeys((case.app, case.is_smoothed) for case in groups.values())
    grids = [overview.records(apps), *overview.groups(groups, summaries), verdict_grid(verdicts)]
    console = Console(width=None if Console().is_terminal else 240)
    for grid in grids:
        grid.print(console)
    notes = f"{noise.__doc__}\n"
    console.print(notes, highlight=False)
    path = options.markdown or options.out.with_suffix(".md")
    path.write_text("\n".join([*(grid.markdown() for grid in grids), notes]))
    console.print(f"the same as Markdown: {path}")
    return verdicts


def thresholds(
    groups: Mapping[str, Case],
    found: Mapping[str, list[Result]],
    summaries: Mapping[str, Summary],
) -> Iterator[Verdict]:
    """Every threshold of ours on every landscape and noise that was run."""
    for group, case in groups.items():
        if case.method != DEFAULT_SAMPLER:
            continue
        where = f"{case.app}, {case.scene}, {100 * case.level:g} %, {case.budget}"
        seen = summaries[group]
        if case.scene is Scene.PLAIN and case.app == HONEST_APP and case.level in REGRET_AT_MOST:
            yield regret_verdict(where, seen, REGRET_AT_MOST[case.level], overview.resolution(case))
            rivals = found.get(replace(case, method=Rival.TPE_BEST).group)
            if rivals:
                yield rival_verdict(where, found[group], rivals)
        if case.scene is Scene.NULL:
            holds = seen.claims.value <= FALSE_CLAIMS_AT_MOST
            yield share_verdict(f"{where}: false claims", "at most 15 of 200", seen.claims, holds)
        else:
            holds = seen.worse.value <= WORSE_AT_MOST
            yield share_verdict(f"{where}: truly worse", "at most 1 %", seen.worse, holds)
        if case.scene is Scene.PLAIN:
            yield from honesty_verdicts(where, seen)
        if case.scene is Scene.PLANTED:
            yield from line_verdicts(where, seen)


def regret_verdict(where: str, seen: Summary, at_most: float, resolution: float) -> Verdict:
    """The median loss of what was shipped."""
    holds = seen.regret.value <= -math.log1p(-at_most)
    needed = f"at most {tables.percent(at_most)}"
    return Verdict(f"{where}: regret", needed, tables.loss(seen.regret, resolution), holds)


def rival_verdict(where: str, ours: Sequence[Result], theirs: Sequence[Result]) -> Verdict:
    """Our median regret over that of TPE + best_trial."""
    ratio = intervals.ratio_of_medians([r.regret for r in ours], [r.regret for r in theirs])
    text = f"{ratio.value:.2f} ({ratio.low:.2f} .. {ratio.high:.2f}), n {len(ours)}, {len(theirs)}"
    name = f"{where}: regret over that of {Rival.TPE_BEST}"
    return Verdict(name, f"at most {REGRET_OF_RIVAL:g}", text, ratio.value <= REGRET_OF_RIVAL)


def honesty_verdicts(where: str, seen: Summary) -> Iterator[Verdict]:
    """Coverage and bias of what was reported."""
    low, high = COVERAGE
    covered, bias = seen.coverage, seen.bias
    holds = None if covered is None else low <= covered.value <= high
    yield share_verdict(f"{where}: 95 % interval holds", "92-98 %", covered, holds)
    holds = None if bias is None else abs(bias.value) < BIAS_BELOW
    yield Verdict(f"{where}: bias", "below 0.5 points", tables.points(bias), holds)


def line_verdicts(where: str, seen: Summary) -> Iterator[Verdict]:
    """Which lines of the winner stay in the recommended file."""
    nulls, reals = seen.nulls_kept, seen.reals_kept
    holds = None if nulls is None else nulls.value <= NULLS_KEPT_AT_MOST
    yield share_verdict(f"{where}: null lines kept", "at most 10 %", nulls, holds)
    holds = None if reals is None else reals.value >= REALS_KEPT_AT_LEAST
    yield share_verdict(f"{where}: lines of 4 % or more kept", "at least 90 %", reals, holds)


def share_verdict(
    name: str, needed: str, seen: intervals.Figure | None, holds: bool | None
) -> Verdict:
    """A threshold on a share."""
    return Verdict(name, needed, tables.share(seen), holds)


def ask_verdicts(asks: Mapping[AnySampler, list[float]]) -> Iterator[Verdict]:
    """The default's `ask` has a threshold; the others are shown."""
    for sampler, times in asks.items():
        is_ours = sampler == DEFAULT_SAMPLER
        needed = f"at most {ASK_MS_AT_MOST:g} ms" if is_ours else tables.NONE
        holds = median(times) <= ASK_MS_AT_MOST if is_ours else None
        text = f"{rig.middle_half(times, digits=0)} ms"
        yield Verdict(f"{sampler}: ask at {asking.TRIALS} trials, one core", needed, text, holds)


def verdict_grid(verdicts: Sequence[Verdict]) -> Grid:
    """All thresholds."""
    grid = Grid("thresholds", ("figure", "needed", "found", ""))
    words = {True: "holds", False: "MISSED", None: tables.NONE}
    grid.rows.extend((v.figure, v.needed, v.found, words[v.holds]) for v in verdicts)
    return grid


if __name__ == "__main__":
    main()
