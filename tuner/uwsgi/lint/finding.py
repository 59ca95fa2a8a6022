"""What is wrong with a file, and how to repair it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is; the worst member comes first."""

    ERROR = "error"  # uWSGI does not start, or does something other than the file says
    WARNING = "warning"  # it works, but not under load, not everywhere, or not for long
    NOTE = "note"  # it works; there is a better way

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Edit:
    """New text for some lines, without line endings.

    `lines` replace the lines `first` to `last` (from 1, both included); no `lines` remove them.
    With `last` one below `first`, `lines` are inserted before line `first`.
    """

    first: int
    last: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fix:
    """How to repair it, as a sentence and as edits.

    A safe fix keeps what uWSGI does today, or makes uWSGI do what the file plainly says. `--fix`
    applies only safe ones. A fix without edits is advice.
    """

    sentence: str
    edits: tuple[Edit, ...] = ()
    is_safe: bool = False

    @property
    def is_automatic(self) -> bool:
        """Whether it has edits."""
        return bool(self.edits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem; `rule` is the id of its rule, and `name` the name.

    `line` counts from 1; it is None when the problem is the whole file.
    """

    rule: str
    name: str
    severity: Severity
    line: int | None
    message: str
    fix: Fix | None = None
