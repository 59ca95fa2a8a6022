"""Lint: findings in a pasted file, at their lines, and the corrected file as a diff."""

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import mistakes_of
from tuner.nouns.schemas import FindingAnswer, LintAnswer, LintRequest
from tuner.service.api.linting import linted
from tuner.service.api.services import Wired
from tuner.service.pages.answering import page
from tuner.service.pages.forms import Form
from tuner.uwsgi.lint import Box

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
