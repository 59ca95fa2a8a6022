"""What is wrong with a file, and how it is put right."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is; members stand in order, the worst first."""

    ERROR = "error"  # uWSGI does not start, or does something else than what is written
    WARNING = "warning"  # it works, but not under load, not everywhere, or not for long
    NOTE = "note"  # it works; there is a better way

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New text in place of some lines, endings not included.

    Lines `first` to `last` (from 1, both included) become `lines`; nothing is left of them where
    that is empty. With `last` one below `first`, `lines` are put before line `first`.
    """

    first: int
    last: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """How to put it right, as a sentence and as edits.

    A safe one keeps what uWSGI does today, or makes it do what is plainly written; `--fix` applies
    no others. Without edits it is advice alone.
    """

    sentence: str
    edits: tuple[Edit, ...] = ()
    is_safe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong. `line` counts from 1; None where the file as a whole is meant."""

    rule: str
    severity: Severity
    line: int | None
    message: str
    fix: Fix | None = None
