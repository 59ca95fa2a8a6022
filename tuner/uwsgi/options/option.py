"""What there is to know of one option of uWSGI."""

from dataclasses import dataclass
from enum import StrEnum

from tuner.model import Danger

__all__ = ["Advice", "Danger", "Kind", "Option"]


class Kind(StrEnum):
    """How uWSGI reads what stands behind the `=`."""

    FLAG = "flag"  # true unless it is one of four words in any case: false, off, no, 0
    INTEGER = "integer"  # by C's atoi: `8 ; c` is 8, `abc`, `true` and nothing are 0
    TEXT = "text"
    LIST = "list"  # every line adds one more; of all other kinds the last line counts
    ACTION = "action"  # done as soon as it is read: `set`, `ini`, `print`, `if-env`, ...


class Advice(StrEnum):
    """What a tuner may do with it."""

    TUNE = "tune"  # changes speed, and nothing that the app can see
    SEMANTIC = "semantic"  # changes what the app or its users see: the owner's to decide
    NEVER = "never"  # commands, sockets, identity: no business of a benchmark


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option under its canonical name.

    `names` are all its spellings, `name` among them. `default` is as a file would say it; None
    where there is none, or where it is not known. `since` is the first version that has it, `until`
    the last; None where no version is known without it. `needs` names what the build must have
    been made with (`pcre`, `ssl`, a plugin); empty where every build has it. `rules` are
    constraints as sentences. `forces` names the options that its mere presence switches on.
    `sentence` says what it does. `is_immediate` ones are read at their
    line, before `%(name)`, `$(NAME)` and `@(file)` are replaced: they see these as plain text.
    """

    name: str
    names: tuple[str, ...]
    kind: Kind
    sentence: str = ""
    default: str | None = None
    since: str | None = None
    until: str | None = None
    needs: str = ""
    rules: tuple[str, ...] = ()
    forces: tuple[str, ...] = ()
    advice: Advice = Advice.SEMANTIC
    danger: Danger | None = None
    is_immediate: bool = False
