"""What the commands of a shell itself change: its variables, its folder, the files it fills."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from tuner.targets.compose.calls import Lost
from tuner.targets.compose.document import is_path
from tuner.targets.compose.expanding import Scope
from tuner.targets.compose.shell import Command, Word


@dataclass(slots=True)
class Around:
    """The variables and the folder of one shell, and what is lost when it does not run.

    `filled` are the files that any script makes of others.
    """

    scope: Scope
    folder: str
    filled: dict[str, str]
    lost: Lost = field(default_factory=Lost)

    def inner(self, arguments: Sequence[str]) -> "Around":
        """That of a program that this shell starts."""
        return Around(self.scope.inner(arguments), self.folder, self.filled, self.lost.copy())

    def assignments(self, words: list[Word]) -> dict[str, str | None]:
        """`A=b` before a command; they leave the words."""
        found: dict[str, str | None] = {}
        while words and not words[0][0].quote:
            name, equals, value = words[0][0].text.partition("=")
            if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
                break
            found[name] = self.scope.text((replace(words[0][0], text=value), *words[0][1:]))
            words.pop(0)
        return found

    def set(self, name: str, value: str | None, at: str, state: bool | None) -> None:
        if state is None and self.scope.variables.get(name):
            return  # on a condition, such as that nothing has set it
        is_exported = name in self.scope.variables and name not in self.scope.own
        self.scope.set(name, value, at)
        if is_exported or name in self.lost.exports:
            self.lost.exports[name] = (value, at)
        else:
            self.scope.own.add(name)

    def builtin(self, words: list[str], given: list[Word], at: str, state: bool | None) -> bool:
        """What changes the shell itself."""
        match words:
            case ["cd", folder, *_]:
                into = str(PurePosixPath(self.folder, folder))
                self.folder = into if is_path(into) else ""
            case ["export", *_]:
                self._export(given[1:], at, state)
            case ["set", "--", *arguments]:
                self.scope.arguments = arguments
            case ["shift", *_]:
                self.scope.arguments = self.scope.arguments[1:]
            case [":", *_]:
                for word in given[1:]:
                    self.scope.assign_defaults(word, at)
            case _:
                return False
        return True

    def fills(self, words: list[str], command: Command) -> bool:
        """`envsubst < A > B`, and `cp A B`."""
        names = {sign: self.scope.text(word) for sign, word in command.files}
        source, target = names.get("<"), names.get(">")
        if words[0] == "cp" and len(words) > 2:
            source, target = words[-2:]
        if words[0] not in {"envsubst", "cp"} or not source or not target:
            return False
        place = PurePosixPath(self.folder, target)
        self.filled[str(place)] = str(PurePosixPath(self.folder, source))
        self.filled[str(place / PurePosixPath(source).name)] = self.filled[str(place)]
        return words[0] == "envsubst"

    def _export(self, given: list[Word], at: str, state: bool | None) -> None:
        """`export A=b C`."""
        for word in given:
            rest = [word]
            names = list(self.assignments(rest).items())
            for name, value in names:
                self.set(name, value, at, state)
            for name in [name for name, _ in names] or self.scope.words(rest):
                if name in self.scope.variables:
                    is_known = name not in self.scope.unsure
                    value = self.scope.variables[name] if is_known else None
                    self.lost.exports[name] = (value, self.scope.sources.get(name, at))
                    self.scope.own.discard(name)
