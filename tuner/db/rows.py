"""Rows <-> nouns. Only this module reads rows back; an odd value fails here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import RowMapping

from tuner.model import (
    AS_BUDGETED,
    AnswerInBrief,
    BenchmarkHost,
    BlockOptions,
    Calibration,
    Failure,
    HostFingerprint,
    Job,
    JobId,
    JobSpec,
    Measurement,
    MeasurementId,
    MeasurementResult,
    Outcome,
    Params,
    Recommendation,
    Report,
    TargetFacts,
    Trial,
    Verdict,
    Window,
)

_Noun = TypeVar("_Noun")

# jsonb knows neither infinity nor NaN; the strings "Infinity" and "NaN" come back as floats.
_CONFIG = ConfigDict(ser_json_inf_nan="strings")

SPEC = TypeAdapter[JobSpec | None](JobSpec | None, config=_CONFIG)
FACTS = TypeAdapter[TargetFacts | None](TargetFacts | None, config=_CONFIG)
CALIBRATION = TypeAdapter[Calibration | None](Calibration | None, config=_CONFIG)
RECOMMENDATION = TypeAdapter[Recommendation | None](Recommendation | None, config=_CONFIG)
REPORT = TypeAdapter[Report | None](Report | None, config=_CONFIG)
FAILURE = TypeAdapter[Failure | None](Failure | None, config=_CONFIG)
OUTCOME = TypeAdapter[Outcome | None](Outcome | None, config=_CONFIG)
PARAMS = TypeAdapter[Params | None](Params | None, config=_CONFIG)
RESULT = TypeAdapter[MeasurementResult | None](MeasurementResult | None, config=_CONFIG)
BLOCK_OPTIONS = TypeAdapter[BlockOptions | None](BlockOptions | None, config=_CONFIG)
FINGERPRINT = TypeAdapter[HostFingerprint | None](HostFingerprint | None, config=_CONFIG)
WINDOW = TypeAdapter[Window | None](Window | None, config=_CONFIG)


_JOB = TypeAdapter(Job)
_TRIAL = TypeAdapter(Trial)
_MEASUREMENT = TypeAdapter(Measurement)
_HOST = TypeAdapter(BenchmarkHost)


def to_json(adapter: TypeAdapter[_Noun | None], value: _Noun | None) -> Any:
    """The value of a jsonb column; None stays None, which is SQL's NULL."""
    return None if value is None else json.loads(adapter.dump_json(value))


def params_key(params: Params) -> str:
    """One text for equal params in any order: `{"processes":4,"threads":1}`."""
    return json.dumps(dict(params), sort_keys=True, separators=(",", ":"))


def job_of(row: RowMapping) -> Job:
    """A row of `jobs`."""
    return _JOB.validate_python(dict(row))


def brief_of(row: RowMapping) -> AnswerInBrief:
    """Some columns of a row of `jobs` that succeeded."""
    return AnswerInBrief(
        job=JobId(row["id"]),
        revision=row["revision"],
        verdict=Verdict(row["verdict"]),
        finished_at=row["finished_at"],
    )


def trial_of(row: RowMapping | Mapping[str, Any]) -> Trial:
    """A row of `trials`."""
    return _TRIAL.validate_python(dict(row))


def trial_row(job_id: JobId, trial: Trial) -> dict[str, Any]:
    """The columns of a new trial."""
    outcome = trial.outcome
    return {
        "job_id": job_id,
        "number": trial.number,
        "params": to_json(PARAMS, trial.params),
        "params_key": params_key(trial.params),
        "origin": trial.origin,
        "state": trial.state,
        "outcome": to_json(OUTCOME, outcome),
        "score": outcome.score if outcome else None,
    }


def measurement_of(row: RowMapping, windows: Sequence[Window] = ()) -> Measurement:
    """A row of `measurements`, with the windows of its result."""
    found = _MEASUREMENT.validate_python({**row, "block_options": row["block_options"] or {}})
    result = replace(found.result, windows=tuple(windows)) if found.result else None
    return replace(found, result=result)


def block_options_column(block_options: BlockOptions) -> Any:
    """The value of the column of block options: NULL if the budget says it all."""
    return to_json(BLOCK_OPTIONS, None if block_options == AS_BUDGETED else block_options)


def result_header(result: MeasurementResult) -> Any:
    """A result without its windows, which have their own rows."""
    return to_json(RESULT, replace(result, windows=()))


def window_of(row: RowMapping | Mapping[str, Any]) -> Window:
    """A row of `windows`; a column that is NULL or was not selected has the field's default."""
    found = WINDOW.validate_python(
        {name: value for name, value in row.items() if value is not None}
    )
    assert found is not None  # noqa: S101  a mapping is no None
    return found


def window_row(
    measurement_id: MeasurementId, arms: Sequence[int], window: Window
) -> dict[str, Any]:
    """The columns of a window; `arms` are the trial numbers of its measurement."""
    return {
        **dict.fromkeys(field.name for field in fields(Window)),
        **json.loads(WINDOW.dump_json(window, exclude_defaults=True)),
        "started_at": window.started_at,
        "measurement_id": measurement_id,
        "trial_number": arms[window.arm],
    }


def host_of(row: RowMapping) -> BenchmarkHost:
    """A row of `hosts`."""
    return _HOST.validate_python(dict(row))
