"""Names and values as uWSGI reads them, and as they can be written."""

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
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def canonical(key: str) -> str:
    """The one name under which uWSGI keeps an option that has several."""
    return _CANONICAL.get(key, key)


def is_true(value: str) -> bool:
    """How uWSGI reads a boolean option: everything but four words is true, even `false  # x`.

    Their case does not matter: `False` and `OFF` are false.
    """
    return value.lower() not in _FALSE


def as_int(value: str) -> int:
    """How uWSGI reads a number: like C's atoi, so `8 ; c` is 8 and `abc` or nothing is 0.

    What does not fit a C int, where atoi is undefined, is the largest one.
    """
    match = re.match(r"\s*([+-]?)0*([0-9]+)", value)
    if match is None:
        return 0
    digits = match.group(2)
    number = int(digits) if len(digits) <= len(str(_INT_MAX)) else _INT_MAX
    return min(number, _INT_MAX) * (-1 if match.group(1) == "-" else 1)


def as_text(value: bool | int | str) -> str:
    """How a value of ours is written in the file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def eats_newline(text: str) -> bool:
    """Whether a line's text takes the end of its line with it, for an odd `%` is its last.

    uWSGI puts its magic variables in before it looks for lines, and `%` with a newline is one of
    the many that stand for nothing. It does so in comments too. (core/utils.c: magic_sub)
    """
    return bool((len(text) - len(text.rstrip("%"))) % 2)


def why_unwritable(option: str, value: str) -> str | None:
    """Why no line `option = value` would mean that; None where one does."""
    if not option or option[0] in "[;#" or "=" in option or option != option.strip(_STRIPPED):
        return "is no name of an option"
    if _CONTROL.search(option + value):
        return "holds a control character, which ends a line or its text"
    if value != value.strip(_STRIPPED):
        return "has blanks around its value, which uWSGI drops"
    if eats_newline(value):
        return "ends in a single %, which would take the next line with it; write %%"
    return None


def as_comment(text: str) -> str:
    """`text` as it can stand behind the sign of a comment: one line, and that line alone."""
    line = _CONTROL.sub(" ", text)
    return f"{line}." if eats_newline(line) else line
