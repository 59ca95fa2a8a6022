"""One option of uWSGI."""

from dataclasses import dataclass
from enum import StrEnum

from tuner.nouns.model import Danger



class Kind(StrEnum):
    """How uWSGI reads the text after the `=`."""

    FLAG = "flag"  # true unless it is one of four words in any case: false, off, no, 0
    INTEGER = "integer"  # by C's atoi: `8 ; c` is 8, `abc`, `true` and nothing are 0
    TEXT = "text"
    LIST = "list"  # every line adds a value; for all other kinds the last line wins
    ACTION = "action"  # applied when it is read: `set`, `ini`, `print`, `if-env`, ...


class Takes(StrEnum):
    """What follows the option on a command line."""

    VALUE = "value"
    NOTHING = "nothing"
    MAYBE = "maybe"  # `--name=value` only: a word of its own is no value


class Advice(StrEnum):
    """What a tuner may do with it."""

    TUNE = "tune"  # changes speed, and nothing that the app can see
    SEMANTIC = "semantic"  # changes what the app or its users see: the owner decides
    NEVER = "never"  # commands, sockets, identity: a benchmark does not touch them


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option under its canonical name.

    `names` are all its spellings. `default` is in the form of a file; None when there is none or it
    is unknown. `since` is the first version that has the option, `until` the last; None when every
    version has it. `needs` is what the build needs (`pcre`, `ssl`, a plugin); empty for nothing.
    `rules` are constraints as sentences. A line with the option turns `forces` on, also with the
    value `false`. `sentence` says what it does. An `is_immediate` option is applied at its line,
    before `%(name)`, `$(NAME)` and `@(file)` are replaced: it sees them as plain text. `letter` is
    its short form on a command line; empty for none.
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
    takes: Takes = Takes.VALUE
    letter: str = ""
