"""Lint: findings in a pasted file, at their lines, and the corrected file as a diff."""

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import ValidationError

from tuner.nouns.errors import InvalidInput, Mistake, NotFound
from tuner.nouns.model import mistakes_of
from tuner.nouns.schemas import FindingAnswer, LintAnswer, LintRequest
from tuner.service.api.lint import linted
from tuner.service.api.listings import list_spaces, show_space
from tuner.service.api.services import Wired
from tuner.service.pages.answering import page
from tuner.service.pages.signing_in import Form
from tuner.uwsgi.lint import RULES, Box, rule_of
from tuner.uwsgi.options import known, nearest

router = APIRouter()

_CALLS = ["/v1/lint"]
_LIMITS = ("cpus", "memory_mb")


@router.get("/lint")
def form(request: Request) -> Response:
    """The empty form."""
    return page(request, "lint.html.j2", calls=_CALLS, ini="", given={}, answer=None, mistakes=())


@router.post("/lint")
def lint(request: Request, fields: Form, services: Wired) -> Response:
    """What the rules say of a file. Nothing is stored or run."""
    ini = fields.get("ini", "").replace("\r\n", "\n")  # a form sends every line end as CRLF
    given = {name: fields[name] for name in _LIMITS if fields.get(name)}
    try:
        answer, fixed = _linted(ini, given)
    except InvalidInput as error:
        context: dict[str, Any] = {"answer": None, "mistakes": error.mistakes}
    else:
        context = {
            "answer": answer,
            "mistakes": (),
            "lines": _lines(ini, answer.findings),
            "of_file": [found for found in answer.findings if found.line is None],
            "diff": _diff(ini, fixed),
        }
    return page(request, "lint.html.j2", calls=_CALLS, ini=ini, given=given, **context)


def _linted(ini: str, given: Mapping[str, str]) -> tuple[LintAnswer, str]:
    """All findings, and the file with its safe fixes. Raises `InvalidInput`."""
    found, repaired = (lint_answer(ini, given, fix=fix) for fix in (False, True))
    return found, repaired.fixed_ini if repaired.fixed_ini is not None else ini


def lint_answer(ini: str, given: Mapping[str, str], *, fix: bool = False) -> LintAnswer:
    """What the call answers; `given` are the limits that are known. Raises `InvalidInput`."""
    try:
        asked = LintRequest.model_validate({"ini": ini, "limits": given or None})
    except ValidationError as error:
        raise InvalidInput([Mistake(*found) for found in mistakes_of(error)]) from None
    limits = asked.limits
    box = Box(
        cpus=limits.cpus if limits and "cpus" in given else None,
        memory_mb=limits.memory_mb if limits and "memory_mb" in given else None,
    )
    return LintAnswer.model_validate_json(linted(ini, box, None, fix=fix))


def _lines(ini: str, findings: Sequence[FindingAnswer]) -> list[tuple[int, str, list[Any]]]:
    """Each line with its number and its findings."""
    at: defaultdict[int, list[FindingAnswer]] = defaultdict(list)
    for found in findings:
        if found.line is not None:
            at[found.line].append(found)
    return [(number, text, at[number]) for number, text in enumerate(ini.split("\n"), 1)]


def _diff(ini: str, fixed: str) -> Sequence[str]:
    lines = difflib.unified_diff(ini.splitlines(), fixed.splitlines(), n=2, lineterm="")
    return [*lines][2:]


# ---- What the product knows: options of uWSGI, rules of its linter, search spaces

Name = Annotated[str, Path(max_length=100)]
Words = Annotated[str, Query(max_length=100, description="only options with these words")]


@router.get("/spaces")
def spaces(request: Request, services: Wired) -> Response:
    """All search spaces."""
    found = list_spaces(services).search_spaces
    return page(request, "spaces.html.j2", calls=["/v1/search-spaces"], spaces=found)


@router.get("/spaces/{name}")
def space(name: Name, request: Request, services: Wired) -> Response:
    """One search space."""
    found = show_space(name, services)
    calls = [f"/v1/search-spaces/{name}"]
    parameters = found.model_dump(mode="json", exclude_none=True)["parameters"]
    return page(request, "space.html.j2", calls=calls, space=found, parameters=parameters)


@router.get("/options")
def options(request: Request, q: Words = "") -> Response:
    """All options, or those whose name or sentence has the words."""
    words = q.lower().split()
    catalogue = known()
    found = [
        option
        for option in catalogue.options
        if all(word in f"{' '.join(option.names)} {option.sentence}".lower() for word in words)
    ]
    command = "tuner options --json"
    return page(
        request, "options.html.j2", command=command, catalogue=catalogue, options=found, q=q
    )


@router.get("/options/{name}")
def option(name: Name, request: Request) -> Response:
    """One option. Raises `NotFound` with the name that is nearest."""
    catalogue = known()
    found = catalogue.find(name)
    if found is None:
        meant = nearest(catalogue, name)
        hint = f"; did you mean {meant}?" if meant else ""
        raise NotFound(f"uWSGI {catalogue.version} has no option {name}{hint}")
    command = f"tuner options {found.name} --json"
    return page(request, "option.html.j2", command=command, option=found, catalogue=catalogue)


@router.get("/rules")
def rules(request: Request) -> Response:
    """All rules of the linter."""
    return page(request, "rules.html.j2", command="tuner lint --explain RULE", rules=RULES)


@router.get("/rules/{name}")
def rule(name: Name, request: Request) -> Response:
    """One rule: why it matters, and the better file."""
    found = rule_of(name)
    if found is None:
        raise NotFound(f"there is no rule {name}; the list of rules has all")
    return page(request, "rule.html.j2", command=f"tuner lint --explain {found.id}", rule=found)
