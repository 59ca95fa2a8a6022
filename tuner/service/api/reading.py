"""A request body → a job, or all mistakes of shape, text and meaning."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from pydantic import ValidationError

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import REQUESTS, JobKind, JobSpec, Request
from tuner.service.api.shape import mistakes_of_shape, place_of, remove

Resolve = Callable[[Request], JobSpec]

MAX_NUMBER = 2**63 - 1  # PostgreSQL's bigint; nothing in a job comes near it
MAX_DEPTH = 32  # of nested lists and objects; a job needs 6

_DEPENDENT = (
    "target",
    "limits",
    "workload",
    "baseline",
    "arms",
    "search_space",
    "objective",
    "budget",
)
"""If one of these is wrong, mistakes that may follow from it are not reported."""


def parse(body: bytes) -> Any:
    """The JSON document. Raises `InvalidInput` if it is no JSON; NaN and Infinity are no JSON."""
    try:
        document = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise InvalidInput([Mistake("", "the body is not UTF-8 text")]) from None
    except RecursionError:
        raise InvalidInput([Mistake("", "the JSON is nested too deeply")]) from None
    except ValueError as error:
        raise InvalidInput([Mistake("", f"the body is not JSON: {error}")]) from None
    if _depth_exceeds(document, MAX_DEPTH):
        raise InvalidInput([Mistake("", "the JSON is nested too deeply")])
    return document


def sha256_of(document: Any) -> str:
    """Equal for documents that differ only in the order of fields or in white space."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_request(document: Any, resolve: Resolve) -> JobSpec:
    """The job that `document` asks for; its `kind` says which model reads it.

    Raises `InvalidInput`. A document with mistakes of shape is read a second time without the
    wrong parts, so that the same answer has the mistakes that `resolve` finds.
    """
    model = _model_of(document)
    unfit = list(_unfit_values(document, ""))
    try:
        request = model.model_validate(document)
    except ValidationError as error:
        found = mistakes_of_shape(document, error)
        found += [] if unfit else _of_rest(document, model, error, resolve)
        raise InvalidInput(_unique([*unfit, *found])) from None
    if unfit:
        raise InvalidInput(unfit)
    return resolve(request)


def _model_of(document: Any) -> type[Request]:
    kind = document.get("kind", JobKind.TUNE) if isinstance(document, dict) else JobKind.TUNE
    for known, model in REQUESTS.items():
        if kind == known:
            return model
    raise InvalidInput([Mistake("kind", f"give kind: one of {', '.join(JobKind)}")])


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _depth_exceeds(value: Any, left: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_depth_exceeds(item, left - 1) for item in inner)


def _unfit_values(value: Any, path: str) -> Iterator[Mistake]:
    """Text that PostgreSQL cannot store, and numbers that are none (1e999)."""
    if isinstance(value, str):
        yield from _unfit_text(value, path)
    elif isinstance(value, int | float) and not -MAX_NUMBER <= value <= MAX_NUMBER:
        yield Mistake(path, "this number is too large")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unfit_values(item, f"{path}.{index}" if path else str(index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unfit_text(key, path)
            yield from _unfit_values(item, f"{path}.{_shown(key)}" if path else _shown(key))


def _unfit_text(text: str, path: str) -> Iterator[Mistake]:
    if "\0" in text:
        yield Mistake(path, "text may not contain NUL characters")
    if _shown(text) != text:
        yield Mistake(path, "text may not hold half of a surrogate pair")


def _shown(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _of_rest(
    document: Any, model: type[Request], error: ValidationError, resolve: Resolve
) -> list[Mistake]:
    """The mistakes of meaning in the well-formed parts of the document."""
    rest, wrong = document, error
    for depth in (None, 1):  # the wrong values, then the fields that are incomplete without them
        rest = _without(rest, wrong, depth)
        if isinstance(rest, dict) and "app" in model.model_fields:
            rest.setdefault("app", "unnamed")  # a wrong name must not hide other mistakes
        try:
            resolve(model.model_validate(rest))
        except ValidationError as again:
            wrong = again
            continue
        except InvalidInput as invalid:
            return [m for m in invalid.mistakes if not _is_guess(m, error)]
        return []
    return []  # too little is left to check


def _without(document: Any, error: ValidationError, depth: int | None) -> Any:
    """A copy without the places of the errors, cut to `depth` fields."""
    rest = deepcopy(document)
    for detail in error.errors():
        remove(rest, place_of(document, detail)[:depth])
    return rest


def _is_guess(mistake: Mistake, error: ValidationError) -> bool:
    """Whether the mistake may come from a default that replaced a wrong value."""
    wrong = {
        str(detail["loc"][0])
        for detail in error.errors()
        if detail["type"] != "extra_forbidden" and detail["loc"]
    }
    named_here = mistake.path in ("target.target_app", "search_space")
    return bool(wrong.intersection(_DEPENDENT)) and not (
        named_here and mistake.path.split(".")[0] not in wrong
    )


def _unique(mistakes: Sequence[Mistake]) -> list[Mistake]:
    return list(dict.fromkeys(mistakes))
