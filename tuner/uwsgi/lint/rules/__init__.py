"""Rules on syntax, keys and values: does uWSGI read what is written?

files        text at all, an ini at all
sections     headers and includes
blocks       if and for
keys         unknown, misspelt, of another build
└── strangers    why a key is no option
values       quotes, words, continuation lines
numbers      units, signs, sizes
comments     behind a value
duplicates   of a scalar the last line counts
placeholders %(name) and %x
parts        what they have in common
"""

from tuner.uwsgi.lint.rule import Rule
from tuner.uwsgi.lint.rules import (
    blocks,
    comments,
    duplicates,
    files,
    keys,
    numbers,
    placeholders,
    sections,
    values,
)

_MODULES = (
    files,
    sections,
    blocks,
    keys,
    comments,
    numbers,
    values,
    duplicates,
    placeholders,
)

RULES: tuple[Rule, ...] = tuple(
    sorted((rule for module in _MODULES for rule in module.RULES), key=lambda rule: rule.id)
)
UNUSABLE = frozenset({"U002", "U003", "U004"})
"""Where one of these finds something there is no uwsgi.ini to look at."""
