"""A rule: a page with its texts, a function from a file to hits, and checks that several share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tuner.uwsgi.ini import Problem, as_int
from tuner.uwsgi.lint.finding import Finding, Fix, Severity, added, quoted, removed, set_to, top_of
from tuner.uwsgi.lint.subject import Entry, Subject, is_absent, is_off, switched_off
from tuner.uwsgi.options.releases import is_before, numbers_of

# ---- A rule: a page with its texts, and a function from a file to hits


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
    check says nothing else; `{name}` is a fact of the hit. It holds for uWSGI from `uwsgi_since` to
    `uwsgi_until`, empty for no limit. `text` is the page in Markdown: why it matters, the problem
    and the better file as a diff, and the evidence.
    """

    id: str
    name: str
    severity: Severity
    since: str
    fix: str
    text: str
    check: Check
    uwsgi_since: str = ""
    uwsgi_until: str = ""
    message: str = ""
    advice: str = ""

    @property
    def why(self) -> str:
        """What uWSGI does with such a file: the first paragraph of the page, on one line."""
        return self.text.partition("\n\n")[0].replace("\n", " ")

    @property
    def versions(self) -> str:
        """The versions of uWSGI for which it holds, in words; empty for all."""
        since, until = self.uwsgi_since, self.uwsgi_until
        if since and until:
            return f"uWSGI {since} to {until}"
        return f"uWSGI {since} and later" if since else until and f"uWSGI {until} and earlier"

    def holds_for(self, version: str) -> bool:
        """Whether it holds for that uWSGI; a rule for some holds for no unknown one."""
        if not numbers_of(version):
            return not self.versions
        too_old = self.uwsgi_since and is_before(version, self.uwsgi_since)
        too_new = self.uwsgi_until and is_before(self.uwsgi_until, version)
        return not (too_old or too_new)

    def findings(self, subject: Subject) -> Iterable[Finding]:
        """All findings of this rule, top to bottom."""
        if not self.holds_for(subject.catalogue.version):
            return
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


# ---- Checks that several rules share, with the option as data

Find = Callable[..., Entry | None]
"""`positive` or `switched_on`: how an option is on."""


def advised(
    rule: str,
    find: Callable[..., Entry | tuple[Entry, ...] | None],
    *options: str,
    when: Callable[[Subject, Entry], bool] | None = None,
    fix: Callable[[Entry], Fix] | None = None,
) -> None:
    """The entries that `find` gives, if `when` holds; without `fix`, the page has the advice."""

    def hits(subject: Subject) -> Iterator[Hit]:
        found = find(subject, *options)
        entries = found if isinstance(found, tuple) else (found,) if found else ()
        chosen = (entry for entry in entries if when is None or when(subject, entry))
        return (hit(entry, fix and fix(entry)) for entry in chosen)

    check(rule)(hits)


def discouraged(rule: str, find: Find, option: str) -> None:
    """The option is on, and should not be; the page's advice says why to remove it."""

    advised(rule, find, option, fix=lambda entry: removed(entry, ""))


def needs(rule: str, find: Find, option: str, *partners: str) -> None:
    """The option is on, and all its partners are off; the fix adds the first one."""

    def hits(subject: Subject) -> Iterator[Hit]:
        entry = find(subject, option)
        if entry and all(is_off(subject, partner) for partner in partners):
            yield hit(entry, added(subject, f"{partners[0]} = true"))

    check(rule)(hits)


def missing(rule: str, option: str, applies: Callable[[Subject], bool]) -> None:
    """A flag that is off or absent, and should be on."""

    def hits(subject: Subject) -> Iterator[Hit]:
        off = switched_off(subject, option)
        if not applies(subject) or not (off or is_absent(subject, option)):
            return
        fix = set_to(off, "true", "turn it on") if off else added(subject, f"{option} = true")
        yield Hit(off.number if off else top_of(subject), fix=fix)

    check(rule)(hits)


def problem(rule: str, *codes: str) -> None:
    """The reader reports one of these problems."""
    check(rule)(lambda subject: (Hit(p.line, p.message) for p in with_code(subject, *codes)))


def with_code(subject: Subject, *codes: str) -> list[Problem]:
    """The problems of these kinds that the reader reports, by line."""
    return [problem for problem in subject.problems if problem.code in codes]
