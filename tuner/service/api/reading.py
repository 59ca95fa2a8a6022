"""A request body to a job, or all mistakes of shape, text and meaning."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import REQUESTS, JobKind, JobSpec, Request, message_of

# ---- pydantic's errors as mistakes: one per place of the document, with the author's paths
#
# pydantic reports every member of a union that it tried, and names the member in the path. The
# author wrote one value at one place. So the walk below follows the document and leaves out the
# parts of a path that are not in it.

Place = tuple[str | int, ...]

_WRONG_SCALAR = ("string_type", "float_type", "int_type", "bool_type", "bool_parsing")
_WRONG_OBJECT = ("model_type", "model_attributes_type", "dict_type")
_ONE_OF_KINDS = ("union_tag_not_found", "union_tag_invalid")


MOST_MISTAKES = 50
"""More are not read by anybody, and a request may have thousands."""

MOST_DETAILS = 1_000
"""pydantic words all of its errors, and not only the first ones: about 10 us each."""

MANY_DETAILS = 200
"""Above it, only the shape of a document is read."""

LONG = 64
"""Items of a collection, more than any model has fields."""

Model = TypeVar("Model", bound=BaseModel)


def validated(document: Any, model: type[Model]) -> Model:
    """The document as that model. Raises `InvalidInput` with its mistakes of shape."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        mistakes = _mistakes_of_shape(document, error, model)
    # Here, so that it is no context of ours: it may hold thousands of errors.
    raise InvalidInput(mistakes)


def _mistakes_of_shape(
    document: Any, error: ValidationError, whole: type[BaseModel]
) -> list[Mistake]:
    """One mistake a place, in the order of the document's fields; the first `MOST_MISTAKES`."""
    if error.error_count() > MOST_DETAILS:
        return _mistakes_of_first_items(document, whole)
    details = error.errors(include_url=False, include_input=False)
    places = [place_of(document, detail) for detail in details]
    members = _Members.of(details, places)
    by_place: dict[Place, dict[str, None]] = {}
    for detail, place in zip(details, places, strict=True):
        if members.has_another(document, place, detail["type"]):
            continue
        if detail["type"] == "missing" and _value_at(document, place) is not None:
            continue  # only the first items of the document were validated
        if place not in by_place and len(by_place) == MOST_MISTAKES:
            more = Mistake("", "there are more mistakes: correct these first")
            return [*_mistakes(by_place), more]
        by_place.setdefault(place, {})[_worded(detail, message_of(detail, whole))] = None
    return _mistakes(by_place)


def _mistakes_of_first_items(document: Any, whole: type[BaseModel]) -> list[Mistake]:
    """Those in the first items of each collection. Nobody wrote so many by hand."""
    first, found = _shortened(document), list[Mistake]()
    try:
        whole.model_validate(first)
    except ValidationError as error:
        if error.error_count() <= MOST_DETAILS:
            found = _mistakes_of_shape(document, error, whole)[:MOST_MISTAKES]
    said = "there are many more mistakes: correct these first" if found else "too many mistakes"
    return [*found, Mistake("", said)]


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in islice(value.items(), LONG)}
    return [_shortened(item) for item in value[:LONG]] if isinstance(value, list) else value


def _mistakes(by_place: Mapping[Place, Mapping[str, None]]) -> list[Mistake]:
    return [Mistake(dotted(place), " or ".join(said)) for place, said in by_place.items()]


def place_of(document: Any, detail: ErrorDetails) -> Place:
    """Where in the document an error is; for a missing field, where it belongs."""
    location = detail["loc"]
    place: list[str | int] = []
    for index, part in enumerate(location):
        if _holds(document, part):
            place.append(part)
            document = document[part]
        elif index == len(location) - 1 and detail["type"] == "missing":
            place.append(part)
    return tuple(place)


def dotted(place: Sequence[str | int]) -> str:
    """The place as text; halves of surrogate pairs, which cannot be printed, become `?`."""
    return ".".join(str(part) for part in place).encode("utf-8", "replace").decode()


def remove(document: Any, place: Place) -> None:
    """Take the value at `place` out of nested objects; an item of a list takes the list along."""
    *parents, last = place or ("",)
    for depth, part in enumerate(parents):
        if not _holds(document, part):
            return
        if isinstance(document[part], list):
            last = parents[depth]
            break
        document = document[part]
    if isinstance(document, dict):
        document.pop(last, None)


def _holds(document: Any, part: str | int) -> bool:
    if isinstance(document, Mapping):
        return part in document
    return isinstance(document, list) and isinstance(part, int) and part < len(document)


def _value_at(document: Any, place: Place) -> Any:
    for part in place:
        if not _holds(document, part):
            return None
        document = document[part]
    return document


@dataclass(frozen=True, slots=True)
class _Members:
    """The places of all errors and of what holds them, to tell members of a union apart.

    pydantic reports every member that it tried.
    """

    above: frozenset[Place]  # an error is deeper
    of_objects: frozenset[Place]  # an error, there or deeper, that is not about a wrong scalar
    of_scalars: frozenset[Place]  # ... not about a wrong object

    @classmethod
    def of(cls, details: Sequence[ErrorDetails], places: Sequence[Place]) -> "_Members":
        above, of_objects, of_scalars = set[Place](), set[Place](), set[Place]()
        for detail, place in zip(details, places, strict=True):
            holders = {place[:depth] for depth in range(len(place) + 1)}
            above |= holders - {place}
            of_objects |= holders if detail["type"] not in _WRONG_SCALAR else set()
            of_scalars |= holders if detail["type"] not in _WRONG_OBJECT else set()
        return cls(frozenset(above), frozenset(of_objects), frozenset(of_scalars))

    def has_another(self, document: Any, place: Place, kind: str) -> bool:
        """Whether an error only says that the value does not fit another member.

        pydantic counts only the valid items of a list, so a list of wrong items is not too short.
        """
        if kind == "too_short":
            return place in self.above
        if isinstance(_value_at(document, place), Mapping):
            return kind in _WRONG_SCALAR and place in self.of_objects
        return kind in _WRONG_OBJECT and place in self.of_scalars


def _worded(detail: ErrorDetails, message: str) -> str:
    if detail["type"] not in _ONE_OF_KINDS:
        return message
    context = detail.get("ctx", {})
    field = str(context.get("discriminator", "kind")).strip("'")
    expected = context.get("expected_tags")
    return f"give {field}: one of {expected}" if expected else f"give {field}"


# ---- A request body → a job, or all mistakes of shape, text and meaning

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
    if _depth_exceeds([document], MAX_DEPTH):
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
    unfit = list(islice(_unfit_values(document, ""), MOST_MISTAKES))
    try:
        request = model.model_validate(document)
    except ValidationError as error:
        unfit += _mistakes_of_shape(document, error, model)
        if len(unfit) < MOST_MISTAKES and error.error_count() <= MANY_DETAILS:
            unfit += _of_rest(document, model, error, resolve)
    else:
        if not unfit:
            return resolve(request)
    raise InvalidInput(list(dict.fromkeys(unfit)))


def mistakes_of_many(body: bytes, model: type[BaseModel] | None) -> Sequence[Mistake]:
    """The mistakes of a body that has many; none of one with few: their reader finds more.

    Without a model it is a job's.
    """
    try:
        document = parse(body)
        its = model or _model_of(document)
    except InvalidInput as invalid:
        return invalid.mistakes
    try:
        its.model_validate(document)
    except ValidationError as error:
        if error.error_count() > MANY_DETAILS:
            return _mistakes_of_shape(document, error, its)
    return ()


def _model_of(document: Any) -> type[Request]:
    kind = document.get("kind", JobKind.TUNE) if isinstance(document, dict) else JobKind.TUNE
    for known, model in REQUESTS.items():
        if kind == known:
            return model
    raise InvalidInput([Mistake("kind", f"give kind: one of {', '.join(JobKind)}")])


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _depth_exceeds(value: Any, most: int) -> bool:
    level = [value]  # the lists and objects that are so deep
    for _ in range(most + 1):
        inner = chain.from_iterable(v.values() if isinstance(v, dict) else v for v in level)
        level = [item for item in inner if isinstance(item, dict | list)]
    return bool(level)


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
