"""Variables in values, replaced in uWSGI's own order.

    %k %d %%     while uWSGI reads the file, before it splits it into lines
    $(NAME)      the environment
    @(file)      a file's text
    %(option)    another option, and arithmetic: %(threads * 2)

Unknown variables stay as they are written. (uWSGI 2.0.31: core/utils.c, core/config.c)
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Lookup = Callable[[str], str | None]
"""The value of a name; None when it is unknown."""

_MAGIC = re.compile(r"%(.)", re.DOTALL)
_KNOWN_TO_UWSGI = frozenset("%([bpjisdcenoxODSPCENXIJvhtTVkuUgG0123456789")
_UNREAD = re.compile(r"%[a-zA-Z0-9]|@\(")
_PASSES = {
    sign: re.compile(rf"{re.escape(sign)}\(((?:[^{sign}()]++|\([^{sign}()]*+\))++)\)")
    for sign in "$@%"
}
_OPERATORS = frozenset("+-*/")
_STEPS = {"++": 1, "--": -1}
_MOST_ROUNDS = 500  # of one value; `a = x%(a)` never ends, and uWSGI never starts with it
_MOST_CHARACTERS = 65_536  # more than one value had at first
_INT64 = 2**63


def magic_of(path: str | None, section: str, first: str | None) -> dict[str, str]:
    """The magic variables of a file at `path`; a path without folders gives only some.

    `section` is the name after the colon of the include, empty for [uwsgi]; `first` is the path of
    the first file. None is an unknown path. Variables of the machine and of the process are not
    included.
    """
    began = {letter.upper(): text for letter, text in _of_path(first).items() if letter.isalpha()}
    own = {"%": "%", "(": "%(", "[": "\033", "x": section}
    return {**own, **began, **_of_path(path)}


def _of_path(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    found = {"o": path, "s": name, "e": ending if dot else "", "n": stem if dot else name}
    if not path.startswith("/"):
        return found
    parts = [part for part in folder.split("/") if part]
    numbered = {str(place): "".join(parts[place : place + 1]) for place in range(10)}
    return {**found, **numbered, "p": path, "d": f"{folder}/", "c": folder.rpartition("/")[2]}


def with_magic(text: str, known: Mapping[str, str]) -> str:
    """`text` with its magic variables; a `%` and a character without a meaning disappear."""

    def replaced(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in known:
            return known[name]
        return match.group() if name in _KNOWN_TO_UWSGI else ""

    return _MAGIC.sub(replaced, text) if "%" in text else text


def with_references(value: str, sign: str, lookup: Lookup) -> tuple[str, bool, int]:
    """`value` with every `sign(name)` replaced, inner ones first, and whether that ends.

    The result of a lookup is expanded again, except a reference at its very beginning. The last
    number is how many characters were moved.
    """
    pattern, at = _PASSES[sign], 0
    most = len(value) + _MOST_CHARACTERS
    rounds = moved = 0
    while match := pattern.search(value, at):
        found = lookup(match.group(1))
        if found is None:
            at = match.end()
            continue
        begin = match.start()
        value = f"{value[:begin]}{found}{value[match.end() :]}"
        rounds += 1
        moved += len(value)
        if rounds > _MOST_ROUNDS or len(value) > most:
            return value, False, moved
        outer = value.rfind(f"{sign}(", 0, begin)
        at = max(1, outer if outer >= 0 else begin - 1)
    return value, True, moved


@dataclass(frozen=True, slots=True)
class Options:
    """The lookup of `%(...)`: an option by its name, or arithmetic on several.

    `unknown` are the names that an unread file may have set first. A value with an unknown part is
    no number: `%k`, `@(file)` or, without an environment, `$(NAME)`.
    """

    first: Mapping[str, str]
    unknown: Callable[[str], bool]
    has_environ: bool

    def __call__(self, name: str) -> str | None:
        """The first value of an option in exactly this spelling, or a result; None for neither."""
        if " " not in name:
            return None if self.unknown(name) else self.first.get(name)
        words = [word for word in name.split(" ") if word]
        if any(
            self.unknown(word) or self._is_open(self.first.get(word, "")) for word in set(words)
        ):
            return None
        return self._computed(words)

    def _is_open(self, value: str) -> bool:
        return bool(_UNREAD.search(value)) or ("$(" in value and not self.has_environ)

    def _computed(self, words: list[str]) -> str | None:
        """Left to right, without precedence. Words without an operator between them are joined."""
        total: str | None = None
        operator = ""
        for word in words:
            if word in _OPERATORS:
                operator = word
            elif word in _STEPS:
                total = None if total is None else _int64(_number(total) + _STEPS[word])
                operator = ""
            else:
                value = word if word.isascii() and word.isdigit() else self.first.get(word, "")
                total = _applied(operator, total or "", value)
                operator = ""
                if len(total) > _MOST_CHARACTERS:
                    return None
        return total


def _applied(operator: str, left: str, right: str) -> str:
    if not operator:
        return left + right
    a, b = _number(left), _number(right)
    if operator == "+":
        return _int64(a + b)
    if operator == "-":
        return _int64(a - b)
    if operator == "*":
        return _int64(a * b)
    if b == 0:
        return "0"
    quotient = abs(a) // abs(b)
    return _int64(quotient if (a < 0) == (b < 0) else -quotient)


def _number(text: str) -> int:
    """As strtoll of C reads it: the leading digits, within 64 bits."""
    match = re.match(r"[ \t\r\v\f]*([+-]?)0*([0-9]*)", text)
    if match is None or not match.group(2):
        return 0
    digits = match.group(2)
    number = int(digits) if len(digits) < 20 else _INT64
    return max(-_INT64, -number) if match.group(1) == "-" else min(_INT64 - 1, number)


def _int64(number: int) -> str:
    """A number wrapped to 64 bits."""
    return str((number + _INT64) % (2 * _INT64) - _INT64)
