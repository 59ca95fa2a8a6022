"""Names and values: how uWSGI reads them, and which ones a line can contain."""

import re

_ALIASES = (
    ("processes", "workers"),
    ("thread-stacksize", "threads-stacksize", "thread-stack-size", "threads-stack-size"),
    ("offload-threads", "offload-thread"),
    ("http-processes", "http-workers"),
    ("tcp-fast-open", "tcp-fastopen"),
    ("log-format", "logformat"),
)
_CANONICAL = {alias: group[0] for group in _ALIASES for alias in group}
_INT_MAX = 2**31 - 1
_FALSE = frozenset({"false", "off", "no", "0"})
_STRIPPED = " \t\r"
_INLINE = re.compile(r"(?<=[ \t])([;#].*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def canonical(key: str) -> str:
    """The canonical name of an option with several names."""
    return _CANONICAL.get(key, key)


def is_true(value: str) -> bool:
    """How uWSGI reads a flag: all but four words are true, even `false  # x`.

    Case does not matter: `False` and `OFF` are false.
    """
    return value.lower() not in _FALSE


def as_int(value: str) -> int:
    """How uWSGI reads a number: like C's atoi, so `8 ; c` is 8 and `abc` or nothing is 0.

    A number that does not fit a C int, where atoi is undefined, is the largest int.
    """
    match = re.match(r"\s*([+-]?)0*([0-9]+)", value)
    if match is None:
        return 0
    digits = match.group(2)
    number = int(digits) if len(digits) <= len(str(_INT_MAX)) else _INT_MAX
    return min(number, _INT_MAX) * (-1 if match.group(1) == "-" else 1)


def as_text(value: bool | int | str) -> str:
    """How we write a value into the file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def eats_newline(text: str) -> bool:
    """Whether a line's text removes its own line ending, because it ends in an odd `%`.

    uWSGI replaces magic variables before it looks for lines. `%` and a newline is a variable
    without a meaning, so both disappear, also in comments. (core/utils.c: magic_sub)
    """
    return bool((len(text) - len(text.rstrip("%"))) % 2)


def why_unwritable(option: str, value: str) -> str | None:
    """Why no line `option = value` can mean this; None when one can."""
    if not option or option[0] in "[;#" or "=" in option or option != option.strip(_STRIPPED):
        return "is not a valid option name"
    if _CONTROL.search(option + value):
        return "contains a control character, which ends a line or its text"
    if value != value.strip(_STRIPPED):
        return "has blanks around its value, and uWSGI drops them"
    if eats_newline(value):
        return "ends in a single %, which joins the next line; write %%"
    return None


def inline_comment(value: str) -> str | None:
    """What its author wanted as a comment behind a value; for uWSGI it is part of the value."""
    found = _INLINE.search(value)
    return found.group(1).rstrip() if found else None


def as_comment(text: str) -> str:
    """`text` as the text of one comment line."""
    line = _CONTROL.sub(" ", text)
    return f"{line}." if eats_newline(line) else line
