"""A store with jobs of every kind and state, for tests of pages and for a look at them.

What runs was made by the real study on a host without containers, so its rows are of real jobs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests import builders, comparisons, finished_jobs
from tests.fake_bench import FakeWorld, Options, number
from tests.unit.study.scenes import SPACE
from tuner.nouns.model import (
    Budget,
    Checker,
    Danger,
    Doubt,
    Enter,
    Fail,
    Failure,
    FailureCode,
    History,
    JobId,
    JobKind,
    JobSpec,
    Ladder,
    LeftOut,
    Measure,
    MeasurementState,
    NewCheck,
    Phase,
    Preflight,
    PreflightFinding,
    Recommendation,
    ServiceFigures,
    ServiceUse,
    Step,
    Succeed,
    Variant,
    Verdict,
)
from tuner.service import bootstrap
from tuner.service.worker import Worker
from tuner.store.db.rows import params_key

BUDGET = Budget(
    trials=14,
    calibrate_blocks=3,
    race=4,
    race_blocks=4,
    ablate_runs=24,
    confirm_blocks=16,
    cycles=2,
    window_s=1.0,
)
NEW: Any = {"idempotency_key": None, "request_sha256": ""}
FAILURE = Failure(
    code=FailureCode.APP_FAILED,
    message="the app's import failed: no module named checkout",
    log_tail="Traceback (most recent call last):\nModuleNotFoundError: checkout",
)
PREFLIGHT = Preflight(
    left_out=(LeftOut(option="cron", line=9, danger=Danger.COMMANDS, file=""),),
    somaxconn=4096,
    findings=(
        PreflightFinding(
            rule="U019", severity="warning", line=4, file="", message="uWSGI ignores `vaccum`"
        ),
    ),
)
DRIFT = "processes: 2 deployed, 6 recommended"
COMPARED = Budget(trials=0, confirm_blocks=0, compare_blocks=6, cycles=1, window_s=1.0)
PHASES = {Phase.SEARCH: 9, Phase.RACE: 5, Phase.ABLATE: 3, Phase.CONFIRM: 3, Phase.COMPARE: 9}
"""Complete blocks with which a job stands still in each phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The numbers of the jobs."""

    better: JobId
    kept: JobId
    compared: JobId
    calibrated: JobId
    failed: JobId
    cancelled: JobId
    queued: JobId
    running: Mapping[Phase, JobId]

    @property
    def all(self) -> tuple[JobId, ...]:
        """Every job."""
        ended = (self.better, self.kept, self.compared, self.calibrated)
        return (*ended, self.failed, self.cancelled, self.queued, *self.running.values())


def fill(store: Any, of: Callable[[Any], Any] = lambda noun: noun) -> Filled:
    """Put in jobs of every kind and state; `of` may change each noun before it is stored."""
    hosts(store, of)
    earlier(store, of)
    found = of(answer())
    better = finished_jobs.stored(store, found, app="checkout", steps=[of(tried())], **spec_of(of))
    kept = finished_jobs.stored(store, of(no_better()), app="basket", **spec_of(of))
    drift = NewCheck(checker=Checker.RECOMMEND, job=better, holds=False, said=DRIFT)
    store.report_check("checkout", of(drift))
    store.report_check("checkout", NewCheck(checker=Checker.GATE, job=better, holds=True))
    running = {phase: stopped_in(store, phase) for phase in PHASES}
    last = store.create_job(of(builders.spec(app="checkout", pool="race")), **NEW)[0].job
    return Filled(
        better=better,
        kept=kept,
        compared=compared(store, of),
        calibrated=calibrated(store, of),
        failed=ended(store, of(builders.spec(app="basket")), Fail(failure=of(FAILURE))),
        cancelled=store.cancel(store.create_job(of(builders.spec()), **NEW)[0].job.id).job.id,
        queued=last.id,
        running=running,
    )


def spec_of(of: Callable[[Any], Any]) -> dict[str, Any]:
    """What `of` makes of the spec of a finished job, but for the app."""
    spec = of(finished_jobs.job(finished_jobs.recommendation()).spec)
    return {name: getattr(spec, name) for name in ("target", "baseline_ini", "pool", "limits")}


def answer() -> Recommendation:
    """With services beside the app."""
    used = ServiceFigures(cores=0.4, cpu=0.8, throttled=0.1, memory_mb=90.5)
    service = ServiceUse(name="postgres", baseline=used, candidate=replace(used, cpu=0.9))
    return finished_jobs.recommendation(services=(service,))


def no_better() -> Recommendation:
    """The user's file stays."""
    return finished_jobs.recommendation(
        comparison=finished_jobs.comparison(Verdict.NO_DIFFERENCE, 0.004),
        lines=(),
        uwsgi_ini=finished_jobs.OWN_INI,
    )


def tried() -> Measure:
    """The trials of a search that has ended, no two with equal parameters."""
    drawn = finished_jobs.history().trials
    different = {params_key(trial.params): trial for trial in drawn}  # the last one is the answer's
    return Measure(plans=(), trials=tuple(sorted(different.values(), key=lambda t: t.number)))


def earlier(store: Any, of: Callable[[Any], Any]) -> None:
    """Answers of the app before the newest one."""
    for verdict, estimate in (
        (Verdict.INCONCLUSIVE, 0.03),
        (Verdict.WORSE, -0.06),
        (Verdict.BETTER, 0.05),
    ):
        comparison = finished_jobs.comparison(verdict, estimate)
        found = of(finished_jobs.recommendation(comparison=comparison))
        finished_jobs.stored(store, found, app="checkout", **spec_of(of))


def hosts(store: Any, of: Callable[[Any], Any]) -> None:
    """One host that is ready, and one with a problem."""
    print_ = of(builders.FINGERPRINT)
    store.see_host("bench-1", "default", print_, None)
    store.see_host(of("bench-2"), "default", print_, of("docker is away: no such file"))
    for phase in PHASES:
        store.see_host(f"host-{phase}", phase.value, print_, None)


def compared(store: Any, of: Callable[[Any], Any]) -> JobId:
    """A comparison of three files."""
    found = comparisons.history(arms=3).job
    assert found.report is not None
    arms = tuple(replace(arm, doubts=(Doubt.SHARED_CPUS,)) for arm in found.report.arms)
    report = of(replace(found.report, arms=arms))
    return ended(store, of(found.spec), Succeed(report=report))


def calibrated(store: Any, of: Callable[[Any], Any]) -> JobId:
    """A host against itself."""
    spec = builders.spec(kind=JobKind.CALIBRATE, app="mixed", search_space=None)
    return ended(store, of(spec), Succeed(calibration=finished_jobs.CALIBRATION))


def ended(store: Any, spec: JobSpec, step: Step) -> JobId:
    """A job that ends with this step."""
    made = store.create_job(spec, **NEW)[0].job
    left = [Enter(phase=Phase.PREPARE, facts=replace(builders.FACTS, preflight=PREFLIGHT)), step]
    store.advance(made.id, lambda _: left.pop(0) if left else None)
    job_id: JobId = made.id
    return job_id


def throughput(options: Options) -> float:
    """More slots are faster up to 12; vacuum costs a little."""
    slots = number(options, "processes") * number(options, "threads")
    return 100.0 * min(slots, 12) * (0.97 if options.get("vacuum") == "true" else 1.0)


def stopped_in(store: Any, phase: Phase) -> JobId:
    """A job of a pool of its own that stands still after some blocks of a phase."""
    made = store.create_job(running_spec(phase), **NEW)[0].job
    worker = worker_of(store, phase.value)

    def is_there(history: History) -> bool:
        blocks = history.blocks(phase)
        complete = sum(block.state is MeasurementState.COMPLETE for block in blocks)
        return complete >= PHASES[phase]

    while not is_there(store.history(made.id)):
        assert step_on(store, worker, made.id), f"job {made.id} ended before {phase}"
    job_id: JobId = made.id
    return job_id


def running_spec(phase: Phase) -> JobSpec:
    """A tuning job; of a comparison, three files on a ladder, six rounds of two rungs."""
    own: dict[str, Any] = {"app": f"shop-{phase}", "pool": phase.value, "seed": 3}
    if phase is not Phase.COMPARE:
        return builders.spec(budget=BUDGET, search_space=SPACE, **own)
    files = {count: f"[uwsgi]\nmaster = true\nprocesses = {count}\n" for count in (2, 4, 8)}
    return builders.spec(
        kind=JobKind.COMPARE,
        variants=tuple(Variant(name=f"p{count}.ini", ini=ini) for count, ini in files.items()),
        baseline_ini=files[2],
        workload=Ladder(kind="ladder", concurrencies=(100, 1_000)),
        budget=COMPARED,
        search_space=None,
        **own,
    )


def worker_of(store: Any, pool: str) -> Worker:
    """A worker on a host without containers."""
    world = FakeWorld(throughput=throughput, noise_sd=0.02, start_sd=0.01)
    return Worker(
        name=f"host-{pool}",
        pool=pool,
        store=store,
        host=world.launcher,
        load=world.load,
        decide=bootstrap.decide(),
    )


def step_on(store: Any, worker: Worker, job_id: JobId) -> bool:
    """Let a job be measured once; False where it has ended."""
    worker.advance(job_id)
    history = store.history(job_id)
    if history.job.state.is_final:
        return False
    waiting = next(m for m in history.measurements if m.state is MeasurementState.QUEUED)
    worker.measure(waiting.id, lambda: False)
    return True
