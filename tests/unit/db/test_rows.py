"""What goes into a jsonb column comes out again, to the last type."""

import json
import math
from dataclasses import fields, replace
from typing import Any

import pytest
from pydantic import TypeAdapter
from sqlalchemy.dialects.postgresql import JSONB

from tests.builders import FACTS, FINGERPRINT, INI, space, spec, window
from tuner.nouns.model import (
    AS_BUDGETED,
    Aim,
    BlockOptions,
    Danger,
    Doubt,
    Failure,
    FailureCode,
    Futility,
    Histogram,
    HttpRequest,
    JobKind,
    JobSpec,
    Journey,
    LeftOut,
    MeasurementId,
    MeasurementResult,
    Metric,
    Objective,
    OpenLoop,
    Outcome,
    OverTime,
    Preflight,
    PreflightFinding,
    RelativeBound,
    RequestFigures,
    SamplerName,
    ServerFigures,
    ServiceFigures,
    Slo,
    Take,
    TargetFacts,
    TrialState,
    Upload,
    UsageSeries,
    UserData,
    Variant,
    Window,
)
from tuner.store.db import rows
from tuner.store.db.tables import windows

OUTCOME = Outcome(
    state=TrialState.INFEASIBLE,
    score=None,
    constraints={"memory_mb": math.inf, "error_rate": -0.25},
    doubts=(Doubt.ERRORS, Doubt.DISTURBED),
    failure=Failure(code=FailureCode.DIED, message="died", arm=1, log_tail="a\nb"),
)
SPECS = {
    "plain": spec(),
    "comparison": spec(
        kind=JobKind.COMPARE, variants=(Variant(name="a.ini", ini=INI),), search_space=None
    ),
    "open loop": spec(
        workload=OpenLoop(
            kind="open_loop",
            rate_rps=12.5,
            requests=(HttpRequest(path="/a", method="POST", headers={"x": "1"}, body="{}"),),
        )
    ),
    "journey": spec(
        workload=Journey(
            kind="journey",
            requests=(
                HttpRequest(take={"token": Take(json_="$.token")}),
                HttpRequest(
                    method="POST",
                    form={"{{token}}": "é"},
                    upload={"a": Upload(name="b", size_kb=1)},
                ),
            ),
            user_data=UserData(names=("user",), rows=(("ann",),)),
        )
    ),
    "bounds": spec(
        slo=Slo(latency_p95_ms=200, memory_mb=RelativeBound(relative_to_baseline=1.05)),
        objective=Objective(minimize=Metric.LATENCY_P99_MS),
    ),
    "several aims": spec(
        slo=Slo(throughput_rps=RelativeBound(relative_to_baseline=0.95)),
        objective=Objective(
            maximize=Metric.RPS_PER_CPU, also=(Aim(minimize=Metric.LATENCY_P95_MS),)
        ),
    ),
    "allowed": spec(allow=(Danger.COMMANDS, Danger.NETWORK)),
    "seeds": spec(
        sampler=SamplerName.GP, seeds=({"processes": 4, "thunder-lock": True, "logging": "user"},)
    ),
    "space": spec(
        search_space=space(
            listen={"type": "choice", "values": [100, "somaxconn", True]},
            thunder={"type": "bool", "needs": "processes > 1"},
        )
    ),
}


def through_json(kind: type, value: Any) -> Any:
    """As PostgreSQL would have it: strict JSON text, which knows no Infinity."""
    text = json.dumps(rows.to_json(value), allow_nan=False)
    return TypeAdapter[Any](kind).validate_python(json.loads(text))


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_round_trips(name: str) -> None:
    assert through_json(JobSpec, SPECS[name]) == SPECS[name]


@pytest.mark.parametrize(
    "value",
    [
        OUTCOME,
        replace(OUTCOME, blocks=3, gains={"memory_mb": -0.125}),
        FACTS,
        FINGERPRINT,
        MeasurementResult(is_cut_short=True),
    ],
    ids=("outcome", "blocks and gains", "facts", "fingerprint", "cut short"),
)
def test_a_document_round_trips(value: object) -> None:
    assert through_json(type(value), value) == value


def test_types_within_a_choice_survive() -> None:
    back = through_json(JobSpec, SPECS["space"]).search_space.parameters["listen"]
    assert [type(value) for value in back.values] == [int, str, bool]


def test_an_outcome_of_old_speaks_for_one_block() -> None:
    old = {"state": "complete", "score": 0.5, "constraints": {}}
    outcome = TypeAdapter(Outcome).validate_python(old)
    assert outcome == Outcome(state=TrialState.COMPLETE, score=0.5, constraints={}, blocks=1)


@pytest.mark.parametrize(
    "block_options",
    [
        BlockOptions(cycles=1),
        BlockOptions(rung=10_000),
        BlockOptions(futility=Futility(metric=Metric.LATENCY_P95_MS, best=0.125, sd=0.03)),
        BlockOptions(cycles=2, futility=Futility(metric=Metric.RPS_PER_CPU, best=0.0, sd=0.5)),
    ],
)
def test_a_course_round_trips(block_options: BlockOptions) -> None:
    stored = json.loads(json.dumps(rows.block_options_column(block_options), allow_nan=False))
    assert TypeAdapter(BlockOptions).validate_python(stored) == block_options


def test_a_course_that_asks_for_nothing_takes_no_room() -> None:
    assert rows.block_options_column(AS_BUDGETED) is None


def test_a_seed_keeps_its_types() -> None:
    (seed,) = through_json(JobSpec, SPECS["seeds"]).seeds
    assert [type(value) for value in seed.values()] == [int, bool, str]


def test_what_was_seen_of_a_file_round_trips_and_is_none_in_older_rows() -> None:
    preflight = Preflight(
        somaxconn=4096,
        findings=(PreflightFinding(rule="U019", severity="error", line=3, message="odd"),),
        left_out=(LeftOut(option="cron", line=9, danger=Danger.COMMANDS, file="a.ini"),),
    )
    assert through_json(TargetFacts, replace(FACTS, preflight=preflight)).preflight == preflight
    older = rows.to_json(FACTS)
    del older["preflight"]
    found = TypeAdapter(TargetFacts).validate_python(older)
    assert found.preflight is None
    spec_of_old = rows.to_json(SPECS["plain"])
    del spec_of_old["allow"]
    assert TypeAdapter(JobSpec).validate_python(spec_of_old) == SPECS["plain"]


def test_none_is_null() -> None:
    assert rows.to_json(None) is None


def test_a_document_that_is_not_of_its_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="score"):
        TypeAdapter(Outcome).validate_python({"state": "complete", "score": "high"})


def test_the_key_of_params_knows_no_order_but_knows_types() -> None:
    assert rows.params_key({"a": 1, "b": "x"}) == rows.params_key({"b": "x", "a": 1})
    assert rows.params_key({"a": 1}) != rows.params_key({"a": True})
    assert rows.params_key({"a": 1}) != rows.params_key({"a": "1"})


def test_every_field_of_a_window_has_a_column() -> None:
    names = {field.name for field in fields(Window)}
    assert set(windows.c.keys()) == names | {"measurement_id", "trial_number"}
    assert isinstance(windows.c.by_request.type, JSONB)


def test_a_window_names_its_trial() -> None:
    row = rows.window_row(MeasurementId(5), (0, 7), window(1, doubts=(Doubt.ERRORS,)))
    assert (row["measurement_id"], row["trial_number"], row["doubts"]) == (5, 7, ["errors"])


def test_what_was_not_seen_takes_no_room() -> None:
    row = rows.window_row(MeasurementId(5), (0,), window())
    of_requests = ("series", "histogram", "by_request")
    over_load = ("connect", "proxy", "over_time")
    documents = (*of_requests, *over_load, "server", "services", "surroundings")
    assert [row[name] for name in documents] == [None] * len(documents)


USAGE = {"app": UsageSeries(cores=(0.5, 1.0), memory_mb=(40.0, 41.5))}
OF_ONE = RequestFigures(request=1, sent=4, failed=1, p50_ms=2.5, histogram=Histogram({3: 3}))


@pytest.mark.parametrize(
    ("column", "seen"),
    [
        ("services", {"redis": ServiceFigures(cores=0.25, cpu=0.5, memory_mb=9.0)}),
        ("server", ServerFigures(cores=0.75)),
        ("over_time", OverTime(queue=(0, 9), usage=USAGE)),
        ("histogram", Histogram({3: 4, 1300: 1})),
        ("by_request", (OF_ONE,)),
    ],
)
def test_what_was_seen_in_a_window_survives(column: str, seen: Any) -> None:
    row = rows.window_row(MeasurementId(5), (0,), window(**{column: seen}))
    stored = json.loads(json.dumps(row[column], allow_nan=False))
    assert getattr(rows.window_of({**row, column: stored}), column) == seen
    assert getattr(rows.window_of({**row, column: None}), column) == getattr(window(), column)


def test_a_histogram_is_stored_by_its_buckets() -> None:
    row = rows.window_row(MeasurementId(5), (0,), window(histogram=Histogram({3: 4, 1300: 1})))
    assert row["histogram"] == {"counts": {"3": 4, "1300": 1}}


def test_the_header_of_a_result_holds_no_windows() -> None:
    header = rows.result_header(MeasurementResult(windows=(window(),), setup_s=1.0))
    assert (header["windows"], header["setup_s"]) == ([], 1.0)
