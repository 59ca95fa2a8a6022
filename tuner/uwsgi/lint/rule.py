"""A rule: a page with its texts, and a function from a file to hits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tuner.uwsgi.lint.finding import Finding, Fix, Severity
from tuner.uwsgi.lint.subject import Subject


@dataclass(frozen=True, slots=True)
class Hit:
    """What a check returns. The rule adds its id, and its severity where the hit has none."""

    line: int | None
    message: str
    fix: Fix | None = None
    severity: Severity | None = None


Check = Callable[[Subject], Iterable[Hit]]
CHECKS: dict[str, Check] = {}
"""Every check by the name of its rule. Modules in `checks` fill it when they are imported."""


def check(name: str) -> Callable[[Check], Check]:
    """Register a function as the check of the rule with this name."""

    def register(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return register


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One page of `lint/pages` and its check.

    `id` is `U` and three digits and never used again; `name` is for people (kebab-case). `since`
    is the first release of this tool that has the rule. `fix` is what it usually offers: `safe`
    or `unsafe` edits, `advice` only, or `none`. `text` is the page in Markdown: why it matters, the
    problem and the better file as a diff, and the evidence.
    """

    id: str
    name: str
    severity: Severity
    since: str
    fix: str
    text: str
    check: Check

    @property
    def why(self) -> str:
        """What uWSGI does with such a file: the first paragraph of the page, on one line."""
        return self.text.partition("\n\n")[0].replace("\n", " ")

    def findings(self, subject: Subject) -> Iterable[Finding]:
        """All findings of this rule, top to bottom."""
        for hit in self.check(subject):
            yield Finding(
                rule=self.id,
                severity=hit.severity or self.severity,
                line=hit.line,
                message=hit.message,
                fix=hit.fix,
            )
