"""One set of rules for the store in PostgreSQL and the one in memory, so that they cannot drift."""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from tests.builders import FACTS, FINGERPRINT, INI, space, spec, window
from tests.fake_store import FakeStore
from tests.statuses import blocks_by_trial, status_of, summary_of
from tests.stores import AnyStore
from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.model import (
    AS_BUDGETED,
    BASELINE,
    MOST_LISTED,
    Action,
    AnswerInBrief,
    ArmReport,
    Asked,
    BlockOptions,
    Bottleneck,
    Calibration,
    ChangedLine,
    Comparison,
    Compromise,
    Condition,
    Diagnosis,
    Doubt,
    Effect,
    Enter,
    Fail,
    Failure,
    FailureCode,
    Figure,
    Futility,
    Histogram,
    History,
    Job,
    JobId,
    JobKind,
    JobState,
    JobStatus,
    Measure,
    MeasurementId,
    MeasurementKind,
    MeasurementResult,
    MeasurementState,
    Metric,
    MissedBound,
    Origin,
    Outcome,
    OverTime,
    Params,
    Phase,
    Plan,
    Priority,
    ProxyTimes,
    Recommendation,
    Report,
    RequestFigures,
    Scene,
    SceneRun,
    ServerFigures,
    ServiceFigures,
    ServiceUse,
    Settle,
    Sign,
    Spread,
    Step,
    Succeed,
    Surroundings,
    Tally,
    Trial,
    TrialNumber,
    TrialState,
    UnderCondition,
    UsageSeries,
    Variant,
    Verdict,
)
from tuner.store.db import Store
from tuner.store.db import host_alive as real_host_alive

WORKERS = itertools.count(1)  # their numbers in the queue
NEW: Any = {"idempotency_key": None, "request_sha256": "s"}
COMPARE = spec(
    kind=JobKind.COMPARE,
    variants=(Variant(name="a.ini", ini=INI), Variant(name="b.ini", ini=f"{INI}threads = 2\n")),
    search_space=None,
)

CALIBRATION = Calibration(
    blocks=2,
    bias=0.001,
    bias_ci_low=-math.inf,
    bias_ci_high=0.02,
    block_sd=0.01,
    mde=0.015,
    throughput_rps=120.5,
    resolves_min_effect=True,
    doubts=(Doubt.SHARED_CPUS,),
    start_sd=0.008,
    window_sd=0.02,
    period_s=2.5,
    client_cpu=0.3,
    block_s=14.2,
    hosts=("bench-1",),
)
EFFECT = Effect(metric=Metric.THROUGHPUT_RPS, estimate=0.068, ci_low=0.049, ci_high=0.087)
RECOMMENDATION = Recommendation(
    services=(
        ServiceUse(name="redis", baseline=ServiceFigures(cores=0.1, memory_mb=9.5), candidate=None),
    ),
    comparison=Comparison(
        verdict=Verdict.BETTER,
        effect=EFFECT,
        p_better=0.999,
        mde=0.02,
        blocks=24,
        reason="it is",
        side_effects=(EFFECT,),
        missed=(MissedBound(name="latency_p95_ms", is_users=True, excess=0.1, sentence="so"),),
    ),
    candidate=TrialNumber(1),
    params={"processes": 4, "thunder_lock": True, "logging": "errors"},
    lines=(ChangedLine(option="processes", value="4", baseline_value=None, effect=EFFECT),),
    reverted=(),
    diagnosis=Diagnosis(
        bottleneck=Bottleneck.IO_WAIT, sentence="it waits", evidence={"busy": 0.97}
    ),
    reason="+6.8 %",
    uwsgi_ini="[uwsgi]\nprocesses = 4\n",
    overlay_ini="[uwsgi]\nprocesses = 4\n",
    doubts=(Doubt.SHARED_CPUS,),
    compromise=Compromise(
        effect=EFFECT,
        blocks=4,
        conditions=(
            UnderCondition(
                condition=Condition.BESIDE, where="there", effect=EFFECT, blocks=4, sign=Sign.HOLDS
            ),
        ),
        sentence="it gains everywhere",
        uwsgi_ini="[uwsgi]\nprocesses = 2\n",
    ),
)
DIAGNOSIS = Diagnosis(bottleneck=Bottleneck.IO_WAIT, sentence="it waits", evidence={"busy": 0.97})
SPREAD = Spread(p50_ms=1.5, p95_ms=9.25, max_ms=1007.0)
REPORT = Report(
    arms=(
        ArmReport(
            name="a.ini",
            figures=(
                Figure(
                    metric=Metric.THROUGHPUT_RPS,
                    value=100.0,
                    ci_low=-math.inf,
                    ci_high=math.inf,
                    rung=64,
                ),
            ),
            effects=(EFFECT,),
            verdict=Verdict.INCONCLUSIVE,
            blocks=4,
            windows=8,
            requests=800,
            errors_by_class={"reset": 2},
            diagnosis=DIAGNOSIS,
            doubts=(Doubt.UNSTABLE_START,),
            latency=Histogram({3: 4, 130: 1}),
            connect=SPREAD,
            over_limit=0.25,
            by_request=(RequestFigures(request=0, sent=2, failed=0, over_limit=1, p95_ms=2.5),),
            failure=Failure(code=FailureCode.DIED, message="died"),
        ),
    ),
    blocks=4,
)
FAILURE = Failure(code=FailureCode.NOT_READY, message="no 200", arm=1, log_tail="boom\n")
RESULT = MeasurementResult(
    windows=(
        window(0, 100.0),
        window(1, 130.0, index=1, latency_p99_ms=None, served=None, doubts=(Doubt.ERRORS,)),
        window(1, 131.5, index=2, errors=3, errors_by_class={"http_502": 2, "reset": 1}),
        window(
            0,
            90.0,
            index=3,
            sent=95,
            connections=500,
            stalled=3,
            over_limit=0.125,
            connect=SPREAD,
            proxy=ProxyTimes(
                requests=90,
                by_status={"200": 89, "502": 1},
                connect=SPREAD,
                header=SPREAD,
                response=SPREAD,
                request=SPREAD,
            ),
            server=ServerFigures(busiest_process=0.98, queue_p95=0.4, oom_kills=1, cores=0.9),
            services={
                "postgres": ServiceFigures(cores=0.4, cpu=0.8, throttled=0.1, memory_mb=90.5),
                "redis": ServiceFigures(cores=0.02, memory_mb=9.0, oom_kills=1),
            },
            surroundings=Surroundings(
                steal=0.01,
                foreign_cpu=0.4,
                pressure=0.0,
                cpu_speed=19.5,
                refusal="FATAL:  too many clients",
            ),
            series=(20, 25, 22, 23),
            over_time=OverTime(
                queue=(0, 3, 1, 0),
                usage={"app": UsageSeries(cores=(0.5, 0.9), memory_mb=(40.0, 41.5))},
            ),
            histogram=Histogram({3: 4, 130: 1}),
            by_request=(
                RequestFigures(request=0, sent=3, failed=1, histogram=Histogram({130: 2})),
                RequestFigures(request=2, sent=2, failed=0, over_limit=1, max_ms=5.5),
            ),
        ),
    ),
    setup_s=1.5,
    load_s=6.0,
    ready_s=(0.3, 0.31),
    ini_sha256=("aa", "bb"),
    is_cut_short=True,
    scene_runs=(
        SceneRun(scene=Scene.HUNG_WORKER, arm=1, limit_s=1.0, sent=60, failed=0.1, late=0.25),
        SceneRun(scene=Scene.RELOAD, arm=0, note="uWSGI is not the server"),
    ),
)


@contextmanager
def host_alive(store: AnyStore, name: str) -> Iterator[None]:
    """A worker of that name lives."""
    if isinstance(store, FakeStore):
        with store.host_alive(name):
            yield
        return
    url = store._engine.url.render_as_string(hide_password=False)
    with real_host_alive(url, name, "default") as liveness:
        liveness.register(next(WORKERS))
        yield
    deadline = time.monotonic() + 30
    while _has_locks(store):  # PostgreSQL notices a closed connection a moment later
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _has_locks(store: Store) -> bool:
    query = (
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with store._engine.connect() as connection:
        return connection.execute(text(query)).first() is not None


def create(store: AnyStore, key: str | None = None, sha: str = "s", pool: str = "default") -> Job:
    return store.create_job(spec(pool=pool), idempotency_key=key, request_sha256=sha)[0].job


def once(*steps: Step) -> Callable[[History], Step | None]:
    """A decider that asks for these steps, and then for nothing."""
    left = list(steps)
    return lambda _: left.pop(0) if left else None


def trial(number: int, **params: bool | int | str) -> Trial:
    origin = Origin.SAMPLER if number else Origin.BASELINE
    return Trial(number=TrialNumber(number), params=params, origin=origin, state=TrialState.RUNNING)


def plan(sequence: int, *arms: int, phase: Phase = Phase.SEARCH) -> Plan:
    numbers = tuple(TrialNumber(arm) for arm in arms)
    return Plan(sequence=sequence, kind=MeasurementKind.BLOCK, phase=phase, arms=numbers)


PARAMS: Params = {"processes": 4, "thunder_lock": True, "logging": "errors"}
START = Enter(phase=Phase.PREPARE)


def queued(store: AnyStore, app: str, priority: Priority = Priority.INTERACTIVE) -> JobId:
    asked = spec(app=app, priority=priority)
    return store.create_job(asked, idempotency_key=None, request_sha256="")[0].job.id


def order(store: AnyStore, *job_ids: JobId) -> list[JobId]:
    """Jobs that wait, the next one first."""
    places = {job_id: store.status(job_id).queue_position for job_id in job_ids}
    return sorted(places, key=lambda job_id: places[job_id] or 0)


def started(store: AnyStore, pool: str = "default") -> JobId:
    """A running job with one queued block of trials 0 and 1."""
    job = create(store, pool=pool)
    trials = (trial(0, processes=2), trial(1, **PARAMS))
    store.advance(job.id, once(START, Measure(plans=(plan(1, 0, 1),), trials=trials)))
    return job.id


def block_of(store: AnyStore, job_id: JobId) -> MeasurementId:
    return store.measurements(job_id)[0].id


def _by_shape(status: JobStatus) -> list[Tally]:
    """Tallies in an order of their own, and seconds as far as a float tells them."""
    rounded = [replace(t, took_s=round(t.took_s, 3)) for t in status.tallies]
    return sorted(rounded, key=lambda t: (t.phase, t.state, t.arms, t.cycles or 0))


class TestJobs:
    def test_a_new_job_is_queued_and_holds_the_whole_spec(self, store: AnyStore) -> None:
        status, created = store.create_job(spec(), idempotency_key=None, request_sha256="s")
        assert created
        assert store.status(status.job.id) == status
        job = status.job
        assert (job.state, job.phase) == (JobState.QUEUED, Phase.VALIDATE)
        assert job.spec == spec()
        assert store.job(job.id) == job

    def test_the_status_of_a_job_adds_up_its_rows(self, store: AnyStore) -> None:
        job_id = started(store)
        infinite = Outcome(state=TrialState.COMPLETE, score=0.9, constraints={"p95": math.inf})
        found = {1: (0.1, -0.1), 2: (0.5, 0.2), 3: (0.3, 0.0), 4: (0.3, -1.0)}
        new = [replace(trial(n), params={"processes": 10 + n}) for n in range(2, 8)]
        plans = [
            plan(2, 0, 2, 3),
            replace(plan(3, 0, 1), block_options=BlockOptions(cycles=3)),
            plan(4, 0, 0, phase=Phase.CALIBRATE),
            plan(5, 0, 4),
        ]
        settled = [
            Settle(
                number=TrialNumber(n),
                outcome=Outcome(
                    state=TrialState.COMPLETE, score=score, constraints={"p95": excess}
                ),
            )
            for n, (score, excess) in found.items()
        ]
        settled.append(Settle(number=TrialNumber(5), outcome=infinite))
        planned = Measure(plans=tuple(plans), trials=tuple(new))
        store.advance(job_id, once(planned, *settled))
        for made in store.measurements(job_id)[:4]:
            claim = store.claim(made.id, "a" if made.sequence < 3 else "b")
            assert claim is not None
            windows = tuple(window(n, 100.0, index=n) for n in range(len(made.arms)))
            result = MeasurementResult(windows=windows, load_s=10.5 + made.sequence)
            store.complete(made.id, claim.measurement.attempt, result)
        status, rows = store.status(job_id), store.measurements(job_id)
        expected = status_of(
            store.job(job_id),
            store.trials(job_id),
            rows,
            revision=status.revision,
            queue_position=None,
            waits_for=status.waits_for,
        )
        assert replace(status, tallies=()) == replace(expected, tallies=())
        assert (status.candidates, status.settled) == (7, 5)
        assert status.best is not None
        assert status.best.number == 3
        assert _by_shape(status) == _by_shape(expected)
        assert store.blocks_by_trial(job_id) == blocks_by_trial(rows) == {0: 4, 1: 2, 2: 1, 3: 1}

    def test_a_search_space_keeps_the_order_in_which_it_was_written(self, store: AnyStore) -> None:
        # By length or by letter, as jsonb sorts, this would come back otherwise.
        emit = {"quiet": {"log-5xx": True, "a": True, "disable-logging": True}}
        written = space(
            processes={"type": "int", "low": 1, "high": 8},
            logging={"type": "choice", "values": ["user", "quiet"], "emit": emit},
            threads={"type": "bool"},
        )
        chosen = spec(search_space=written)
        job = store.create_job(chosen, idempotency_key=None, request_sha256="s")[0].job
        kept = store.job(job.id).spec.search_space
        assert kept is not None
        assert list(kept.parameters) == ["processes", "logging", "threads"]
        assert kept.model_dump_json() == written.model_dump_json()

    def test_the_same_key_and_request_give_the_same_job(self, store: AnyStore) -> None:
        first = create(store, key="k")
        again, created = store.create_job(spec(), idempotency_key="k", request_sha256="s")
        assert (again.job, created) == (first, False)
        assert len(store.jobs()) == 1

    def test_an_equal_request_that_goes_on_gets_the_earlier_job(self, store: AnyStore) -> None:
        def asked(sha256: str | None, **more: Any) -> tuple[JobId, bool]:
            status, is_new = store.create_job(spec(), Asked(sha256=sha256, **more), **NEW)
            return status.job.id, is_new

        first, is_new = asked("a", go_on=True)
        assert is_new
        assert asked("a", go_on=True) == (first, False)
        newest, is_new = asked("a")
        assert is_new, "it does not go on"
        assert asked("a", go_on=True) == (newest, False), "the newest of those that wait"
        assert asked("b", go_on=True)[1], "another request"
        assert asked(None, go_on=True)[1], "it equals no other"
        store.advance(first, once(START))
        assert asked("a", go_on=True) == (first, False), "the one that runs"
        store.cancel(newest)
        store.advance(first, once(Succeed(recommendation=replace(RECOMMENDATION, doubts=()))))
        ended = store.job(first).finished_at
        assert ended is not None
        assert asked("a", go_on=True, answered_since=ended) == (first, False)
        later = ended + timedelta(seconds=1)
        assert asked("a", go_on=True, answered_since=later)[1], "its answer is too old"

    def test_the_same_key_with_another_request_is_a_conflict(self, store: AnyStore) -> None:
        create(store, key="k")
        with pytest.raises(Conflict, match="'k'"):
            create(store, key="k", sha="other")

    def test_a_job_that_is_not_there(self, store: AnyStore) -> None:
        for ask in (
            store.job,
            store.trials,
            store.measurements,
            store.status,
            store.version,
            store.cancel,
        ):
            with pytest.raises(NotFound, match="99"):
                ask(JobId(99))

    def test_jobs_are_listed_newest_first_by_page(self, store: AnyStore) -> None:
        ids = [create(store).id for _ in range(5)]
        page = store.jobs(limit=2)
        assert [job.id for job in page] == [ids[4], ids[3]]
        assert [job.id for job in store.jobs(after=page[-1].id)] == [ids[2], ids[1], ids[0]]

    def test_jobs_are_filtered_by_app_and_state(self, store: AnyStore) -> None:
        create(store)
        store.create_job(spec(app="other"), idempotency_key=None, request_sha256="s")
        assert [job.app for job in store.jobs(app="other")] == ["other"]
        assert store.jobs(state=JobState.RUNNING) == []

    def test_jobs_are_filtered_by_kind(self, store: AnyStore) -> None:
        create(store)
        asked = store.create_job(COMPARE, **NEW)[0].job
        assert store.jobs(kind=JobKind.COMPARE) == [summary_of(asked)]
        assert [job.kind for job in store.jobs()] == [JobKind.COMPARE, JobKind.TUNE]

    def test_a_comparison_is_no_recommendation(self, store: AnyStore) -> None:
        asked = store.create_job(COMPARE, **NEW)[0].job
        store.advance(asked.id, once(START, Succeed(report=REPORT)))
        assert store.latest_in_brief(COMPARE.app) is None

    def test_a_job_says_what_keeps_every_host_of_its_pool_from_measuring(
        self, store: AnyStore
    ) -> None:
        job_id = create(store).id
        versions = {store.version(job_id)}
        assert "no worker is live" in (store.status(job_id).waits_for or "")
        store.see_host("other", "other", None, None)
        store.see_host("b", "default", None, "no image")
        store.see_host("a", "default", None, "docker is away")
        status = store.status(job_id)
        assert status.waits_for == "a: docker is away; b: no image"
        assert status.version == store.version(job_id)
        versions.add(status.version)
        store.see_host("b", "default", None, None)
        assert store.status(job_id).waits_for is None
        versions.add(store.version(job_id))
        assert len(versions) == 3
        store.see_host("b", "default", None, "no image")
        assert store.cancel(job_id).waits_for is None

    def test_the_queue_position_counts_the_pools_jobs_ahead(self, store: AnyStore) -> None:
        first = started(store)
        second, third = create(store).id, create(store).id
        elsewhere = create(store, pool="other").id
        positions = [store.status(id_).queue_position for id_ in (first, second, third, elsewhere)]
        assert positions == [None, 1, 2, 0]

    def test_apps_take_turns(self, store: AnyStore) -> None:
        shop = [queued(store, "shop") for _ in range(3)]
        cart = [queued(store, "cart") for _ in range(2)]
        assert order(store, *shop, *cart) == [shop[0], cart[0], shop[1], cart[1], shop[2]]
        store.advance(shop[0], once(START))
        new = queued(store, "new")
        waiting = [*shop[1:], *cart, new]
        assert order(store, *waiting) == [cart[0], new, shop[1], cart[1], shop[2]]
        for ended in (shop[0], cart[0]):
            store.cancel(ended)
        assert order(store, *shop[1:], cart[1], new) == [cart[1], new, shop[1], shop[2]]
        store.advance(cart[1], once(START))
        store.cancel(cart[1])
        last = queued(store, "cart")
        assert order(store, *shop[1:], new, last) == [new, shop[1], last, shop[2]]

    def test_the_next_jobs_of_all_pools_come_first(self, store: AnyStore) -> None:
        shop = [queued(store, "shop") for _ in range(2)]
        cart = queued(store, "cart")
        elsewhere = create(store, pool="other").id
        store.advance(shop[0], once(START))
        assert store.next_jobs(9) == [cart, elsewhere, shop[1]]
        assert store.next_jobs(2) == [cart, elsewhere]

    def test_interactive_jobs_come_before_nightly_ones(self, store: AnyStore) -> None:
        nightly = [queued(store, "shop", Priority.NIGHTLY) for _ in range(2)]
        assert store.history(nightly[0]).may_start
        interactive = [queued(store, "shop") for _ in range(2)]
        assert order(store, *nightly, *interactive) == [*interactive, *nightly]
        assert not store.history(nightly[0]).may_start
        store.advance(interactive[0], once(START))
        assert [job.priority for job in store.jobs()] == ["interactive"] * 2 + ["nightly"] * 2


class TestAdvance:
    def test_the_first_phase_starts_the_job(self, store: AnyStore) -> None:
        job = create(store)
        store.advance(job.id, once(START))
        now = store.job(job.id)
        assert (now.state, now.phase) == (JobState.RUNNING, Phase.PREPARE)
        assert now.started_at is not None

    def test_what_a_phase_found_out_is_kept_by_the_later_ones(self, store: AnyStore) -> None:
        job = create(store)
        store.advance(
            job.id,
            once(
                START,
                Enter(phase=Phase.CALIBRATE, facts=FACTS),
                Enter(phase=Phase.SEARCH, calibration=CALIBRATION),
                Enter(phase=Phase.CONFIRM, finalist=BASELINE),
                Enter(phase=Phase.CONFIRM),
            ),
        )
        now = store.job(job.id)
        assert (now.facts, now.calibration, now.finalist) == (FACTS, CALIBRATION, BASELINE)

    def test_a_file_out_of_the_image_becomes_part_of_the_job(self, store: AnyStore) -> None:
        job = create(store)
        store.advance(job.id, once(START, Enter(phase=Phase.PREPARE, baseline_ini="[uwsgi]\n")))
        assert store.job(job.id).spec == job.spec.with_file("[uwsgi]\n")
        empty = Plan(sequence=0, kind=MeasurementKind.PREPARE, phase=Phase.PREPARE, arms=())
        store.advance(job.id, once(Measure(plans=(empty,))))
        claim = store.claim(block_of(store, job.id), "h")
        assert claim is not None
        assert claim.params == ()
        result = MeasurementResult(facts=FACTS, baseline_ini="[uwsgi]\n")
        assert store.complete(claim.measurement.id, claim.measurement.attempt, result)
        assert store.measurements(job.id)[0].result == result

    def test_decide_sees_what_its_last_step_wrote(self, store: AnyStore) -> None:
        seen: list[tuple[int, int]] = []
        steps: list[Step | None] = [
            START,
            Measure(plans=(plan(1, 0, 0),), trials=(trial(0),)),
            None,
        ]

        def decide(history: History) -> Step | None:
            seen.append((len(history.trials), len(history.measurements)))
            return steps.pop(0)

        store.advance(create(store).id, decide)
        assert seen == [(0, 0), (0, 0), (1, 1)]

    def test_decide_sees_the_rows_as_they_are_stored(self, store: AnyStore) -> None:
        outcome = Outcome(state=TrialState.COMPLETE, score=0.1 + 0.2, constraints={"p95": -1e-9})
        plans = tuple(plan(sequence, 0, 1) for sequence in (2, 1))
        steps: list[Step | None] = [
            START,
            Measure(plans=plans, trials=(trial(0), trial(1, processes=3))),
            Settle(number=TrialNumber(1), outcome=outcome),
            None,
        ]
        seen: list[History] = []

        def decide(history: History) -> Step | None:
            seen.append(history)
            return steps.pop(0)

        job = create(store)
        store.advance(job.id, decide)
        assert replace(seen[-1], now=job.created_at) == replace(
            store.history(job.id), now=job.created_at
        )

    def test_asking_twice_for_the_same_work_makes_it_once(self, store: AnyStore) -> None:
        job = create(store)
        step = Measure(plans=(plan(1, 0, 1),), trials=(trial(0), trial(1, processes=3)))
        store.advance(job.id, once(START, step, step))
        assert [m.sequence for m in store.measurements(job.id)] == [1]
        assert [t.number for t in store.trials(job.id)] == [0, 1]

    def test_params_come_back_with_their_types(self, store: AnyStore) -> None:
        job_id = started(store)
        params = store.trial(job_id, TrialNumber(1)).params
        assert params == PARAMS
        assert [type(params[name]) for name in PARAMS] == [int, bool, str]

    def test_a_trial_is_settled_once(self, store: AnyStore) -> None:
        job_id = started(store)
        outcome = Outcome(
            state=TrialState.COMPLETE,
            score=0.05,
            constraints={"latency_p99_ms": math.inf, "memory_mb": -0.5},
            doubts=(Doubt.CLIENT_SATURATED,),
            failure=FAILURE,
        )
        later = replace(outcome, state=TrialState.FAILED, score=None)
        number = TrialNumber(1)
        settle = Settle(number=number, outcome=outcome)
        store.advance(job_id, once(settle, Settle(number=number, outcome=later)))
        found = store.trial(job_id, number)
        assert (found.state, found.outcome) == (TrialState.COMPLETE, outcome)

    def test_a_trial_with_more_blocks_than_before_is_settled_anew(self, store: AnyStore) -> None:
        job_id, number = started(store), TrialNumber(1)

        def settle(blocks: int, score: float, state: TrialState = TrialState.COMPLETE) -> Outcome:
            outcome = Outcome(
                state=state,
                score=score,
                constraints={},
                blocks=blocks,
                gains={"throughput_rps": score},
            )
            store.advance(job_id, once(Settle(number=number, outcome=outcome)))
            return outcome

        settle(1, 0.08)
        second = settle(2, 0.05, TrialState.INFEASIBLE)
        settle(2, 0.09)
        settle(1, 0.07)
        found = store.trial(job_id, number)
        assert (found.state, found.outcome) == (TrialState.INFEASIBLE, second)

    @pytest.mark.parametrize("origin", Origin)
    def test_whoever_proposed_a_trial_is_remembered(self, store: AnyStore, origin: Origin) -> None:
        job = create(store)
        proposed = replace(trial(1, processes=3), origin=origin)
        store.advance(job.id, once(START, Measure(plans=(), trials=(proposed,))))
        assert store.trial(job.id, TrialNumber(1)) == proposed

    def test_a_block_keeps_the_course_that_it_was_planned_with(self, store: AnyStore) -> None:
        futility = Futility(metric=Metric.THROUGHPUT_RPS, best=0.125, sd=0.03)
        courses = [
            BlockOptions(cycles=3, futility=futility),
            AS_BUDGETED,
            BlockOptions(scenes=(Scene.HUNG_WORKER, Scene.RELOAD)),
        ]
        plans = [
            replace(plan(n, 0, 1), block_options=block_options)
            for n, block_options in enumerate(courses)
        ]
        job = create(store)
        trials = (trial(0, processes=2), trial(1, **PARAMS))
        store.advance(job.id, once(START, Measure(plans=tuple(plans), trials=trials)))
        assert [m.block_options for m in store.measurements(job.id)] == courses
        claim = store.claim(block_of(store, job.id), "a")
        assert claim is not None
        assert claim.measurement.block_options == courses[0]

    def test_steps_before_a_failure_stay(self, store: AnyStore) -> None:
        job = create(store)
        steps: list[Step] = [START, Measure(plans=(plan(1, 0, 0),), trials=(trial(0),))]

        def decide(_: History) -> Step | None:
            return steps.pop(0)  # and then fails

        with pytest.raises(IndexError):
            store.advance(job.id, decide)
        assert store.job(job.id).state is JobState.RUNNING
        assert [m.sequence for m in store.measurements(job.id)] == [1]

    def test_a_cancel_does_not_wait_for_a_decision(self, store: AnyStore) -> None:
        job_id = started(store)
        before = store.measurements(job_id)

        def decide(_: History) -> Step | None:
            store.cancel(job_id)  # with the job locked it would wait for ever
            return Measure(plans=(plan(9, 0, 1),))

        store.advance(job_id, decide)
        assert store.job(job_id).state is JobState.CANCELLED
        assert len(store.measurements(job_id)) == len(before)

    def test_a_job_that_changes_meanwhile_is_decided_again(self, store: AnyStore) -> None:
        job_id = started(store)
        block = block_of(store, job_id)
        seen: list[MeasurementState] = []

        def decide(history: History) -> Step | None:
            seen.append(next(m.state for m in history.measurements if m.id == block))
            if len(seen) == 1:
                store.claim(block, "a")
            return Measure(plans=(plan(9, 0, 1),)) if len(seen) < 3 else None

        store.advance(job_id, decide)
        assert seen == [MeasurementState.QUEUED, *[MeasurementState.RUNNING] * 2]
        assert [m.sequence for m in store.measurements(job_id)].count(9) == 1

    def test_success_keeps_the_recommendation(self, store: AnyStore) -> None:
        job_id = started(store)
        store.advance(job_id, once(Succeed(recommendation=RECOMMENDATION)))
        job = store.job(job_id)
        assert (job.state, job.phase) == (JobState.SUCCEEDED, Phase.DONE)
        assert job.recommendation == RECOMMENDATION
        assert job.finished_at is not None
        assert store.answer_in_brief(job_id) == store.latest_in_brief("shop")
        assert store.latest_in_brief("other") is None

    def test_the_newest_answer_in_brief_is_that_of_the_newest_job(self, store: AnyStore) -> None:
        assert store.latest_in_brief("shop") is None
        keep = replace(
            RECOMMENDATION,
            comparison=replace(RECOMMENDATION.comparison, verdict=Verdict.NO_DIFFERENCE),
        )
        store.advance(started(store), once(Succeed(recommendation=RECOMMENDATION)))
        second = started(store)
        store.advance(second, once(Succeed(recommendation=keep)))
        newest = store.job(second)
        assert newest.finished_at is not None
        assert store.answer_in_brief(JobId(99)) is None
        assert store.answer_in_brief(started(store)) is None
        assert store.latest_in_brief("shop") == AnswerInBrief(
            job=newest.id,
            revision=store.status(newest.id).revision,
            verdict=Verdict.NO_DIFFERENCE,
            finished_at=newest.finished_at,
            doubts=RECOMMENDATION.doubts,
        )
        assert store.latest_in_brief("other") is None

    def test_an_answer_with_services_on_the_apps_cpu_is_to_be_measured_again(
        self, store: AnyStore
    ) -> None:
        doubts = (Doubt.NOISY_HOST, Doubt.SERVICES_SHARE_CPUS)
        job_id = started(store)
        store.advance(job_id, once(Succeed(recommendation=replace(RECOMMENDATION, doubts=doubts))))
        store.advance(started(store), once(Succeed(recommendation=RECOMMENDATION)))
        old, new = store.answer_in_brief(job_id), store.latest_in_brief("shop")
        assert old is not None
        assert new is not None
        assert (old.doubts, new.measure_again) == (doubts, None)
        said = "measured with services on the app's CPU: measure again"
        assert old.measure_again == store.job(job_id).measure_again == said
        assert [each.measure_again for each in store.app("shop").answers] == [None, said]

    def test_what_earlier_jobs_of_the_app_recommended_comes_newest_first(
        self, store: AnyStore
    ) -> None:
        def succeed(params: Params, verdict: Verdict = Verdict.BETTER, app: str = "shop") -> None:
            job = store.create_job(spec(app=app), **NEW)[0].job
            comparison = replace(RECOMMENDATION.comparison, verdict=verdict)
            answer = replace(RECOMMENDATION, params=params, comparison=comparison)
            store.advance(job.id, once(START, Succeed(recommendation=answer)))

        for processes in (1, 2, 3, 4):
            succeed({"processes": processes, "thunder_lock": True})
        succeed({"processes": 5}, Verdict.NO_DIFFERENCE)
        succeed({"processes": 6}, app="other")
        store.advance(create(store).id, once(START, Fail(failure=FAILURE)))
        found = store.recommended("shop")
        assert found == [{"processes": n, "thunder_lock": True} for n in (4, 3, 2)]
        assert [type(value) for value in found[0].values()] == [int, bool]
        assert store.recommended("shop", limit=1) == found[:1]
        assert store.recommended("nobody") == []

    def test_apps_come_by_name_with_their_newest_job_and_their_answers(
        self, store: AnyStore
    ) -> None:
        first, second = (store.create_job(spec(app="shop"), **NEW)[0].job.id for _ in range(2))
        worse = replace(RECOMMENDATION.comparison, verdict=Verdict.WORSE, effect=None)
        store.advance(first, once(START, Succeed(recommendation=RECOMMENDATION)))
        answer = replace(RECOMMENDATION, comparison=worse, lines=())
        store.advance(second, once(START, Succeed(recommendation=answer)))
        waiting = store.create_job(spec(app="shop"), **NEW)[0].job.id
        store.create_job(COMPARE.model_copy(update={"app": "basket"}), **NEW)
        store.create_job(spec(app="mixed", kind=JobKind.CALIBRATE), **NEW)
        basket, shop = store.apps()
        assert (basket.app, basket.open_jobs, basket.answers) == ("basket", 1, ())
        assert (shop.app, shop.newest.id, shop.open_jobs) == ("shop", waiting, 1)
        assert [(found.job, found.verdict) for found in shop.answers] == [
            (second, Verdict.WORSE),
            (first, Verdict.BETTER),
        ]
        assert [found.effect for found in shop.answers] == [None, EFFECT]
        assert [found.lines for found in shop.answers] == [(), RECOMMENDATION.lines]
        assert store.answered("shop", 9) == [store.job(second), store.job(first)]
        assert store.answered("shop", 1) == [store.job(second)]
        assert store.answered("basket", 9) == []
        assert store.app("shop") == shop
        assert store.apps(after="basket") == [shop]
        assert store.apps(limit=1) == [basket]
        with pytest.raises(NotFound):
            store.app("mixed")

    def test_an_app_has_more_answers_by_itself_than_in_a_list(self, store: AnyStore) -> None:
        made = [store.create_job(spec(app="shop"), **NEW)[0].job.id for _ in range(MOST_LISTED + 2)]
        for job_id in made:
            store.advance(job_id, once(START, Succeed(recommendation=RECOMMENDATION)))
        (listed,), alone = store.apps(), store.app("shop")
        assert [found.job for found in listed.answers] == made[: -MOST_LISTED - 1 : -1]
        assert [found.job for found in alone.answers] == made[::-1]

    def test_a_history_may_leave_out_the_windows_of_some_phases(self, store: AnyStore) -> None:
        job_id = started(store)
        claim = store.claim(block_of(store, job_id), "host-1")
        assert claim is not None
        assert store.complete(claim.measurement.id, claim.measurement.attempt, RESULT)
        whole = store.history(job_id)
        assert any(block.windows for block in whole.measurements)
        assert store.history(job_id, windows_of=tuple(Phase)).measurements == whole.measurements
        lean = store.history(job_id, windows_of=(Phase.CONFIRM,)).measurements
        assert [block.state for block in lean] == [block.state for block in whole.measurements]
        assert not any(block.windows for block in lean)

    def test_success_keeps_the_report_of_a_comparison(self, store: AnyStore) -> None:
        asked = store.create_job(COMPARE, **NEW)[0].job
        given = [
            Trial(
                number=TrialNumber(number),
                params={"ini": variant.name},
                origin=Origin.GIVEN,
                state=TrialState.RUNNING,
            )
            for number, variant in enumerate(COMPARE.variants)
        ]
        steps = (START, Measure(plans=(), trials=tuple(given)), Enter(phase=Phase.COMPARE))
        store.advance(asked.id, once(*steps, Succeed(report=REPORT)))
        now = store.job(asked.id)
        assert (now.state, now.report, now.spec) == (JobState.SUCCEEDED, REPORT, COMPARE)
        assert list(store.trials(asked.id)) == given

    def test_success_keeps_a_calibration(self, store: AnyStore) -> None:
        asked = store.create_job(spec(kind=JobKind.CALIBRATE), **NEW)[0].job
        store.advance(asked.id, once(START, Succeed(calibration=CALIBRATION)))
        assert store.job(asked.id).calibration == CALIBRATION

    def test_failure_keeps_the_reason_and_the_phase(self, store: AnyStore) -> None:
        job_id = started(store)
        store.advance(job_id, once(Fail(failure=FAILURE)))
        job = store.job(job_id)
        assert (job.state, job.phase, job.failure) == (JobState.FAILED, Phase.PREPARE, FAILURE)
        assert store.measurements(job_id)[0].state is MeasurementState.CANCELLED

    def test_a_final_job_is_not_asked_about(self, store: AnyStore) -> None:
        job_id = started(store)
        store.cancel(job_id)
        store.advance(job_id, once(START))
        assert store.job(job_id).state is JobState.CANCELLED

    def test_the_history_says_whether_the_may_start(self, store: AnyStore) -> None:
        first, second = create(store).id, create(store).id
        assert store.history(first).may_start
        assert not store.history(second).may_start
        store.cancel(first)
        assert store.history(second).may_start

    def test_the_statuses_of_many_jobs_are_those_of_each(self, store: AnyStore) -> None:
        ids = [started(store), create(store).id, started(store)]
        wanted = [store.status(job_id) for job_id in reversed(ids)]
        assert store.statuses([*reversed(ids), JobId(999)]) == wanted

    def test_every_change_raises_the_revision(self, store: AnyStore) -> None:
        job = create(store)
        changes: list[Callable[[], object]] = [
            lambda: store.advance(job.id, once(START)),
            lambda: store.advance(
                job.id, once(Measure(plans=(plan(1, 0, 0),), trials=(trial(0),)))
            ),
            lambda: store.claim(block_of(store, job.id), "a"),
            lambda: store.release(block_of(store, job.id), 1, fault=None),
            lambda: store.claim(block_of(store, job.id), "a"),
            lambda: store.complete(block_of(store, job.id), 2, RESULT),
            lambda: store.cancel(job.id),
        ]
        seen = [store.status(job.id).revision]
        for change in changes:
            change()
            seen.append(store.status(job.id).revision)
        assert seen == sorted(set(seen))


class TestCancel:
    def test_it_calls_off_what_is_open(self, store: AnyStore) -> None:
        job_id = started(store)
        claim = store.claim(block_of(store, job_id), "a")
        assert claim is not None
        assert store.cancel(job_id).job.state is JobState.CANCELLED
        assert store.measurements(job_id)[0].state is MeasurementState.CANCELLED
        assert not store.is_current(claim.measurement.id, 1)
        assert not store.complete(claim.measurement.id, 1, RESULT)
        assert store.claim(claim.measurement.id, "a") is None

    def test_a_job_finishes_once_in_a_phase_and_drops_what_it_does_not_need(
        self, store: AnyStore
    ) -> None:
        job_id = started(store)
        with pytest.raises(Conflict, match="nothing can be confirmed"):
            store.finish_now(job_id)
        store.advance(job_id, once(Enter(phase=Phase.RACE)))
        plan = Plan(
            sequence=9, kind=MeasurementKind.BLOCK, phase=Phase.RACE, arms=(TrialNumber(0),)
        )
        store.advance(job_id, once(Measure(plans=(plan,))))
        status = store.finish_now(job_id, by="shop")
        assert status.job.finish_in is Phase.RACE
        assert store.measurements(job_id)[-1].state is MeasurementState.CANCELLED
        assert store.finish_now(job_id, by="shop") == status
        assert [entry.action for entry in store.audit(None, 9)][:1] == [Action.FINISH]

    def test_cancelling_twice_is_once(self, store: AnyStore) -> None:
        job_id = started(store)
        assert store.cancel(job_id) == store.cancel(job_id)

    def test_a_job_that_has_ended_cannot_be_cancelled(self, store: AnyStore) -> None:
        job_id = started(store)
        store.advance(job_id, once(Fail(failure=FAILURE)))
        with pytest.raises(Conflict, match="failed"):
            store.cancel(job_id)


class TestMeasurements:
    def test_a_claim_brings_all_it_takes(self, store: AnyStore) -> None:
        job_id = started(store)
        claim = store.claim(block_of(store, job_id), "a")
        assert claim is not None
        assert claim.params == ({"processes": 2}, PARAMS)
        assert claim.job == store.job(job_id)
        measurement = claim.measurement
        assert (measurement.attempt, measurement.host) == (1, "a")
        assert measurement.state is MeasurementState.RUNNING
        assert measurement.started_at is not None

    def test_what_is_in_living_hands_is_not_given_to_another_host(self, store: AnyStore) -> None:
        block = block_of(store, started(store))
        with host_alive(store, "a"):
            assert store.claim(block, "a") is not None
            assert store.claim(block, "b") is None
        assert store.claim(block, "b") is not None

    def test_its_own_host_may_take_it_again_as_a_new_attempt(self, store: AnyStore) -> None:
        block = block_of(store, started(store))
        store.claim(block, "a")
        again = store.claim(block, "a")
        assert again is not None
        assert again.measurement.attempt == 2
        assert not store.is_current(block, 1)
        assert store.is_current(block, 2)

    def test_a_measurement_that_is_not_there(self, store: AnyStore) -> None:
        nothing = MeasurementId(99)
        assert store.claim(nothing, "a") is None
        assert not store.is_current(nothing, 1)
        assert not store.complete(nothing, 1, RESULT)
        assert store.release(nothing, 1, fault="x") == 0

    def test_a_result_comes_back_as_it_was(self, store: AnyStore) -> None:
        job_id = started(store)
        block = block_of(store, job_id)
        store.claim(block, "a")
        assert store.complete(block, 1, RESULT)
        found = store.measurements(job_id)[0]
        assert found.result == RESULT
        assert (found.state, found.host) == (MeasurementState.COMPLETE, "a")
        assert found.finished_at is not None

    def test_the_facts_of_a_prepare_come_back(self, store: AnyStore) -> None:
        job_id = started(store)
        store.claim(block_of(store, job_id), "a")
        result = MeasurementResult(facts=FACTS, setup_s=0.5)
        store.complete(block_of(store, job_id), 1, result)
        assert store.measurements(job_id)[0].result == result

    def test_what_is_large_is_left_out_where_it_is_not_asked_for(self, store: AnyStore) -> None:
        job_id = started(store)
        measurement = store.measurements(job_id)[0]
        claim = store.claim(measurement.id, "host")
        assert claim is not None
        store.complete(measurement.id, claim.measurement.attempt, RESULT)
        whole = store.measurements(job_id)[0].windows[-1]
        light = store.measurements(job_id, detailed=False)[0].windows[-1]
        assert whole == RESULT.windows[-1]
        small = replace(whole, series=(), over_time=OverTime(), histogram=Histogram())
        assert light == small

    def test_a_history_has_the_details_of_the_present_phase_alone(self, store: AnyStore) -> None:
        job_id = started(store)
        fresh = replace(plan(9, 0, 1), phase=Phase.CONFIRM)
        store.advance(job_id, once(Measure(plans=(fresh,))))
        measurement = store.measurements(job_id)[-1]
        claim = store.claim(measurement.id, "host")
        assert claim is not None
        store.complete(measurement.id, claim.measurement.attempt, RESULT)
        seen = []
        for phase in (Phase.CONFIRM, Phase.RACE):
            store.advance(job_id, once(Enter(phase=phase)))
            seen.append(store.history(job_id).measurements[-1].windows[-1].series)
        assert seen == [RESULT.windows[-1].series, ()]

    def test_a_failure_comes_back_as_it_was(self, store: AnyStore) -> None:
        job_id = started(store)
        store.claim(block_of(store, job_id), "a")
        assert store.fail(block_of(store, job_id), 1, FAILURE)
        found = store.measurements(job_id)[0]
        assert (found.state, found.failure) == (MeasurementState.FAILED, FAILURE)

    def test_a_late_worker_cannot_write(self, store: AnyStore) -> None:
        job_id = started(store)
        block = block_of(store, job_id)
        store.claim(block, "a")
        store.claim(block, "a")
        before = store.status(job_id).revision
        assert not store.complete(block, 1, RESULT)
        assert not store.fail(block, 1, FAILURE)
        assert store.measurements(job_id)[0].result is None
        assert store.status(job_id).revision == before
        assert store.complete(block, 2, RESULT)
        assert not store.complete(block, 2, RESULT)

    def test_release_gives_it_back_and_counts_faults(self, store: AnyStore) -> None:
        job_id = started(store)
        block = block_of(store, job_id)
        store.claim(block, "a")
        assert store.release(block, 1, fault=None) == 0
        assert store.measurements(job_id)[0].state is MeasurementState.QUEUED
        store.claim(block, "b")
        assert store.release(block, 2, fault="docker hung") == 1
        assert store.release(block, 2, fault="docker hung") == 1, "it was given back before"
        claim = store.claim(block, "a")
        assert claim is not None
        assert claim.measurement.attempt == 3

    def test_what_a_host_lost_when_it_started_anew_is_anybodys(self, store: AnyStore) -> None:
        block = block_of(store, started(store))
        with host_alive(store, "a"):
            store.claim(block, "a")
        with host_alive(store, "a"):
            assert store.claim(block, "b") is not None
            assert not store.complete(block, 1, RESULT)
            assert store.complete(block, 2, RESULT)

    def test_nothing_is_lost_that_is_in_the_queue(self, store: AnyStore) -> None:
        started(store)
        create(store)
        assert store.recover("default") == 0


class TestHosts:
    def test_a_host_is_known_by_its_last_word(self, store: AnyStore) -> None:
        store.see_host("b", "default", FINGERPRINT)
        store.see_host("b", "default", problem="docker is away")
        store.see_host("a", "other")
        assert [host.name for host in store.hosts()] == ["a", "b"]
        (host,) = store.hosts(pool="default")
        assert (host.fingerprint, host.problem) == (FINGERPRINT, "docker is away")

    def test_a_calibration_is_kept_with_the_hosts_that_made_it(self, store: AnyStore) -> None:
        for name in ("bench-1", "bench-2"):
            store.see_host(name, "default", FINGERPRINT)
        store.advance(
            create(store).id, once(START, Enter(phase=Phase.SEARCH, calibration=CALIBRATION))
        )
        store.see_host("bench-1", "default")
        first, second = store.hosts()
        assert (first.calibration, first.calibrated_with) == (CALIBRATION, "mixed")
        assert first.calibrated_at is not None
        assert (second.calibration, second.calibrated_at, second.calibrated_with) == (None,) * 3

    def test_a_later_calibration_takes_the_place_of_the_one_before(self, store: AnyStore) -> None:
        store.see_host("bench-1", "default", FINGERPRINT)
        later = replace(CALIBRATION, block_sd=0.5)
        for found in (CALIBRATION, later):
            asked = store.create_job(spec(kind=JobKind.CALIBRATE), **NEW)[0].job
            store.advance(asked.id, once(START, Succeed(calibration=found)))
        assert store.hosts()[0].calibration == later

    def test_ping(self, store: AnyStore) -> None:
        store.ping()
