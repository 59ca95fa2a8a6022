"""The text of a shell script as its commands, in order, each with its line and its keyword.

It reads what start scripts have: quotes, continuations, lists, blocks, `case`, here documents. What
it does not understand stays text: nothing is run.
"""

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

OPENS = frozenset({"if", "while", "until", "for", "case", "{"})
CLOSES = frozenset({"fi", "done", "esac", "}"})
_INSIDE = frozenset({"then", "else", "elif", "do", "!", "time"})
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([\w.-]+)\1")
_REDIRECT = re.compile(r"\d*(?:>>|>\||>&|<&|&>>|&>|<>|<<<|>|<)")
_ENDS = ("&&", "||", ";;", ";", "|", "&", "\n", "(", ")")
_ESCAPED = frozenset('"\\$`\n')


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word. `quote` is a single or a double quotation mark, or nothing."""

    text: str
    quote: str = ""


Word = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. `keywords` stand before it, such as `if`, `then` or `}`.

    With a `function`, the first `{` of them begins the body of the function with this name.

    `after` is the sign before it: `&&` or `||` if it depends on the command before. `pattern` is
    that of a `case` whose branch begins here.
    """

    line: int  # from 1
    words: tuple[Word, ...]
    keywords: tuple[str, ...] = ()
    after: str = ""
    pattern: str = ""
    files: tuple[tuple[str, Word], ...] = ()  # of redirections, by their sign
    function: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """The commands of a function, and the file that has it."""

    file: str
    commands: tuple[Command, ...]


def without_functions(
    each: Iterable[Command], file: str, functions: dict[str, Function]
) -> Iterator[Command]:
    """The commands outside of functions. What is in one gets into `functions`: a call runs it."""
    name, depth, body = "", 0, list[Command]()
    for command in each:
        if not depth and not command.function:
            yield command
            continue
        keywords = command.keywords
        if not depth:
            name, body = command.function, []
            command = replace(command, keywords=keywords[keywords.index("{") + 1 :], function="")
        depth += sum((word in OPENS) - (word in CLOSES) for word in keywords)
        if depth:
            body.append(command)
        else:
            functions[name] = Function(file, tuple(body))


def commands(text: str) -> Iterator[Command]:
    """All commands of a script, also those in blocks and functions."""
    yield from _Reader(text).read()


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    line: int = 0  # of the first word of the command
    words: list[Word] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    after: str = ""
    pattern: str = ""
    cases: int = 0
    function: str = ""  # its name: the next block is its body
    wants_pattern: bool = False
    redirection: str = ""  # its sign, before its file
    files: list[tuple[str, Word]] = field(default_factory=list)
    heredocs: list[str] = field(default_factory=list)

    def read(self) -> Iterator[Command]:
        """Commands as they end."""
        while self.at < len(self.text):
            if self.wants_pattern and self._pattern():
                continue
            end = next((sign for sign in _ENDS if self.text.startswith(sign, self.at)), "")
            if self.text.startswith("()", self.at):  # a function: its name is no command
                self._end_word()
                self.function = _plain(self.words[-1]) if self.words else ""
                self.words, self.at = [], self.at + 2
            elif redirect := self._redirect():
                self.at += len(redirect)
            elif end:
                self.at += len(end)
                yield from self._command(end)
            else:
                self._sign()
        yield from self._command("")

    def _pattern(self) -> bool:
        """The pattern of a branch of `case`; False at `esac`."""
        found = re.compile(r"(?:\s|#[^\n]*\n)*\(?([^()\n]*)\)").match(self.text, self.at)
        self.wants_pattern = False
        if found is None or re.match(r"\s*esac\b", self.text[self.at : self.at + 200]):
            return False
        self.pattern, self.at = found[1].strip(), found.end()
        return True

    def _redirect(self) -> str:
        """A sign such as `2>`; a here document is left out with its text."""
        heredoc = _HEREDOC.match(self.text, self.at)
        if heredoc:
            self._end_word()
            self.heredocs.append(heredoc[2])
            return heredoc[0]
        found = _REDIRECT.match(self.text, self.at)
        if found is None or (found[0][0].isdigit() and self.pieces):
            return ""
        self._end_word()
        is_copy = re.compile(r"\d+|-").match(self.text, found.end()) if "&" in found[0] else None
        self.redirection = "" if is_copy else found[0].lstrip("0123456789")
        return found[0] + (is_copy[0] if is_copy else "")

    def _command(self, end: str) -> Iterator[Command]:
        self._end_word()
        words, keywords = list(self.words), list[str]()
        if words and _plain(words[0]) == "function":
            self.function, words = _plain(words[1]) if words[1:] else "", words[2:]
        while words and (name := _plain(words[0])) in OPENS | CLOSES | _INSIDE:
            keywords.append(name)
            words.pop(0)
            if name in {"for", "case"}:
                break
        self.cases += keywords.count("case") - keywords.count("esac")
        is_case = "case" in keywords
        self.wants_pattern = self.cases > 0 and (is_case or end == ";;")
        if words or keywords or self.pattern:
            line = self.line or self._line()
            pattern, after = self.pattern, self.after
            files = tuple(self.files)
            function = self.function if "{" in keywords else ""
            yield Command(line, tuple(words), tuple(keywords), after, pattern, files, function)
            self.pattern = ""
            self.function = "" if function else self.function
        self.words, self.files, self.line = [], [], 0
        if words or end not in {"\n"}:  # a line may end after `&&`
            self.after = end if end in {"&&", "||"} else ""
        if end == "\n":
            self._skip_heredocs()

    def _skip_heredocs(self) -> None:
        for name in self.heredocs:
            found = re.compile(rf"^\t*{re.escape(name)}$\n?", re.MULTILINE).search(
                self.text, self.at
            )
            self.at = found.end() if found else len(self.text)
        self.heredocs = []

    def _sign(self) -> None:
        sign = self.text[self.at]
        if sign == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            if following not in ("", "\n"):
                self._add(following, "'")
        elif sign in " \t\r":
            self.at += 1
            self._end_word()
        elif sign == "#" and not self.pieces:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif sign == "'":
            end = self.text.find("'", self.at + 1)
            end = len(self.text) if end < 0 else end
            self._add(self.text[self.at + 1 : end], "'")
            self.at = end + 1
        elif sign == '"':
            self.at += 1
            self._double_quoted()
        else:
            self._add(self._plain_or_substitution())

    def _double_quoted(self) -> None:
        found: list[str] = []
        line = self._line()
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in _ESCAPED:
                escaped = self.text[self.at + 1]
                if escaped == "$":
                    self._add("".join(found), '"')
                    self._add("$", "'")
                    found = []
                elif escaped != "\n":
                    found.append(escaped)
                self.at += 2
            else:
                found.append(self._plain_or_substitution())
        self.at += 1
        self.line = self.line or line
        self._add("".join(found), '"')

    def _plain_or_substitution(self) -> str:
        """One sign, or the whole of `$(...)`, `${...}` or a text in backticks."""
        start = self.at
        for opens, closes in (("$(", ")"), ("${", "}"), ("`", "`")):
            if self.text.startswith(opens, start):
                self.at = _balanced(self.text, start + len(opens), opens[-1], closes)
                return self.text[start : self.at]
        self.at += 1
        return self.text[start]

    def _add(self, text: str, quote: str = "") -> None:
        self.line = self.line or self._line()
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.quote == quote == "":
            self.pieces[-1] = Piece(last.text + text)
        else:
            self.pieces.append(Piece(text, quote))

    def _end_word(self) -> None:
        if self.pieces:
            if self.redirection:
                self.files.append((self.redirection, tuple(self.pieces)))
            else:
                self.words.append(tuple(self.pieces))
            self.redirection = ""
            self.pieces = []
            if _plain(self.words[-1]) == "in" if self.words else False:
                self._end_of_case()

    def _end_of_case(self) -> None:
        """`case X in` needs no end of the line before its first pattern."""
        first = [_plain(word) for word in self.words]
        if "case" in first[:-1] and re.match(r"[ \t]*[^\s#]", self.text[self.at :]):
            self.text = f"{self.text[: self.at]}\n{self.text[self.at :]}"

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1


def _plain(word: Word) -> str:
    """A word without quotes, else nothing: a keyword has none."""
    return word[0].text if len(word) == 1 and not word[0].quote else ""


def _balanced(text: str, at: int, opens: str, closes: str) -> int:
    """The place after the sign that closes."""
    depth = 1
    while at < len(text):
        if text[at] == closes:
            depth -= 1
        elif text[at] == opens:
            depth += 1
        at += 1
        if not depth:
            break
    return at


# ---- Which commands of a script run: blocks that are open, and tests, as far as a text shows them
#
# True and False are sure; None is what only a run shows.


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
