"""`/v1` may only grow: what `v1.json` has recorded stays, and requests need nothing new.

`python -m tests.unit.api.test_frozen` records what was added since.
"""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.unit.api.fakes import Api

RECORDED = Path(__file__).with_name("v1.json")
Tree = dict[str, Any]


def summary(document: Tree) -> Tree:
    """Names only. `needs` are the parameters and fields that a caller has to give."""
    operations, asked, answered = {}, set[str](), set[str]()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parameters = operation.get("parameters", [])
            operations[f"{method} {path}"] = {
                "fields": sorted(p["name"] for p in parameters),
                "needs": sorted(p["name"] for p in parameters if p.get("required")),
            }
            asked |= set(_named(operation.get("requestBody", {}), document))
            answered |= set(_named(operation["responses"], document))
    schemas = document["components"]["schemas"]
    return {
        "operations": operations,
        "requests": _fields(asked, schemas, "needs"),
        "answers": _fields(answered, schemas, "always"),
    }


def _fields(names: set[str], schemas: Tree, required: str) -> Tree:
    return {
        name: {
            "fields": sorted(schemas[name]["properties"]),
            required: sorted(schemas[name].get("required", [])),
        }
        for name in sorted(names)
        if "properties" in schemas[name]
    }


def _named(tree: Any, document: Tree) -> Iterator[str]:
    """The schemas that a part of the document leads to."""
    found, waiting = set[str](), [tree]
    while waiting:
        match waiting.pop():
            case {"$ref": str(ref)}:
                name = ref.rpartition("/")[2]
                if name not in found:
                    found.add(name)
                    waiting.append(document["components"]["schemas"][name])
            case dict() as branch:
                waiting += [value for key, value in branch.items() if key != "example"]
            case list() as branch:
                waiting += branch
            case _:
                pass
    yield from found


def broken(recorded: Tree, now: Tree) -> list[str]:
    """What callers of the recorded version would miss, or would have to add."""
    found = []
    for part, names in recorded.items():
        for name, before in names.items():
            after = now[part].get(name)
            if after is None:
                found.append(f"{name} is gone")
                continue
            for kind, fields in before.items():
                lost = set() if kind == "needs" else {*fields} - {*after[kind]}
                new = {*after[kind]} - {*fields} if kind == "needs" else set()
                found += [f"{name}: {field} is no longer in {kind}" for field in sorted(lost)]
                found += [f"{name}: {field} is needed now" for field in sorted(new)]
    return found


def written(found: Tree) -> str:
    """JSON with a line for each name, so that a diff shows what has grown."""
    parts = []
    for part, names in found.items():
        rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(of)}" for name, of in names.items())
        parts.append(f'"{part}": {{\n{rows}\n}}')
    return "{" + ",\n".join(parts) + "}\n"


DOCUMENT: Tree = Api(api_key="k").app.openapi()


def test_v1_keeps_what_it_had() -> None:
    assert broken(json.loads(RECORDED.read_text()), summary(DOCUMENT)) == []


def test_all_that_v1_has_is_recorded() -> None:
    hint = "run python -m tests.unit.api.test_frozen"
    assert json.loads(RECORDED.read_text()) == summary(DOCUMENT), hint


def lose_a_path(document: Tree) -> None:
    del document["paths"]["/v1/jobs"]


def lose_a_field(document: Tree) -> None:
    del document["components"]["schemas"]["JobSummary"]["properties"]["state"]


def need_a_field(document: Tree) -> None:
    schema = document["components"]["schemas"]["CompareRequest"]
    schema["required"] = [*schema.get("required", []), "pool"]


def add_a_field(document: Tree) -> None:
    document["components"]["schemas"]["JobSummary"]["properties"]["colour"] = {"type": "string"}


@pytest.mark.parametrize(
    ("change", "breaks"),
    [(lose_a_path, True), (lose_a_field, True), (need_a_field, True), (add_a_field, False)],
)
def test_a_break_is_seen_and_growth_is_none(change: Callable[[Tree], None], breaks: bool) -> None:
    changed = deepcopy(DOCUMENT)
    change(changed)
    assert bool(broken(summary(DOCUMENT), summary(changed))) is breaks


if __name__ == "__main__":
    new = summary(DOCUMENT)
    if RECORDED.exists() and (lost := broken(json.loads(RECORDED.read_text()), new)):
        raise SystemExit("\n".join(lost))
    RECORDED.write_text(written(new))
