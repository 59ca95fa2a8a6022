"""All rules: each page of `pages` with the check of its name."""

from tuner.uwsgi import knowledge
from tuner.uwsgi.lint.checks import CHECKS
from tuner.uwsgi.lint.finding import Severity
from tuner.uwsgi.lint.rule import Rule

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
