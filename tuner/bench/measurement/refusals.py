"""Log lines by which a service refuses connections, because it has as many as it allows."""

import re

from tuner.nouns.masking import masked

LONGEST = 300  # characters of a line that are kept

_REFUSED = re.compile(
    r"sorry, too many clients already"  # PostgreSQL
    r"|remaining connection slots are reserved"  # PostgreSQL: the rest is for administrators
    r"|SQLSTATE[\s:=(\[]*53300"  # PostgreSQL in any language
    r"|\btoo many connections\b"  # MySQL's 1040, MariaDB; PostgreSQL's limit of a role
    r"|max number of clients reached",  # Redis, Valkey
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def refusal_in(log: str) -> str | None:
    """The last line of a log that says that a service refused a connection, without secrets.

    A line of the service itself counts, and one of the app that quotes its answer.
    """
    for line in reversed(log.splitlines()):
        if _REFUSED.search(line):
            shown = masked(_CONTROL.sub(" ", line).strip())
            found = _REFUSED.search(shown)
            start = max(0, found.end() - LONGEST) if found else 0
            return shown[start : start + LONGEST]
    return None
