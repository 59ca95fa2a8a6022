"""Findings of the linter as text, as JSON, as GitHub workflow commands and as SARIF."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tuner.nouns.plain import count
from tuner.uwsgi.lint import RULES, Finding, Fix, Rule, Severity, applicable
from tuner.uwsgi.lint.linting import answer_of
from tuner.uwsgi.options import Catalogue, known

if TYPE_CHECKING:
    from tuner.nouns.schemas.base import LintAnswer

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


@dataclass(frozen=True, slots=True)
class Linted:
    """What was checked and for which uWSGI, what was found in it, and its text if it was fixed.

    `section` is empty where the user names none.
    """

    file: str
    findings: tuple[Finding, ...]
    fixed: str | None = None
    catalogue: Catalogue = field(default_factory=known)
    section: str = ""

    @property
    def name(self) -> str:
        """As the user wrote it."""
        return f"{self.file}:{self.section}" if self.section else self.file


def text_of(found: Sequence[Linted]) -> str:
    """One line for each finding, its fix below it, and a count at the end."""
    lines: list[str] = []
    for file, finding in _each(found):
        place = file if finding.line is None else f"{file}:{finding.line}"
        head = f"{finding.severity} {finding.rule} {finding.name}"
        lines.append(f"{place}: {head}: {finding.message}")
        if finding.fix:
            lines.append(f"    fix{_how(finding)}: {finding.fix.sentence}")
    total = counted([finding for _file, finding in _each(found)])
    return "\n".join([*lines, total if len(found) == 1 else f"{len(found)} files: {total}"])


def _each(found: Sequence[Linted]) -> Iterator[tuple[str, Finding]]:
    return ((one.file, finding) for one in found for finding in one.findings)


def counted(findings: Sequence[Finding]) -> str:
    """`3 findings: 1 error, 2 notes; --fix fixes 1`."""
    if not findings:
        return "no findings"
    counts = [(s, sum(f.severity is s for f in findings)) for s in Severity]
    parts = ", ".join(count(number, severity.value) for severity, number in counts if number)
    said = f"{count(len(findings), 'finding')}: {parts}"
    fixable = len(applicable(findings))
    return f"{said}; --fix fixes {fixable}" if fixable else said


def json_of(found: Sequence[Linted]) -> str:
    """The answer of the API for one file; for several an object of answers by file."""
    answers = {one.name: _answer(one).model_dump(mode="json") for one in found}
    return json.dumps(
        answers if len(found) > 1 else answers[found[0].name], indent=2, ensure_ascii=False
    )


def _answer(one: Linted) -> "LintAnswer":
    # JSON cannot hold bytes that are not UTF-8: they become question marks.
    sent = None if one.fixed is None else one.fixed.encode("utf-8", "replace").decode()
    return answer_of(one.findings, one.catalogue, sent)


def github_of(found: Sequence[Linted]) -> str:
    """Workflow commands: GitHub shows them beside the lines of a pull request."""
    return "\n".join(_command(file, finding) for file, finding in _each(found))


def sarif_of(found: Sequence[Linted]) -> str:
    """A SARIF 2.1.0 log of one run, with all rules."""
    places = {rule.id: index for index, rule in enumerate(RULES)}
    driver = {
        "name": "uwsgi-tuner",
        "semanticVersion": version("uwsgi-tuner"),
        "rules": [_described(rule) for rule in RULES],
    }
    results = [_result(file, finding, places[finding.rule]) for file, finding in _each(found)]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def explained(rule: Rule) -> str:
    """The page of a rule."""
    facts = [rule.severity, f"fix: {rule.fix}", *([rule.versions] if rule.versions else ())]
    return f"{rule.id} {rule.name} ({', '.join(facts)})\n\n{rule.text}"


def _how(finding: Finding) -> str:
    if not finding.fix or not finding.fix.edits:
        return ""
    return " (--fix)" if finding.fix.is_safe else " (--fix --unsafe)"


def _command(file: str, finding: Finding) -> str:
    title = f"{finding.rule} {finding.name}"
    line = [] if finding.line is None else [f"line={finding.line}"]
    properties = ",".join([f"file={_property(file)}", *line, f"title={_property(title)}"])
    fix = "" if finding.fix is None else f". Fix: {finding.fix.sentence}"
    return f"::{_GITHUB[finding.severity]} {properties}::{_data(finding.message + fix)}"


def _data(text: str) -> str:
    """Escaped for the text of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _described(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ")},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.text, "markdown": rule.text},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(file: str, finding: Finding, index: int) -> dict[str, Any]:
    artifact = {"uri": quote(file)}
    place: dict[str, Any] = {"artifactLocation": artifact}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }
    if finding.fix and finding.fix.edits:
        result["fixes"] = [_fix(artifact, finding.fix)]
    return result


def _fix(artifact: dict[str, str], fix: Fix) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": _region(edit.first, edit.last),
            "insertedContent": {"text": "".join(f"{line}\n" for line in edit.lines)},
        }
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.sentence},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": replacements}],
    }


def _region(first: int, last: int) -> dict[str, int]:
    """Whole lines from `first` to `last`; empty for an insertion."""
    return {"startLine": first, "startColumn": 1, "endLine": max(last + 1, first), "endColumn": 1}
