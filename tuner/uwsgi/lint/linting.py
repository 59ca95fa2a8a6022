"""Run all rules over a file, and repair what they find."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tuner.uwsgi import knowledge
from tuner.uwsgi.lint.checks import CHECKS
from tuner.uwsgi.lint.finding import Finding, Severity, fixed
from tuner.uwsgi.lint.rule import Rule
from tuner.uwsgi.lint.subject import Subject, subject_of
from tuner.uwsgi.options.guessing import Catalogue

if TYPE_CHECKING:
    from tuner.nouns.schemas.base import LintAnswer

# ---- All rules: each page of `pages` with the check of its name

RULES: tuple[Rule, ...] = tuple(
    Rule(**{**head, "severity": Severity(head["severity"])}, text=text, check=CHECKS[head["name"]])
    for head, text in knowledge.pages("lint/pages")
)
"""Every rule, by id."""

UNUSABLE = frozenset({"U002", "U003", "U004"})
"""When one of these finds something, the text is no uwsgi.ini."""


def rule_of(id_: str) -> Rule | None:
    """The rule with that id or name."""
    return next((rule for rule in RULES if id_ in (rule.id, rule.name)), None)


# ---- Run rules over a file, and repair what they find

MOST_OF_A_RULE = 100
"""Findings of one rule in one file."""

MOST_IN_A_MESSAGE = 500  # characters

_MOST_ROUNDS = 10
"""A fix may reveal another finding. Each round leaves fewer, or changes nothing."""


def lint(subject: Subject, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """What is wrong with a file, by line, the worst first."""
    return _findings(subject, rules, most=MOST_OF_A_RULE)


def is_usable(findings: Collection[Finding]) -> bool:
    """Whether the text is a uwsgi.ini. If not, the findings say why."""
    return not any(finding.rule in UNUSABLE for finding in findings)


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The worst severity among the findings."""
    return min((finding.severity for finding in findings), key=lambda s: s.rank, default=None)


def repaired(
    text: str, subject: Subject, rules: Sequence[Rule] = RULES, *, unsafe: bool = False
) -> tuple[str, tuple[Finding, ...]]:
    """`text`, which is the subject's, with all allowed fixes, and the findings that remain.

    A second call changes nothing.
    """

    def read(text: str) -> Subject:
        return subject_of(text, subject.catalogue, subject.box, subject.ini.section)

    def look(text: str) -> tuple[Finding, ...]:
        return _findings(read(text), rules, most=None)

    text = mended(text, look, unsafe=unsafe)
    return text, lint(read(text), rules)


def mended(text: str, look: Callable[[str], Collection[Finding]], *, unsafe: bool = False) -> str:
    """`text` with all allowed fixes of what `look` finds, until nothing changes."""
    for _ in range(_MOST_ROUNDS):
        findings = look(text)
        better = fixed(text, findings, unsafe=unsafe) if is_usable(findings) else text
        if better == text:
            break
        text = better
    return text


def _findings(subject: Subject, rules: Sequence[Rule], most: int | None) -> tuple[Finding, ...]:
    """The findings, at most `most` of each rule; only those of `UNUSABLE` when there are any.

    They have no edits when there are too many includes to follow: then nothing is certain.
    """
    is_certain = all(problem.code != "include-depth" for problem in subject.problems)
    for stage in (
        [rule for rule in rules if rule.id in UNUSABLE],
        [rule for rule in rules if rule.id not in UNUSABLE],
    ):
        found = [
            _printable(finding, is_certain=is_certain)
            for rule in stage
            for finding in islice(rule.findings(subject), most)
        ]
        if found:
            return tuple(sorted(found, key=lambda f: (f.line or 0, f.severity.rank, f.rule)))
    return ()


def _printable(finding: Finding, *, is_certain: bool) -> Finding:
    """Without control characters: messages quote the file, and a terminal would obey them."""
    fix = finding.fix
    if fix:
        edits = fix.edits if is_certain else ()
        fix = replace(fix, sentence=_escaped(fix.sentence), edits=edits)
    return replace(finding, message=_escaped(finding.message), fix=fix)


def _escaped(text: str) -> str:
    short = text if len(text) <= MOST_IN_A_MESSAGE else f"{text[:MOST_IN_A_MESSAGE]}..."
    if short.isprintable():
        return short
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


# ---- Findings as the JSON answer of the API and of the command line


def answer_of(
    findings: Sequence[Finding], catalogue: Catalogue, fixed_ini: str | None = None
) -> "LintAnswer":
    """All findings; `fixed_ini` when fixes were made."""
    from tuner.nouns.schemas.base import FindingAnswer, LintAnswer  # slow to import

    return LintAnswer(
        uwsgi_version=catalogue.version,
        is_of_build=catalogue.is_of_build,
        is_usable=is_usable(findings),
        findings=[FindingAnswer.model_validate(f, from_attributes=True) for f in findings],
        fixed_ini=fixed_ini,
    )
