"""pydantic's errors as mistakes: one per place of the document, with the author's paths.

pydantic reports every member of a union that it tried, and names the member in the path. The author
wrote one value at one place. So the walk below follows the document and leaves out the parts of a
path that are not in it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tuner.nouns.errors import Mistake
from tuner.nouns.model import mistakes_of

Place = tuple[str | int, ...]

_WRONG_SCALAR = ("string_type", "float_type", "int_type", "bool_type", "bool_parsing")
_WRONG_OBJECT = ("model_type", "model_attributes_type", "dict_type")
_ONE_OF_KINDS = ("union_tag_not_found", "union_tag_invalid")


def mistakes_of_shape(document: Any, error: ValidationError) -> list[Mistake]:
    """Every mistake, one per place, in the order of the document's fields."""
    by_place: dict[Place, dict[str, None]] = {}
    details = error.errors()
    for detail, (_, message) in zip(details, mistakes_of(error), strict=True):
        place = place_of(document, detail)
        if not _is_of_another_member(document, place, detail, details):
            by_place.setdefault(place, {})[_worded(detail, message)] = None
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


def _is_of_another_member(
    document: Any, place: Place, detail: ErrorDetails, details: Sequence[ErrorDetails]
) -> bool:
    """Whether the error only says that the value does not fit another member of a union.

    pydantic counts only the valid items of a list, so a list of wrong items is not too short.
    """
    if detail["type"] == "too_short":
        inner = (place_of(document, other) for other in details)
        return any(deeper[:-1][: len(place)] == place for deeper in inner)
    is_object = isinstance(_value_at(document, place), Mapping)
    unlike = _WRONG_SCALAR if is_object else _WRONG_OBJECT
    if detail["type"] not in unlike:
        return False
    others = (other for other in details if other["type"] not in unlike)
    return any(place_of(document, other)[: len(place)] == place for other in others)


def _worded(detail: ErrorDetails, message: str) -> str:
    if detail["type"] not in _ONE_OF_KINDS:
        return message
    context = detail.get("ctx", {})
    field = str(context.get("discriminator", "kind")).strip("'")
    expected = context.get("expected_tags")
    return f"give {field}: one of {expected}" if expected else f"give {field}"
