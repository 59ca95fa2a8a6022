"""Which commands of a script run: blocks that are open, and tests, as far as a text shows them.

True and False are sure; None is what only a run shows.
"""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Block:
    """A block that is open. `state` is whether its present branch runs; None: unknown."""

    state: bool | None = True
    test: bool | None = None
    word: str | None = None
    is_done: bool | None = False  # whether an earlier branch ran
    is_asking: bool = False  # between `if` and `then`

    def turn(self, keyword: str) -> None:
        """`then`, `elif` and `else`."""
        self.is_asking = keyword == "elif"
        if keyword == "then":
            self.state = False if self.is_done is True else self.test
            if self.is_done is None and self.state is True:
                self.state = None
        else:
            self.is_done = True if self.state is True else _or(self.is_done, self.state)
            self.state, self.test = negated(self.is_done), None

    def branch(self, pattern: str) -> None:
        """A pattern of `case`."""
        if self.state is True and self.is_done is False and self.test is not None:
            self.is_done = True
        if self.word is None:
            self.state, self.test = None, None
            return
        patterns = [each.strip().strip("'\"") for each in pattern.split("|")]
        is_met = any(fnmatch.fnmatchcase(self.word, each) for each in patterns)
        self.state = is_met and self.is_done is False
        self.test = True


def negated(one: bool | None) -> bool | None:
    return None if one is None else not one


def _or(one: bool | None, other: bool | None) -> bool | None:
    return True if True in (one, other) else None if None in (one, other) else False


def tested(words: Sequence[str | None]) -> bool | None:
    """`[ A = B ]`, `[ -z A ]` and `[ A ]`; None if only a run shows it."""
    inner = words[1:-1] if words[0] in {"[", "[["} else words[1:]
    match inner:
        case [str(left), "=" | "==", str(right)]:
            return left == right
        case [str(left), "!=", str(right)]:
            return left != right
        case ["-z", str(text)]:
            return not text
        case ["-n", str(text)] | [str(text)]:
            return bool(text)
        case _:
            return None
