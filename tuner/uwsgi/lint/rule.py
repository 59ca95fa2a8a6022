"""A rule: an id that stays, a name, and a function from a file to findings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tuner.uwsgi.lint.finding import Finding, Fix, Severity
from tuner.uwsgi.lint.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What a rule's function says; the rule adds its id, and its severity unless told another."""

    line: int | None
    message: str
    fix: Fix | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`id` is `U` and three digits, never given twice; `name` is what people read (kebab-case).

    `why` says in one or two sentences what happens to whoever ignores it; `example` is a file that
    has it, `better` the same put right. `evidence` says how it is known: source file and line of
    uWSGI, what a container of which version did, or an issue. The page of the rule in docs/lint is
    made of these.
    """

    id: str
    name: str
    severity: Severity
    why: str
    example: str
    better: str
    evidence: str
    look: Callable[[Subject], Iterable[Hit]]

    def findings(self, subject: Subject) -> Iterable[Finding]:
        """All that this rule finds, top to bottom."""
        for hit in self.look(subject):
            yield Finding(
                rule=self.id,
                severity=hit.severity or self.severity,
                line=hit.line,
                message=hit.message,
                fix=hit.fix,
            )
