"""Is this file what its author means? Rules over a uwsgi.ini.

linting          run rules over a file, repair it
├── ruleset      all rules: a page of pages/ and a check each
│   └── checks   the checks, by subject
└── fixing       edits → the text
wire             findings → the JSON answer
rule             page and check
├── subject      the file, its entries, the options, the box where it runs
└── finding      severity, line, message, fix
certainty        what a file certainly says; edits, addresses, invocation: parts of checks
"""

from tuner.uwsgi.lint.finding import Edit, Finding, Fix, Severity, applicable, fixed
from tuner.uwsgi.lint.linting import RULES, UNUSABLE, is_usable, lint, repaired, rule_of, worst
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.subject import MAX_CHARS, Box, Entry, Subject, subject_of
