"""Lines of a file, and what each of them is to uWSGI (2.0.31: core/ini.c, core/config.c)."""

import re
from dataclasses import dataclass, replace

from tuner.uwsgi.ini.values import eats_newline

SECTION = "uwsgi"
MARK = "; uwsgi-tuner: "
"""Starts every comment line that is ours, so that a second patch replaces the first one's."""

WAS = "was: "
"""Follows the mark where a line of the user's own has been commented out."""

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
"""The keys that begin a block of lines which count on a condition, or several times."""

CLOSES = frozenset({"end", "endif", "endfor", "end-if", "end-for"})
"""The keys that end such a block, each of them any; blocks do not nest."""

INCLUDES = frozenset(
    {"ini", "include", "config", "xml", "xmlconfig", "yaml", "yml", "json", "js"},
)
"""The keys that put another file, or another section of this one, in their own place."""

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
"""The options that uWSGI carries out as soon as it reads them: nothing is put into their values.

`listen = %(backlog)` is therefore `listen = 0`. (2.0.31: UWSGI_OPT_IMMEDIATE)
"""

_BLANKS = " \t\r"
_PHYSICAL = re.compile(r"[^\n]*\n|[^\n]+\Z")


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its line ending; `key` is None for sections, comments and blank lines.

    `conditional` says whether a block of its own section encloses it. A `joined` line is part of
    the one above, whose last `%` took the line ending: it has no key, and its text is in that
    line's value, or comment.
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
        """Whether it is content of our section that no condition encloses."""
        return (
            self.section == SECTION
            and bool(self.raw.strip())
            and not (self.key in OPENS or self.conditional)
        )

    @property
    def is_note(self) -> bool:
        """Whether it is a comment of ours on the line below it."""
        return (
            self.section is not None
            and not self.joined
            and self.raw.lstrip(" \t").startswith(MARK)
            and not self.raw.lstrip(" \t").startswith(MARK + WAS)
        )

    @property
    def setting(self) -> tuple[str, str] | None:
        """The option that it sets, and to what: its key, or what a `set` names; None for neither.

        `set = processes=4` is as good as `processes = 4`; blanks around that second `=` are not
        dropped.
        """
        if self.key is None:
            return None
        if self.key != "set":
            return self.key, self.value
        option, equals, value = self.value.partition("=")
        return (option, value) if equals else None

    @property
    def own_section(self) -> str | None:
        """The section of this very file that it includes; None where it includes none.

        That is `ini = :section`; nothing behind the colon means the usual one, and `%p` is the
        file's own path. (`include = :section` does not start.)
        """
        if self.key != "ini":
            return None
        file, colon, section = self.value.rpartition(":")
        return (section or SECTION) if colon and file in {"", "%p"} else None

    def with_value(self, value: str) -> "Line":
        """The same line, key, indentation and spacing kept, with another value."""
        if self.key == "set":
            value = f"{self.value.partition('=')[0]}={value}"
        head, equals, _ = self.text.partition("\0")[0].partition("=")
        if not equals:
            head, space = f"{self.indent}{self.key} ", " "
        else:
            space = " " if head.endswith(" ") else ""
        return replace(self, raw=f"{head}={space}{value}{self.ending}", value=value)

    def commented_out(self) -> "Line":
        """The same text as a comment of ours."""
        text = f"{MARK}{WAS}{self.raw.strip()}{self.ending}"
        return replace(self, raw=text, key=None, value="")


def read_lines(text: str) -> tuple[Line, ...]:
    """All lines of any text; what uWSGI would not understand is kept as it is."""
    reader = _Reader()
    raws = _PHYSICAL.findall(text)
    at = 0
    while at < len(raws):
        after = at + 1
        while after < len(raws) and eats_newline(raws[after - 1].removesuffix("\n")):
            after += 1
        reader.read(raws[at:after])
        at = after
    return tuple(reader.lines)


def _unended(raw: str) -> str:
    """A line less its end, and less a last `%` with what that takes along.

    That is the newline, which joins the next line, or a carriage return, which joins nothing.
    """
    text = raw.removesuffix("\n")
    cut = text.removesuffix("\r")
    return cut[:-1] if eats_newline(cut) else text


class _Reader:
    """Lines so far, the section they are in, and the sections with a block that is open."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._section: str | None = None
        self._open: set[str | None] = set()

    def read(self, raws: list[str]) -> None:
        """One line as uWSGI sees it, which is several where one ends in `%`."""
        whole = "".join(map(_unended, raws))
        content = whole.partition("\0")[0].strip(" \t\r\n")
        key, value = None, ""
        if content.startswith("["):
            self._section = content[1:-1]
        elif content and content[0] not in ";#":
            key, _, value = (part.strip(_BLANKS) for part in content.partition("="))
            if key in CLOSES:
                self._open.discard(self._section)
        section = self._section
        conditional = section in self._open and not content.startswith("[")
        self.lines.append(Line(raws[0], section, key, value, conditional))
        self.lines += [Line(raw, section, None, "", conditional, True) for raw in raws[1:]]
        if key in OPENS:
            self._open.add(section)
