"""Is this file what its author means? Rules over a uwsgi.ini.

linting         all rules over a file; its repair; the JSON answer
├── checks      the checks, by subject
│   └── rule        page and check, and checks that several rules share
├── subject     the file, what it certainly says, the options, the box where it runs
├── references  names behind `%(...)`, and keys that are no option
└── finding     severity, line, message; the fix, and how it changes the text
"""

from tuner.uwsgi.lint.finding import Edit, Finding, Fix, Severity, applicable, fixed
from tuner.uwsgi.lint.linting import RULES, UNUSABLE, is_usable, lint, repaired, rule_of, worst
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.subject import Box, Entry, Subject, TimeLimit, subject_of
