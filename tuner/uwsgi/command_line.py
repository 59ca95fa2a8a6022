"""uWSGI's command line: read as getopt does, turned into a uwsgi.ini and back."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.uwsgi.forms import SUFFIXES, option_for
from tuner.uwsgi.ini import SECTION, IniFile, canonical
from tuner.uwsgi.ini.lines import is_true
from tuner.uwsgi.options import Catalogue, Kind, Option, Takes, later_release, nearest

PROGRAMS = frozenset({"uwsgi", "uwsgi-core", "pyuwsgi"})
SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_ENDS = frozenset({";", "&", "&&", "|", "||", ">", ">>", "2>"})
_APP_FILE = re.compile(r"([^:]+\.(?:py|wsgi))(?::(\w+))?")
_CALLED = re.compile(r"\$\([^()]*\)|`[^`]*`")
"""What the shell replaces by the output of a command."""

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ALONE = {Kind.FLAG: "true", Kind.INTEGER: "1"}
"""What an option without its value means, as the value that a file needs."""


MOST_MISTAKES = 20
"""Mistakes of one command that are named."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An option with its value; `key` is how the command writes it."""

    key: str
    option: Option | None
    value: str | None
    is_one_word: bool = False  # `--key=value`

    @property
    def name(self) -> str:
        """Canonical if the option is known."""
        return self.option.name if self.option else self.key.lstrip("-")

    @property
    def text(self) -> str:
        """As on the command line."""
        return " ".join(self.words)

    @property
    def words(self) -> list[str]:
        """One word, or the option and its value."""
        if self.value is None:
            return [self.key]
        return [f"{self.key}={self.value}"] if self.is_one_word else [self.key, self.value]


def words_for_uwsgi(command: Sequence[str]) -> list[str] | None:
    """The words after the program, also inside `sh -c "..."`; None without uWSGI."""
    for at, word in enumerate(command):
        name = word.rpartition("/")[2]
        if name in PROGRAMS:
            return list(takewhile(lambda w: w not in _ENDS, command[at + 1 :]))
        if name in SHELLS and len(command) > at + 2 and command[at + 1].endswith("c"):
            return words_for_uwsgi(shell_words(command[at + 2]))
    return None


def arguments(words: Sequence[str], catalogue: Catalogue) -> Iterator[Argument | str]:
    """Each option with its value, and the words that belong to none."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            yield from left
            return
        if word.startswith("--"):
            key, equals, value = word.partition("=")
            option = _long(key[2:], catalogue)
            taken = value if equals else _following(option, left)
            yield Argument(key, option, taken, is_one_word=bool(equals))
        elif len(word) > 1 and word.startswith("-"):
            yield from _letters(word[1:], left, catalogue)
        else:
            yield word


def is_file(word: str) -> bool:
    """Whether uWSGI reads options from it, as from `app.ini` or `app.ini:section`."""
    return word.partition(".ini:")[0].endswith(SUFFIXES) or ".ini:" in word


def ini_of(command: str | Sequence[str], catalogue: Catalogue) -> str:
    """The file that means the same as the command. Raises `InvalidInput` as `lines_of` does."""
    return file_of(line for line, _words in lines_of(command, catalogue))


def file_of(lines: Iterable[str]) -> str:
    """The file of these lines."""
    return "".join(f"{line}\n" for line in (f"[{SECTION}]", *lines))


def lines_of(
    command: str | Sequence[str], catalogue: Catalogue, *, keeps_files: bool = False
) -> list[tuple[str, str]]:
    """The lines of such a file, each with the words of the command that it is from.

    A text is for a shell. Words are as uWSGI gets them: a `$(A)` in them is a variable of uWSGI.
    Variables of the shell become uWSGI's own. Raises `InvalidInput` with the first `MOST_MISTAKES`:
    a word that is no option, an option without its value, a file with further options. With
    `keeps_files` that file is included, at the end if no option announces it, as uWSGI does, and
    `@(...)` is what only a shell knows.
    """
    is_for_shell = isinstance(command, str)
    words = words_for_uwsgi(shell_words(command) if isinstance(command, str) else command)
    if words is None:
        raise InvalidInput([Mistake("", "it does not start uwsgi")])
    lines, mistakes = list[tuple[str, str]](), list[Mistake]()
    last = list[tuple[str, str]]()
    for item in arguments(words, catalogue):
        if keeps_files and isinstance(item, str) and is_file(item):
            last.append((f"{option_for(item)} = {item}", item))
            continue
        read = _settings(item, catalogue, keeps_files=keeps_files, is_for_shell=is_for_shell)
        if not isinstance(read, str):
            words_of_it = item if isinstance(item, str) else item.text
            lines += [(f"{key} = {value}", words_of_it) for key, value in read]
        elif len(mistakes) < MOST_MISTAKES:
            mistakes.append(Mistake("", read))
        else:  # each takes a search for what is meant
            break
    if mistakes:
        raise InvalidInput(mistakes)
    return lines + last


def command_of(ini: IniFile, catalogue: Catalogue) -> str:
    """The command that means the same as the file; a flag that is off needs no word.

    Raises `ValueError` for a file with blocks or includes.
    """
    words = ["uwsgi"]
    for step in ini.read.steps:
        setting = step.line.setting
        if step.is_conditional or setting is None:
            raise ValueError(f"a command line cannot have {step.line.raw.strip()!r}")
        words += words_of(*setting, catalogue.find(setting[0]))
    return shlex.join(words)


_NOT_OPTIONS = frozenset(
    {
        "UWSGI_RELOADS", "UWSGI_VASSALS_DIR", "UWSGI_EMPEROR_FD", "UWSGI_BROODLORD_NUM",
        "UWSGI_EMPEROR_FD_CONFIG", "UWSGI_EMPEROR_PROXY", "UWSGI_JAIL_PID",
        "UWSGI_ORIGINAL_PROC_NAME",
    }
)  # fmt: skip


def options_in(environ: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The variables from which uWSGI reads an option, each with the option's name."""
    for variable in environ:
        if variable.startswith("UWSGI_") and variable not in _NOT_OPTIONS:
            yield variable, variable.removeprefix("UWSGI_").lower().replace("_", "-")


def with_options(
    words: Sequence[str], changes: Mapping[str, str | None], catalogue: Catalogue
) -> list[str] | None:
    """The words after the program with each option set, or taken out; None behind a `--`."""
    if "--" in words:
        return None
    left = {canonical(option): (option, value) for option, value in changes.items()}
    found: list[str] = []
    for item in arguments(words, catalogue):
        name = "" if isinstance(item, str) else canonical(item.name)
        if isinstance(item, str) or name not in map(canonical, changes):
            found += [item] if isinstance(item, str) else item.words
        elif name in left:
            found += _words_of_change(*left.pop(name), catalogue)
    for change in left.values():
        found += _words_of_change(*change, catalogue)
    return found


def _words_of_change(option: str, value: str | None, catalogue: Catalogue) -> list[str]:
    return [] if value is None else words_of(option, value, catalogue.find(option))


def shell_words(text: str) -> list[str]:
    """Words and signs: `a.ini; next` is three, and `-p $(nproc --all)` two.

    Empty when no shell would run the text.
    """
    called = _CALLED.findall(text)
    lexer = shlex.shlex(_CALLED.sub("\0", text), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a quote that is never closed
        return []
    calls = iter(called)
    return [re.sub("\0", lambda _: next(calls, ""), word) for word in words]


def _long(name: str, catalogue: Catalogue) -> Option | None:
    """The option of a name: getopt accepts every prefix that is unique."""
    found = catalogue.find(name)
    if found or len(name) < 2:
        return found
    fitting = {o.name: o for o in catalogue.options if any(n.startswith(name) for n in o.names)}
    return next(iter(fitting.values())) if len(fitting) == 1 else None


def _letters(letters: str, left: list[str], catalogue: Catalogue) -> Iterator[Argument]:
    """`-M`, `-p 4`, `-p4` and `-Mp4`."""
    for at, letter in enumerate(letters):
        option, rest = catalogue.of_letter(letter), letters[at + 1 :]
        if option is not None and option.takes is Takes.NOTHING:
            yield Argument(f"-{letter}", option, None)
        else:
            yield Argument(f"-{letter}", option, rest or _following(option, left))
            return


def _following(option: Option | None, left: list[str]) -> str | None:
    """The next word if it is the value; it leaves `left`."""
    if not left:
        return None
    if option is None:
        takes_it = not left[0].startswith("-") and not is_file(left[0])
    else:
        takes_it = option.takes is Takes.VALUE
    return left.pop(0) if takes_it else None


def _settings(
    item: Argument | str, catalogue: Catalogue, *, keeps_files: bool, is_for_shell: bool
) -> list[tuple[str, str]] | str:
    """The lines of one argument, or what is wrong with it."""
    if isinstance(item, str):
        return _app_file(item)
    option, value = item.option, item.value
    if option is None:
        since = later_release(item.name, catalogue.version)
        if since:
            version = catalogue.version
            return f"{item.key} exists only from {since}: your {version} does not start with it"
        similar = nearest(catalogue, item.name)
        return f"uWSGI has no option {item.key}" + (f": is it --{similar}?" if similar else "")
    if option.kind is Kind.ACTION and is_file(value or "") and not keeps_files:
        return f"{item.key} {value}: the command must have all options itself"
    if value is not None and option.takes is Takes.NOTHING:
        return f"{item.key} takes no value on a command line"
    if value is None and option.takes is not Takes.VALUE:
        value = _ALONE.get(option.kind)
    if value is None or "\n" in value:
        return f"{item.key} needs a value of one line"
    name = item.key[2:] if item.key[2:] in option.names else option.name
    if is_for_shell and _CALLED.search(value):
        if not keeps_files:
            return f"{item.key} {value}: only a shell knows this value"
        value = _CALLED.sub(lambda found: f"@({found[0].strip('$()`')})", value)
    return [(name, _VARIABLE.sub(lambda found: f"$({found[1] or found[2]})", value))]


def _app_file(word: str) -> list[tuple[str, str]] | str:
    found = _APP_FILE.fullmatch(word)
    if found is None:
        return f"`{word}` is no option: the command must have all options itself"
    function = [("callable", found[2])] if found[2] else []
    return [("wsgi-file", found[1]), *function]


def words_of(name: str, value: str, option: Option | None) -> list[str]:
    """The words of a setting; none for a flag that is off."""
    if option is None or option.takes is Takes.VALUE:
        return [f"--{name}", value]
    if option.kind is Kind.FLAG:
        return [f"--{name}"] if is_true(value) else []
    return [f"--{name}={value}"]
