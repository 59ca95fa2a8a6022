"""The files that a rule's page shows: its diff gives the problem and the better file."""

import re

from tuner.uwsgi.lint import Rule

_DIFF = re.compile(r"```diff\n(.*?)```", re.DOTALL)
_ESCAPE = re.compile(r"\\(r|x[0-9a-f]{2}|u[0-9a-f]{4})")


def example(rule: Rule) -> str:
    """The file with the problem."""
    return _side(rule, "+")


def better(rule: Rule) -> str:
    """The same file, repaired."""
    return _side(rule, "-")


def _side(rule: Rule, other: str) -> str:
    """One side of the diff. A page shows invisible characters as escapes, `\\x00`."""
    (diff,) = _DIFF.findall(rule.text)
    lines = (line for line in diff.splitlines() if not line.startswith(other))
    text = "".join(f"{line[1:]}\n" for line in lines)
    return _ESCAPE.sub(lambda found: "\r" if found[1] == "r" else chr(int(found[1][1:], 16)), text)
