"""The lines of a file as uWSGI reads them (2.0.31: core/ini.c, core/config.c)."""

import re
from dataclasses import dataclass, replace

# ---- Names and values: how uWSGI reads them, and which ones a line can contain

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
BLANKS = " \t\r"
"""What uWSGI drops around names and values."""

_FALSE = frozenset({"false", "off", "no", "0"})
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
    return text.endswith("%") and (len(text) - len(text.rstrip("%"))) % 2 == 1


def why_unwritable(option: str, value: str) -> str | None:
    """Why no line `option = value` can mean this; None when one can."""
    if not option or option[0] in "[;#" or "=" in option or option != option.strip(BLANKS):
        return "is not a valid option name"
    if _CONTROL.search(option + value):
        return "contains a control character, which ends a line or its text"
    if value != value.strip(BLANKS):
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


MAX_CHARS = 200_000
"""A real configuration of uWSGI is shorter."""

SECTION = "uwsgi"
MARK = "; uwsgi-tuner: "
"""Starts each of our comment lines; a second patch replaces those of the first."""

WAS = "was: "
"""Follows the mark when the comment is a line of the user."""

OPENS = frozenset(
    f"if-{negation}{question}"
    for negation in ("", "not-")
    for question in (
        *("opt", "env", "reload", "hostname", "hostname-match"),
        *("exists", "plugin", "file", "dir"),
    )
) | {
    *("for", "for-glob", "for-times", "for-readline"),
    *("ifenv", "ifexists", "ifplugin", "ifdir", "if-directory"),
}
"""The keys that open a block: its lines count on a condition, or several times."""

CLOSES = frozenset({"end", "endif", "endfor", "end-if", "end-for"})
"""The keys that close a block. Each closes any block; blocks do not nest."""

INCLUDES = frozenset({"ini", "include", "config", "xml", "xmlconfig", "yaml", "yml", "json", "js"})
"""The keys that include another file, or another section of this file."""

IMMEDIATE = frozenset(
    {
        *("listen", "umask", "signal", "spooler-processes", "command-mode", "pcre-jit", "strict"),
        *("plugin", "plugins", "need-plugin", "need-plugins", "plugin-dir", "plugins-dir"),
        *("autoload", "dlopen", "early-envdir", "declare-option", "resolve", "fallback-config"),
        *("blacklist", "end-blacklist", "whitelist", "end-whitelist", "immediate-uid"),
        *("immediate-gid", "inject-before", "inject-after", "flock", "flock-wait", "iprint"),
        *("set", "set-placeholder", "set-ph", *INCLUDES, *OPENS, *CLOSES),
    }
)
"""The options that uWSGI applies when it reads them, before it replaces variables.

So `listen = %(backlog)` is `listen = 0`. (2.0.31: UWSGI_OPT_IMMEDIATE)
"""

_PHYSICAL = re.compile(r"[^\n]*\n|[^\n]+\Z")


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its line ending; `key` is None for sections, comments and blank lines.

    `conditional` when a block of its own section contains it. A `joined` line is part of the line
    above, whose last `%` removed the line ending: it has no key, and its text belongs to the value
    or the comment of that line.
    """

    raw: str
    section: str | None
    key: str | None = None
    value: str = ""
    conditional: bool = False
    joined: bool = False

    @property
    def text(self) -> str:
        """The line without its ending."""
        return self.raw.removesuffix("\n").removesuffix("\r" if self.raw[-2:] == "\r\n" else "")

    @property
    def ending(self) -> str:
        """The line's own ending; empty for a last line without one."""
        return self.raw[len(self.text) :]

    @property
    def indent(self) -> str:
        """The blanks before the first character."""
        return self.raw[: len(self.raw) - len(self.raw.lstrip(" \t"))]

    @property
    def is_plain(self) -> bool:
        """Whether it is an unconditional line of our section."""
        return (
            self.section == SECTION
            and bool(self.raw.strip())
            and not (self.key in OPENS or self.conditional)
        )

    @property
    def is_note(self) -> bool:
        """Whether it is one of our comments, about the line below."""
        return (
            self.section is not None
            and not self.joined
            and self.raw.lstrip(" \t").startswith(MARK)
            and not self.raw.lstrip(" \t").startswith(MARK + WAS)
        )

    @property
    def setting(self) -> tuple[str, str] | None:
        """The option that it sets and its value, also by `set`; None when it sets none.

        `set = processes=4` means `processes = 4`; blanks around that second `=` are kept.
        """
        if self.key is None:
            return None
        if self.key != "set":
            return self.key, self.value
        option, equals, value = self.value.partition("=")
        return (option, value) if equals else None

    @property
    def own_section(self) -> str | None:
        """The section of this file that it includes; None when it includes none.

        That is `ini = :section`; without a name after the colon it is [uwsgi]. `%p` is the path of
        the file. (uWSGI does not start with `include = :section`.)
        """
        if self.key != "ini":
            return None
        file, colon, section = self.value.rpartition(":")
        return (section or SECTION) if colon and file in {"", "%p"} else None

    def with_value(self, value: str) -> "Line":
        """The same line with another value; key, indent and spacing stay."""
        if self.key == "set":
            value = f"{self.value.partition('=')[0]}={value}"
        head, equals, _ = self.text.partition("\0")[0].partition("=")
        if not equals:
            head, space = f"{self.indent}{self.key} ", " "
        else:
            space = " " if head.endswith(" ") else ""
        return replace(self, raw=f"{head}={space}{value}{self.ending}", value=value)

    def commented_out(self) -> "Line":
        """The same text as one of our comments."""
        text = f"{MARK}{WAS}{self.raw.strip()}{self.ending}"
        return replace(self, raw=text, key=None, value="")


def lines_of(text: str) -> list[str]:
    """The lines that numbers count, with their endings."""
    return _PHYSICAL.findall(text)


def read_lines(text: str) -> tuple[Line, ...]:
    """All lines of any text, unchanged even if uWSGI does not understand them."""
    reader = _Reader()
    raws = lines_of(text)
    at = 0
    while at < len(raws):
        after = at + 1
        while after < len(raws) and eats_newline(raws[after - 1].removesuffix("\n")):
            after += 1
        reader.read(raws[at:after])
        at = after
    return tuple(reader.lines)


def _unended(raw: str) -> str:
    """A line without its ending, and without a last `%` and the character that it removes.

    That is the newline, which joins the next line, or a carriage return, which joins nothing.
    """
    text = raw.removesuffix("\n")
    cut = text.removesuffix("\r")
    return cut[:-1] if eats_newline(cut) else text


class _Reader:
    """The lines so far, their section, and the sections with an open block."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._section: str | None = None
        self._open: set[str | None] = set()

    def read(self, raws: list[str]) -> None:
        """One line as uWSGI sees it: several lines when one ends in `%`."""
        whole = "".join(map(_unended, raws))
        content = whole.partition("\0")[0].strip(" \t\r\n")
        key, value = None, ""
        if content.startswith("["):
            self._section = content[1:-1]
        elif content and content[0] not in ";#":
            key, _, value = content.partition("=")
            key, value = key.strip(BLANKS), value.strip(BLANKS)
            if key in CLOSES:
                self._open.discard(self._section)
        section = self._section
        conditional = section in self._open and not content.startswith("[")
        self.lines.append(Line(raws[0], section, key, value, conditional))
        self.lines += [Line(raw, section, None, "", conditional, True) for raw in raws[1:]]
        if key in OPENS:
            self._open.add(section)
