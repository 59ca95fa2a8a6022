"""A configuration in one form, written in another, and what that form cannot hold."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tuner.nouns.plain import count
from tuner.uwsgi.command_line import lines_of, options_in, words_of
from tuner.uwsgi.forms import XML, Form, Malformed
from tuner.uwsgi.ini import CLOSES, INCLUDES, OPENS, SECTION, IniFile, canonical, is_true
from tuner.uwsgi.ini.lines import as_comment
from tuner.uwsgi.options import Catalogue, Kind, Takes

_OF_THE_FILE = re.compile(r"%(?!\()")
_COMMENT = re.compile(r"[ \t]*[;#]+[ \t]?(.*)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A setting, or a comment where `key` is empty; `line` counts from 1, and is 0 in a command."""

    line: int
    key: str
    value: str

    @property
    def text(self) -> str:
        """As a uwsgi.ini has it; of a comment its words."""
        return f"{self.key} = {self.value}" if self.key else self.value


@dataclass(slots=True)
class Pieces:
    """The pieces of a file in uWSGI's order, and sentences on what got lost on the way."""

    all: list[Piece] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def settings(self) -> list[Piece]:
        """Without the comments."""
        return [piece for piece in self.all if piece.key]

    def lose(self, piece: Piece, why: str) -> None:
        """Say that a piece is not carried over."""
        place = f"line {piece.line}: " if piece.line else ""
        self.lost.append(f"{place}`{piece.text}`: {why}")


def of_ini(ini: IniFile) -> Pieces:
    """The pieces of the section that uWSGI reads; sections that it includes are in their place."""
    found, comments = Pieces(), _comments(ini)
    for step in ini.read.steps:
        line, number = step.line, step.index + 1
        found.all += comments.pop(number, [])
        piece = Piece(number, line.key or "", line.value)
        if step.is_conditional or line.key in OPENS | CLOSES:
            found.lose(piece, "a block counts in ini files only")
        elif line.own_section is None:
            found.all.append(piece)
    found.all += comments.pop(0, [])
    read = {step.line.section for step in ini.read.steps}
    unread = {line.section: None for line in ini.lines if line.key and line.section not in read}
    found.lost += [f"section [{section}], which nothing reads" for section in unread]
    return found


def _comments(ini: IniFile) -> dict[int, list[Piece]]:
    """The comments above each line with a key, by its number; those at the end by 0."""
    found: dict[int, list[Piece]] = {}
    above: list[Piece] = []
    for number, line in enumerate(ini.lines, start=1):
        comment = _COMMENT.fullmatch(line.text)
        if line.key is None and not line.joined and comment:
            above.append(Piece(number, "", comment[1]))
        elif line.key is not None:
            found[number], above = above, []
    return {**found, 0: above}


def of_form(text: str, form: Form, section: str = "") -> Pieces:
    """The pieces of YAML, XML or JSON. Raises `Malformed`."""
    read = form.read(text, section)
    found = Pieces(lost=[f"line {each.line}: {each.message}" for each in read.misread])
    comments = list(_yaml_comments(text)) if form.name == "YAML" else []
    for setting in read.settings:
        while comments and comments[0].line <= setting.line:
            found.all.append(comments.pop(0))
        found.all.append(Piece(setting.line, setting.key, setting.value))
    found.all += comments
    if form.name == "XML" and "<!--" in text:
        found.lost.append("the comments of XML")
    return found


def _yaml_comments(text: str) -> Iterator[Piece]:
    for number, line in enumerate(text.splitlines(), start=1):
        _, sign, comment = line.partition("#")
        if sign and comment.strip():
            yield Piece(number, "", comment.strip())


def of_command(command: str, catalogue: Catalogue) -> Pieces:
    """The options of a command, in the order in which uWSGI reads them.

    Raises `InvalidInput` as `lines_of` does.
    """
    lines = lines_of(command, catalogue, keeps_files=True)
    found = Pieces()
    for line, words in lines:
        key, _, value = line.partition(" = ")
        if "@(" in value:
            found.lost.append(f"`{words}`: only a shell knows this value")
        else:
            found.all.append(Piece(0, key, value))
    return found


_ASSIGNED = re.compile(r"\s*(?:export\s+)?(\w+)\s*=")


def of_environment(text: str) -> Pieces:
    """The options and the comments of an env file. Raises `ValueError`."""
    from tuner.nouns.model.named_files import variables  # slow to import

    values, found, others = variables(text), Pieces(), list[str]()
    options = dict(options_in(values))
    for number, line in enumerate(text.splitlines(), start=1):
        assigned, comment = _ASSIGNED.match(line), line.strip().removeprefix("#")
        name = assigned[1] if assigned else ""
        if line.strip().startswith("#"):
            found.all.append(Piece(number, "", comment.strip()))
        elif name in options:
            found.all.append(Piece(number, options.pop(name), values[name]))
        elif name in values:
            others.append(name)
    if others:
        found.lost.append(
            f"{', '.join(others)}: no option of uWSGI, but the environment of the app"
        )
    return found


# ---- Writers. Each says in `lost` what its form cannot hold

Writer = Callable[[Pieces, Catalogue], str]


def _ini(pieces: Pieces, catalogue: Catalogue) -> str:
    texts = [p.text.rstrip() if p.key else f"; {as_comment(p.value)}" for p in pieces.all]
    return "".join(f"{text}\n" for text in (f"[{SECTION}]", *texts))


def _yaml(pieces: Pieces, catalogue: Catalogue) -> str:
    lines = [f"{SECTION}:"]
    for piece in pieces.all:
        if not piece.key:
            lines.append(f"  # {as_comment(piece.value)}")
        elif "#" in piece.key + piece.value:
            pieces.lose(piece, "uWSGI cuts YAML at every `#`")
        elif piece.key[0] in "-[{" or re.search(r":[ \t]", piece.key):
            pieces.lose(piece, "YAML cannot have this key")
        else:
            lines.append(f"  {piece.key}: {piece.value}")
    return "".join(f"{line}\n" for line in lines)


def _xml(pieces: Pieces, catalogue: Catalogue) -> str:
    lines = [f"<{SECTION}>"]
    for piece in pieces.all:
        comment = f"<!-- {as_comment(piece.value).replace('--', '- -')} -->"
        element = XML.written(piece.key, piece.value) if piece.key else comment
        if _is_read_back(f"<{SECTION}>{element}</{SECTION}>", piece):
            lines.append(f"  {element}")
        else:
            pieces.lose(piece, "uWSGI cannot read this from XML")
    return "".join(f"{line}\n" for line in (*lines, f"</{SECTION}>"))


def _is_read_back(text: str, piece: Piece) -> bool:
    try:
        return XML.read(text).lines == ([piece.text] if piece.key else [])
    except Malformed:
        return False


def _json(pieces: Pieces, catalogue: Catalogue) -> str:
    """Repeats are a list at the place of the first, so their order among others may change."""
    values: dict[str, list[int | str]] = {}
    for piece in pieces.settings:
        number = re.fullmatch(r"0|[1-9][0-9]{0,8}", piece.value)
        values.setdefault(piece.key, []).append(int(piece.value) if number else piece.value)
    moved = [piece.key for piece in pieces.settings] != [
        key for key, found in values.items() for _ in found
    ]
    names = {canonical(key) for key in values}
    if moved and (names & INCLUDES or len(names) < len(values)):
        pieces.lost.append("the order of the options, which counts here: JSON groups repeats")
    _lose_comments(pieces, "JSON")
    single = {key: found[0] if len(found) == 1 else found for key, found in values.items()}
    return json.dumps({SECTION: single}, indent=2, ensure_ascii=False) + "\n"


def _command(pieces: Pieces, catalogue: Catalogue) -> str:
    words = ["uwsgi"]
    for piece in pieces.settings:
        option = catalogue.find(piece.key)
        if _OF_THE_FILE.search(piece.value):
            pieces.lose(piece, "uWSGI replaces `%` and a letter in files only")
        elif option is None:
            words += ["--set-placeholder", f"{piece.key}={piece.value}"]
        elif option.takes is Takes.NOTHING and option.kind is not Kind.FLAG:
            pieces.lose(piece, "the option takes no value on a command line")
        elif option.kind is Kind.FLAG and not is_true(piece.value) and _is_on_too(piece, pieces):
            pieces.lose(piece, "a command cannot turn off what it turns on")
        else:
            words += words_of(piece.key, piece.value, option)
    _lose_comments(pieces, "a command")
    return f"{shlex.join(words)}\n"


def _is_on_too(piece: Piece, pieces: Pieces) -> bool:
    name = canonical(piece.key)
    same = (each for each in pieces.settings if canonical(each.key) == name)
    return any(is_true(each.value) for each in same)


def _env(pieces: Pieces, catalogue: Catalogue) -> str:
    """Of a scalar the last value; of a list only the first fits."""
    lines, seen = list[str](), dict[str, int]()
    for piece in pieces.all:
        if not piece.key:
            lines.append(f"# {piece.value}")
            continue
        why = why_no_variable(piece.key, piece.value) or why_unquotable(piece.value)
        variable, option = variable_of(piece.key), catalogue.find(piece.key)
        name = canonical(piece.key)
        if why:
            pieces.lose(piece, why)
        elif name not in seen:
            seen[name] = len(lines)
            lines.append(f"{variable}={piece.value}")
        elif option is not None and option.kind in {Kind.LIST, Kind.ACTION}:
            pieces.lose(piece, "a variable has one value")
        else:
            lines[seen[name]] = f"{variable}={piece.value}"
    return "".join(f"{line}\n" for line in lines)


def variable_of(key: str) -> str:
    """The variable from which uWSGI reads an option."""
    return f"UWSGI_{key.upper().replace('-', '_')}"


def why_no_variable(key: str, value: str) -> str | None:
    """Why no variable of uWSGI can mean this; None if one can."""
    if not re.fullmatch(r"[a-z0-9-]+", key):
        return "no variable means this name"
    if _OF_THE_FILE.search(value):
        return "uWSGI replaces `%` and a letter in files only"
    return None


def why_unquotable(value: str) -> str | None:
    """Why an env file cannot hold the value; None if it can."""
    if value.startswith(("'", '"')) or re.search(r"\s#", value):
        return "env files are read in several ways where a value has quotes or ` #`"
    return None


def _lose_comments(pieces: Pieces, form: str) -> None:
    number = len(pieces.all) - len(pieces.settings)
    if number:
        pieces.lost.append(f"{count(number, 'comment')}: {form} has none")


WRITERS: Mapping[str, Writer] = {
    "ini": _ini, "command": _command, "yaml": _yaml, "xml": _xml, "json": _json, "env": _env
}  # fmt: skip
"""How each form is written, by its name."""
