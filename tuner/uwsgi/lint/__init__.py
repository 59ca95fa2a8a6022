"""Is this file what its author means? Rules over a uwsgi.ini, each with its own page.

every            all rules: lint, repair
├── rules            does uWSGI read what is written? U001 to U049
├── rules_meaning    is it wise, here? from U050
├── linting          run rules over a file, messages fit to be shown
└── fixing           edits → the text
rule             an id, a name, why it matters, and how it is known
├── subject          the file, its entries, the options, the box it runs in
└── finding          severity, line, message, fix
"""

from tuner.uwsgi.lint.every import RULES, is_usable, lint, repaired, rule_of
from tuner.uwsgi.lint.finding import Edit, Finding, Fix, Severity
from tuner.uwsgi.lint.fixing import applicable, fixed
from tuner.uwsgi.lint.linting import MAX_CHARS, subject_of, worst
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules import UNUSABLE
from tuner.uwsgi.lint.subject import Box, Entry, Subject

__all__ = [
    "MAX_CHARS",
    "RULES",
    "UNUSABLE",
    "Box",
    "Edit",
    "Entry",
    "Finding",
    "Fix",
    "Hit",
    "Rule",
    "Severity",
    "Subject",
    "applicable",
    "fixed",
    "is_usable",
    "lint",
    "repaired",
    "rule_of",
    "subject_of",
    "worst",
]
