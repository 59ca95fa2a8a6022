"""All rules together: look at a file, and put right what can be."""

from collections.abc import Collection, Sequence

from tuner.uwsgi.lint.finding import Finding
from tuner.uwsgi.lint.fixing import fixed
from tuner.uwsgi.lint.linting import run, subject_of
from tuner.uwsgi.lint.rule import Rule
from tuner.uwsgi.lint.rules import RULES as SYNTAX
from tuner.uwsgi.lint.rules import UNUSABLE
from tuner.uwsgi.lint.rules_meaning import RULES as MEANING
from tuner.uwsgi.lint.subject import Subject

RULES: tuple[Rule, ...] = tuple(sorted((*SYNTAX, *MEANING), key=lambda rule: rule.id))
"""Every rule there is, by id."""

_MOST_ROUNDS = 10
"""A fix may bring another finding to light; each round leaves fewer, or changes nothing."""


def rule_of(id_: str) -> Rule | None:
    """The rule of that id or name."""
    return next((rule for rule in RULES if id_ in (rule.id, rule.name)), None)


def lint(subject: Subject, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """What is wrong with a file, by line, the worst first."""
    return run(subject, rules, UNUSABLE)


def is_usable(findings: Collection[Finding]) -> bool:
    """Whether the file is one that can be looked at; if not, the findings say why."""
    return not any(finding.rule in UNUSABLE for finding in findings)


def _is_read_to_its_end(subject: Subject) -> bool:
    """Not so where includes of includes are too many to be followed: then nothing is certain."""
    return all(problem.code != "include-depth" for problem in subject.problems)


def repaired(
    text: str, subject: Subject, rules: Sequence[Rule] = RULES, *, unsafe: bool = False
) -> tuple[str, tuple[Finding, ...]]:
    """`text`, which is the subject's, with all fixes made that may be, and what is left then.

    Doing it again changes nothing more.
    """
    for _ in range(_MOST_ROUNDS):
        findings = run(subject, rules, UNUSABLE, most=None)
        may_change = is_usable(findings) and _is_read_to_its_end(subject)
        better = fixed(text, findings, unsafe=unsafe) if may_change else text
        if better == text:
            break
        text = better
        subject = subject_of(text, subject.catalogue, subject.box)
    return text, lint(subject, rules)
