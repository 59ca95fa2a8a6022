"""Where the words of a container start uWSGI: through scripts, wrappers and supervisors.

It knows no form of deployment: it takes words, variables, and a function that gives the text of a
path. Nothing is run, so a block whose condition is unknown may count.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from tuner.targets.compose.builtins import Around
from tuner.targets.compose.calls import Call, Lost, Place, Step, Trail
from tuner.targets.compose.expanding import Scope, is_all
from tuner.targets.compose.shell import (
    Block,
    Command,
    Function,
    Word,
    commands,
    negated,
    tested,
    without_functions,
)
from tuner.targets.compose.supervisors import SUPERVISORS, Read, Text, programs_of
from tuner.uwsgi.command_line import PROGRAMS, SHELLS

MOST_LEVELS = 8
_OF_IMAGES = {"PATH", "HOME", "HOSTNAME", "USER", "PWD", "RANDOM"}
"""Variables that each container has, with a value that only a run shows."""

_PATH = re.compile(r"[\w.~-]*/[\w./~-]+|[\w.-]+\.sh")
_NAME = re.compile(r"[\w.-]+")
_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
"""Where a shell looks for a name: its `PATH`, without the folders of the system."""

_MOST_COMMANDS = 5_000  # of one start

_NO_START = frozenset(
    {
        *("echo", "printf", "pip", "pip3", "pkill", "killall", "which", "type", "command", "test"),
        *("[", "[[", "chown", "chmod", "mkdir", "touch", "rm", "cp", "mv", "ln", "ls", "grep"),
        *("apt-get", "apk", "kill", "ps", "useradd", "adduser", "find", "cat", "tail", "export"),
        *("trap", "uwsgitop", "pgrep", "pidof", "sed", "envsubst"),
    }
)
"""Programs that can name uwsgi without starting it."""

_NO_STEP = re.compile(
    r"set|echo|printf|exit|return|:|true|false|\[|\[\[|test|sleep|wait.*|shift|trap|unset|local"
    r"|readonly|ulimit|umask|shopt|break|continue|read|cat|nc|whoami|id|date|env|dockerize"
)
"""Commands that fill nothing."""


def follow(
    words: Sequence[str], variables: Mapping[str, str], sources: Mapping[str, str], folder: str,
    read: Read,
) -> Trail:  # fmt: skip
    """The calls of uWSGI that the words of a container lead to."""
    follower = _Follower(read)
    scope = Scope({**variables}, {**sources}, unsure=_OF_IMAGES - {*variables})
    shell = _Shell(follower, Around(scope, folder, {}), "", 0, Lost())
    calls = tuple(shell.run(list(words), Place("")))
    return Trail(calls, tuple(dict.fromkeys(follower.lost)))


@dataclass(slots=True)
class _Follower:
    read: Read
    lost: list[str] = field(default_factory=list)
    commands: int = 0


@dataclass(slots=True)
class _Shell:
    """One script, or the words of the container. `before` is what was lost when it began."""

    follower: _Follower
    around: Around
    name: str  # of the file; empty for the words of the container
    level: int
    before: Lost
    blocks: list[Block] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)

    # ---- A script: its commands in order, as far as conditions show which of them run

    def script(self, text: str) -> Iterator[Call]:
        """The calls in a script, up to the first one that surely runs and does not return."""
        yield from self._commands(commands(text))

    def _commands(self, each: Iterable[Command]) -> Iterator[Call]:
        last: bool | None = True
        for command in without_functions(each, self.name, self.functions):
            self.follower.commands += 1
            if self.follower.commands > _MOST_COMMANDS:
                self.follower.lost.append(f"{self.name}: it has too many commands")
                return
            state = self._state(command, last)
            if state is False:
                last = last if command.after else True
                continue
            at = f"{self.name}:{command.line}" if self.name else ""
            found, last = self._command(command, at, state)
            if self.blocks and self.blocks[-1].is_asking and command.words:
                is_negated = "!" in command.keywords
                self.blocks[-1].test = negated(last) if is_negated else last
            for call in found:
                yield replace(call, is_sure=call.is_sure and state is True)
                if call.is_sure and state is True:
                    return

    def _state(self, command: Command, last: bool | None) -> bool | None:
        """Whether a command runs; None if that is unknown."""
        for keyword in command.keywords:
            if keyword in {"fi", "done", "esac", "}"}:
                if self.blocks:
                    self.blocks.pop()
            elif keyword == "case":
                self.blocks.append(Block(word=self._word_of_case(command)))
            elif keyword in {"if", "while", "until", "for", "{"}:
                state = None if keyword in {"while", "until", "for"} else True
                self.blocks.append(Block(state, is_asking=keyword == "if"))
            elif keyword in {"then", "else", "elif"} and self.blocks:
                self.blocks[-1].turn(keyword)
        if command.pattern and self.blocks:
            self.blocks[-1].branch(command.pattern)
        states = [block.state for block in self.blocks]
        if command.after and command.keywords == ():
            wanted = command.after == "&&"
            states.append(None if last is None else last is wanted)
        return False if False in states else None if None in states else True

    def _word_of_case(self, command: Command) -> str | None:
        return self.around.scope.text(command.words[0]) if command.words else None

    def _command(
        self, command: Command, at: str, state: bool | None
    ) -> tuple[list[Call], bool | None]:
        """The calls of one command, and whether it succeeds; None if only a run shows it."""
        given = list(command.words)
        if not given or {"for", "case"} & {*command.keywords}:
            return [], True
        own = self.around.assignments(given)
        words = self.around.scope.words(given)
        if not words:
            for name, value in own.items():
                self.around.set(name, value, at, state)
            return [], True
        if words[0] in {"[", "test", "[["}:
            return [], tested([self.around.scope.text(word) for word in given])
        if words[0] in {".", "source"}:
            return list(self._source(words, at)), True
        is_asked = bool(self.blocks) and self.blocks[-1].is_asking
        if function := self.functions.get(words[0]):
            found = list(self._function(function, words, given))
            return found, None if is_asked else True
        if self.around.builtin(words, given, at, state) or self.around.fills(words, command):
            return [], None if is_asked else True
        found = self._started(given, own, at)
        if not found and not is_asked and not _NO_STEP.fullmatch(words[0].rpartition("/")[2]):
            self.around.lost.steps.append(Step(shlex.join(words), at, state is True))
        return found, None if is_asked else True

    def _function(
        self, function: Function, words: list[str], given: Sequence[Word]
    ) -> Iterator[Call]:
        """The calls in a function, which runs in this shell with arguments of its own."""
        if self.level > MOST_LEVELS:
            return
        has_all = len(given) == 2 and is_all(given[1])  # as in `main "$@"`
        scope, blocks, name = self.around.scope, self.blocks, self.name
        arguments, scope.arguments = scope.arguments, words[1:]
        self.blocks, self.name, self.level = [], function.file, self.level + 1
        found = list(self._commands(function.commands))
        scope.arguments, self.blocks, self.name = arguments, blocks, name
        self.level -= 1
        for call in found:
            yield call if has_all else replace(call, of_arguments=None)

    def _started(self, given: list[Word], own: dict[str, str | None], at: str) -> list[Call]:
        """The calls of a program with its own variables; the script's arguments keep the script."""
        scope, lost = self.around.scope, self.around.lost
        words = scope.words(given)
        place = Place(at, tuple(scope.values(given)))
        before = next((n for n, word in enumerate(given) if is_all(word)), None)
        self.around.lost = self.before.copy() if before is not None else lost.copy()
        if own:
            self.around.scope = scope.inner(scope.arguments)
            for name, value in own.items():
                self.around.scope.set(name, value, at)
                self.around.lost.exports[name] = (value, at)
        found = list(self.run(words, place))
        self.around.scope, self.around.lost = scope, lost
        if before is None:
            return found
        skipped = before - 1 if before and words[0] == "exec" else before
        return [replace(call, of_arguments=skipped) for call in found]

    # ---- The words of one command

    def run(self, words: list[str], place: Place) -> Iterator[Call]:
        """The calls that the words of one command lead to."""
        if words and words[0] == "exec":
            words = words[3:] if words[1:2] == ["-a"] else words[1:]
        if not words or self.level > MOST_LEVELS:
            return
        name = words[0].rpartition("/")[2]
        if name in _NO_START:
            return
        if (at := _program(words)) is not None:
            if words[at + 1 :] and words[at + 1] not in {"--version", "--help"}:
                yield self._call(tuple(words), at + 1, place)
        elif name in SUPERVISORS:
            yield from self._supervised(words, place)
        else:
            yield from self._other(words, place)

    def _call(self, words: tuple[str, ...], first: int, place: Place, **fields: bool) -> Call:
        return Call(
            words=words,
            first=first,
            folder=self.around.folder,
            at=place.at,
            values=place.values,
            exports={**self.around.lost.exports},
            steps=tuple(self.around.lost.steps),
            sourced=tuple(self.around.lost.sourced),
            variables={**self.around.scope.variables},
            sources={**self.around.scope.sources},
            filled={**self.around.filled},
            **fields,
        )

    def _source(self, words: list[str], at: str) -> Iterator[Call]:
        found = self._read(words[1]) if words[1:] else None
        if found is None:
            self.around.lost.sourced.append(Step(" ".join(words), at))
            return
        name, self.name = self.name, found.name
        self.level += 1
        yield from self.script(found.text)
        self.level -= 1
        self.name = name

    def _other(self, words: list[str], place: Place) -> Iterator[Call]:
        """A shell, a script, a wrapper of one, or a program that takes an ini for uWSGI.

        A script that starts nothing may run the words after it, in a way that nothing here follows.
        """
        missing: list[str] = []
        for at, word in enumerate(words):
            if word.rpartition("/")[2] in SHELLS:
                yield from self._shell(words, at, place)
                return
            is_name = at == 0 and _NAME.fullmatch(word) is not None
            if not is_name and not _PATH.fullmatch(word):
                continue
            found = self._program_at(word) if is_name else self._read(word)
            if found is not None and _is_script(word, found.text):
                if calls := list(self._script(words, at, at, found)):
                    yield from calls
                    return
                continue
            if found is None and not is_name and (at == 0 or word.endswith(".sh")):
                missing.append(word)
        for word in missing[-1:]:
            self._miss(word, place)
        yield from self._with_ini(words, place)

    def _miss(self, path: str, place: Place) -> None:
        self.follower.lost.append(f"{place.at or 'the start'} runs {path}, which is not here")

    def _shell(self, words: list[str], at: int, place: Place) -> Iterator[Call]:
        """`sh -c TEXT`, and `sh FILE`."""
        rest = words[at + 1 :]
        while rest and rest[0][0:1] in {"-", "+"} and not rest[0].endswith("c"):
            rest = rest[2 if rest[0].endswith("o") else 1 :]
        if rest and rest[0].startswith("-"):
            inner = self._inner(rest[3:], self.name)
            for call in inner.script(rest[1] if len(rest) > 1 else ""):
                yield replace(call, at=call.at or place.at)
            self.around.lost.steps = inner.around.lost.steps
        elif rest and (found := self._read(rest[0])) is not None:
            yield from self._script(words, at, len(words) - len(rest), found)
        elif rest:
            self._miss(rest[0], place)

    def _script(self, words: list[str], begin: int, at: int, found: Text) -> Iterator[Call]:
        """A script with its arguments; words before `begin` are wrappers.

        A script that ends in its arguments stays in front of them, with all that it does.
        """
        inner = self._inner(words[at + 1 :], found.name)
        for call in inner.script(found.text):
            skipped = call.of_arguments
            front = words[:begin] if skipped is None else words[: at + 1]
            rest = call.words[skipped or 0 :]
            first = call.first - (skipped or 0) + len(front)
            yield replace(call, words=(*front, *rest), first=first, of_arguments=None)

    def _inner(self, arguments: Sequence[str], name: str) -> "_Shell":
        around = self.around.inner(arguments)
        return _Shell(self.follower, around, name, self.level + 1, around.lost.copy())

    def _with_ini(self, words: list[str], place: Place) -> Iterator[Call]:
        """`nautobot-server start --ini FILE`, if the file is one of uWSGI."""
        for at, word in enumerate(words[1:], start=1):
            key, _, value = word.partition("=")
            path = value or " ".join(words[at + 1 : at + 2])
            if key != "--ini" or not path:
                continue
            found = self._read(path.partition(".ini:")[0] + (".ini" if ".ini:" in path else ""))
            if found is not None and re.search(r"^\s*\[uwsgi\]", found.text, re.MULTILINE):
                yield self._call(tuple(words), at, place, is_uwsgi=False)

    def _supervised(self, words: list[str], place: Place) -> Iterator[Call]:
        """The programs of a supervisor, each with its own variables and folder."""
        found = programs_of(words, self._read)
        if found is None:
            self.follower.lost.append(f"{words[0]}: its configuration is not here")
            return
        for program in found:
            inner = self._inner((), program.at.rpartition(":")[0])
            inner.around.folder = program.folder or self.around.folder
            for variable, value in program.variables:
                inner.around.scope.set(variable, value, program.at)
                inner.around.lost.exports[variable] = (value, program.at)
            for each in commands(program.command):
                values = tuple(inner.around.scope.values(each.words))
                yield from inner.run(
                    inner.around.scope.words(each.words), Place(program.at, values)
                )

    def _program_at(self, name: str) -> Text | None:
        """The text of a program that the container's shell finds by its name."""
        texts = (self.follower.read(f"{folder}/{name}") for folder in _FOLDERS)
        return next((text for text in texts if text is not None), None)

    def _read(self, path: str) -> Text | None:
        if "$" in path or not path or path.startswith("-"):
            return None
        return self.follower.read(
            str(PurePosixPath(self.around.folder, path)) if self.around.folder else path
        )


def _program(words: Sequence[str]) -> int | None:
    """Which word is uWSGI: the first one, or one after wrappers."""
    for at, word in enumerate(words):
        name = word.rpartition("/")[2]
        if name in SHELLS and words[at + 1 : at + 2] and words[at + 1].startswith("-"):
            return None
        if name in PROGRAMS:
            return at
    return None


def _is_script(word: str, text: str) -> bool:
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        return any(re.search(rf"\b{shell}\b", first) for shell in SHELLS)
    return word.endswith(".sh") or (":" not in word and "\0" not in text and "." not in word[1:])
