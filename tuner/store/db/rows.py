"""Rows <-> nouns. Only this module reads rows back; an odd value fails here."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import ColumnElement, RowMapping, or_

from tuner.nouns.model import (
    AS_BUDGETED,
    BlockOptions,
    JobId,
    Measurement,
    MeasurementId,
    MeasurementResult,
    Params,
    Trial,
    Window,
)

_Noun = TypeVar("_Noun")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """jsonb knows neither infinity nor NaN: "Infinity" and "NaN" come back as floats."""
    return TypeAdapter(kind | None, config=ConfigDict(ser_json_inf_nan="strings"))


def to_json(noun: Any) -> Any:
    """The value of a jsonb column; None stays None, which is SQL's NULL."""
    kind: Any = type(noun)
    return None if noun is None else json.loads(_adapter(kind).dump_json(noun))


def sha256_of(secret: str) -> str:
    """What is stored of a secret, in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


def params_key(params: Params) -> str:
    """One text for equal params in any order: `{"processes":4,"threads":1}`."""
    return json.dumps(dict(params), sort_keys=True, separators=(",", ":"))


def noun_of(kind: type[_Noun], row: Mapping[str, Any] | RowMapping) -> _Noun:
    """The noun of a row: each field is the column of its name; other columns do not matter."""
    hashable: Any = kind
    found: _Noun = _adapter(hashable).validate_python(dict(row))
    return found


def trial_row(job_id: JobId, trial: Trial) -> dict[str, Any]:
    """The columns of a new trial."""
    outcome = trial.outcome
    return {
        "job_id": job_id,
        "number": trial.number,
        "params": to_json(trial.params),
        "params_key": params_key(trial.params),
        "origin": trial.origin,
        "state": trial.state,
        "outcome": to_json(outcome),
        "score": outcome.score if outcome else None,
    }


def measurement_of(row: RowMapping, windows: Sequence[Window] = ()) -> Measurement:
    """A row of `measurements`, with the windows of its result."""
    found = noun_of(Measurement, {**row, "block_options": row["block_options"] or {}})
    result = replace(found.result, windows=tuple(windows)) if found.result else None
    return replace(found, result=result)


def block_options_column(block_options: BlockOptions) -> Any:
    """The value of the column of block options: NULL if the budget says it all."""
    return to_json(None if block_options == AS_BUDGETED else block_options)


def result_header(result: MeasurementResult) -> Any:
    """A result without its windows, which have their own rows."""
    return to_json(replace(result, windows=()))


def window_of(row: RowMapping | Mapping[str, Any]) -> Window:
    """A row of `windows`; a column that is NULL or was not selected has the field's default."""
    return noun_of(Window, {name: value for name, value in row.items() if value is not None})


def window_row(
    measurement_id: MeasurementId, arms: Sequence[int], window: Window
) -> dict[str, Any]:
    """The columns of a window; `arms` are the trial numbers of its measurement."""
    return {
        **dict.fromkeys(field.name for field in fields(Window)),
        **json.loads(_adapter(Window).dump_json(window, exclude_defaults=True)),
        "started_at": window.started_at,
        "measurement_id": measurement_id,
        "trial_number": arms[window.arm],
    }


def fits(name: ColumnElement[str], globs: Collection[str]) -> ColumnElement[bool]:
    """Whether one of the globs fits a name, as fnmatch has them."""
    return or_(*(name.regexp_match(_expression(glob)) for glob in globs))


def _expression(glob: str) -> str:
    """PostgreSQL's regular expression. Names and globs have a-z, 0-9, `.`, `_` and `-` only."""
    signs = {"*": ".*", "?": ".", ".": r"\."}
    text = "".join(signs.get(sign, sign) for sign in glob.replace("[!", "[^"))
    return f"^(?:{text})$"
