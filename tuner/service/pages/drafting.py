"""The form of a new job: its fields come from the schema of the request, and become a document."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import yaml

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import ClosedLoop, HttpRequest, JobKind, OpenLoop, TuneRequest, Workload
from tuner.nouns.schemas import TargetAppAnswer
from tuner.service.api.reading import MAX_DEPTH, parse

Json = dict[str, Any]
Texts = Mapping[str, str]
"""What the form says, by the path of each field in the document."""

REST = "document"
"""The field for all that has no field of its own, as YAML."""

_APP = "target.target_app"
_FILE = "baseline.ini"
_GROUPS: Mapping[str, Sequence[str]] = {
    "What to tune": (_APP, "target.image", "target.port", "app"),
    "Its present file": (_FILE,),
    "Its limits in production": ("limits.cpus", "limits.memory_mb", "limits.somaxconn"),
    "Its load": ("workload.concurrency", "workload.rate_rps", "workload.requests"),
    "What you want": ("objective", "budget.preset", "budget.minutes", "pool"),
}
_ABOUT = {
    "budget.preset": "how much to measure",
    "limits.somaxconn": "longest listen queue: net.core.somaxconn in production",
    "workload.requests": "paths, one on each line: several are a mix",
}
"""Where the form asks for less than the field can hold."""

_ROWS = {_FILE: 12, "workload.requests": 3}
_JOINED = ("limits", "budget")
"""The YAML replaces fields; of these two it replaces only the values that it names."""

_MOST_YAML = 50_000  # characters
_MOST_EVENTS = 10_000  # values, and the ends of lists
_EVENTS: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SCHEMA = TuneRequest.model_json_schema()


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field as the schema describes it. `rows` are the lines of its text; 0: it has one value."""

    path: str
    about: str
    default: str
    choices: Sequence[str]
    is_number: bool
    rows: int


def _field(path: str) -> FormField:
    shapes = [*_shapes_at(path)]
    found = (shape.get("default") for shape in shapes)
    values = [value for value in found if isinstance(value, str | int | float)]
    return FormField(
        path=path,
        about=_ABOUT.get(path) or next(s["description"] for s in shapes if "description" in s),
        default=_text(values[0]) if values else "",
        choices=_aims() if path == "objective" else _choices(path),
        is_number=any(shape.get("type") in ("integer", "number") for shape in shapes),
        rows=_ROWS.get(path, 0),
    )


def _shapes_at(path: str) -> Sequence[Json]:
    """What the schema has at a path: one shape for each alternative."""
    found: list[Json] = [_SCHEMA]
    for name in path.split("."):
        inner = (shape.get("properties", {}).get(name) for shape in found)
        found = [shape for schema in inner if schema for shape in _shapes(schema)]
    return found


def _shapes(schema: Json) -> Iterator[Json]:
    beside = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf", "oneOf")}
    if "$ref" in schema:
        yield from _shapes(_SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] | beside)
    elif alternatives := schema.get("anyOf") or schema.get("oneOf"):
        for each in alternatives:
            yield from _shapes(each | beside)
    else:
        yield schema


def _choices(path: str) -> list[str]:
    return [choice for shape in _shapes_at(path) for choice in shape.get("enum", ())]


def _aims() -> list[str]:
    """`maximize throughput_rps`."""
    directions = ("maximize", "minimize")
    return [f"{way} {metric}" for way in directions for metric in _choices(f"objective.{way}")]


def _text(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


GROUPS = {title: [_field(path) for path in paths] for title, paths in _GROUPS.items()}
FIELDS = {field.path: field for fields in GROUPS.values() for field in fields}
STARTING: Texts = {path: FIELDS[path].default for path in ("budget.preset", "pool")}


def facts_of(app: TargetAppAnswer | None) -> Texts:
    """What is known of an app, as the form shows it."""
    if app is None:
        return {}
    limits = {
        path: _text(getattr(app.limits, path.removeprefix("limits.")))
        for path in FIELDS
        if path.startswith("limits.")
    }
    return {"app": app.name, _FILE: app.uwsgi_ini, **limits, **_load_of(app.workload)}


def _load_of(workload: Workload) -> Texts:
    """The fields of a closed or open loop; any other load is given as YAML."""
    if not isinstance(workload, ClosedLoop | OpenLoop):
        return {}
    found = {"workload.concurrency": str(workload.concurrency)}
    if isinstance(workload, OpenLoop):
        found["workload.rate_rps"] = _text(workload.rate_rps)
    if all(request == HttpRequest(path=request.path) for request in workload.requests):
        found["workload.requests"] = "\n".join(request.path for request in workload.requests)
    return found


def filled(texts: Texts, last: TargetAppAnswer | None, app: TargetAppAnswer | None) -> Texts:
    """With the facts of a new app where nothing is written, or what is known of the last one."""
    if last == app:
        return texts
    old, new = facts_of(last), facts_of(app)
    known = {**old, **new}
    untouched = (path for path in known if texts.get(path, "") in ("", old.get(path)))
    return {**texts, **{path: new.get(path, "") for path in untouched}}


def document_of(texts: Texts, app: TargetAppAnswer | None) -> Json:
    """The request. What is the app's own is left out. Raises `InvalidInput` for what is no YAML."""
    rest = _parsed(texts.get(REST, ""))
    if rest.get("kind", JobKind.TUNE) != JobKind.TUNE:
        return rest
    document = _of_fields(texts, app)
    own = {"limits": _dumped(app.limits)} if app else {}
    for name, value in rest.items():
        known = document.get(name, own.get(name)) if name in _JOINED else None
        is_joined = isinstance(known, dict) and isinstance(value, dict)
        document[name] = {**known, **value} if known and is_joined else value
    return document


def _of_fields(texts: Texts, app: TargetAppAnswer | None) -> Json:
    own = {**facts_of(app), "app": ""}
    written = {path: texts[path] for path in FIELDS if texts.get(path, "").strip()}
    changed = {path: text for path, text in written.items() if text != own.get(path)}
    document: Json = {}
    for path, text in changed.items():
        whole, _, part = path.partition(".")
        if whole == "workload":
            document[whole] = _workload(written, app)
        elif part:
            document.setdefault(whole, {})[part] = _value(path, text)
        else:
            document[whole] = _value(path, text)
    if app and "limits" in document:
        document["limits"] = {**_dumped(app.limits), **document["limits"]}
    return document


def _workload(written: Texts, app: TargetAppAnswer | None) -> Json:
    """The app's own loop with what is written in the form; without a rate, a closed one."""
    own = app.workload if app and isinstance(app.workload, ClosedLoop | OpenLoop) else None
    kept = {name: value for name, value in _dumped(own).items() if name != "rate_rps"}
    given = {
        path.removeprefix("workload."): _value(path, text)
        for path, text in written.items()
        if path.startswith("workload.")
    }
    return {**kept, "kind": "open_loop" if "rate_rps" in given else "closed_loop", **given}


def _dumped(own: Any) -> Json:
    found: Json = own.model_dump(mode="json", exclude_defaults=True) if own is not None else {}
    return found


def _value(path: str, text: str) -> Any:
    if path == _FILE:
        return text
    if path == "objective":
        way, _, metric = text.partition(" ")
        return {way: metric}
    if path == "workload.requests":
        return [{"path": line} for line in text.split()]
    return _number(text.strip()) if FIELDS[path].is_number else text.strip()


def _number(text: str) -> float | str:
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return text  # whoever reads the request says that it is no number


def _parsed(text: str) -> Json:
    if len(text) > _MOST_YAML:
        limit = f"give at most {_MOST_YAML} characters here; `tuner submit` takes more"
        raise InvalidInput.at(REST, limit)
    try:
        _require_plain(text)
        found = parse(json.dumps(yaml.safe_load(text)).encode())
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise InvalidInput.at(REST, f"this is no YAML: {' '.join(str(error).split())}") from None
    if found is not None and not isinstance(found, dict):
        raise InvalidInput.at(REST, "give fields with their values, as in min_effect: 0.01")
    return found or {}


def _require_plain(text: str) -> None:
    """Raise `InvalidInput` for names of values, and for what would take long to read.

    The events come while the text is read, so a deep nest ends at its first levels. The reader in
    Python needs half a second for 32 of them, as it keeps every bracket for a possible key.
    """
    depth = 0
    for number, event in enumerate(yaml.parse(text, _EVENTS)):
        if isinstance(event, yaml.AliasEvent):
            raise InvalidInput.at(REST, "write each value out: names as in *name are not read here")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or number > _MOST_EVENTS:
            raise InvalidInput.at(REST, "this is nested too deeply, or has too many values")


def by_field(mistakes: Sequence[Mistake]) -> Mapping[str, Sequence[str]]:
    """What is wrong, by the path of the field; of the whole job under an empty path.

    What has no field of its own can only stand in the YAML.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for mistake in mistakes:
        place, _, line = mistake.path.partition(":")
        if path := _nearest(place):
            said = f"line {line}: {mistake.message}" if line else mistake.message
            found[path].append(said)
        else:
            found[REST if place else ""].append(str(mistake))
    return found


def _nearest(place: str) -> str:
    """The field at a place of the document, else one around it, else the first within it."""
    paths = (*FIELDS, REST)
    around = (path for path in paths if f"{place}.".startswith(f"{path}."))
    within = (path for path in paths if place and path.startswith(f"{place}."))
    return next(around, None) or next(within, "")
