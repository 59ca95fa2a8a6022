"""A rule: a page with its texts, and a function from a file to hits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Finding, Fix, Severity, quoted
from tuner.uwsgi.lint.subject import Entry, Subject


@dataclass(frozen=True, slots=True)
class Hit:
    """What a check returns. The rule adds the message, advice and severity that it lacks.

    `facts` are the values of the placeholders in the page's message and advice.
    """

    line: int | None
    message: str = ""
    fix: Fix | None = None
    severity: Severity | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


def hit(
    entry: Entry, fix: Fix | None = None, severity: Severity | None = None, **facts: object
) -> Hit:
    """A hit with the page's message; the facts here are the entry's."""
    value, shown = entry.value, quoted(entry.value)
    own = {"key": entry.key, "value": value, "number": as_int(value), "quoted": shown}
    given = shown if value else "no value"
    return Hit(entry.number, "", fix, severity, {**own, "given": given, **facts})


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
    or `unsafe` edits, `advice` only, or `none`. `message` and `advice` are what a hit says if its
    check says nothing else; `{name}` is a fact of the hit. `text` is the page in Markdown: why it
    matters, the problem and the better file as a diff, and the evidence.
    """

    id: str
    name: str
    severity: Severity
    since: str
    fix: str
    text: str
    check: Check
    message: str = ""
    advice: str = ""

    @property
    def why(self) -> str:
        """What uWSGI does with such a file: the first paragraph of the page, on one line."""
        return self.text.partition("\n\n")[0].replace("\n", " ")

    def findings(self, subject: Subject) -> Iterable[Finding]:
        """All findings of this rule, top to bottom."""
        for found in self.check(subject):
            yield Finding(
                rule=self.id,
                name=self.name,
                severity=found.severity or self.severity,
                line=found.line,
                message=found.message or self.message.format_map(found.facts),
                fix=self._advised(found),
            )

    def _advised(self, found: Hit) -> Fix | None:
        if not self.advice or (found.fix and found.fix.sentence):
            return found.fix
        return replace(found.fix or Fix(""), sentence=self.advice.format_map(found.facts))
