"""The present configuration of a call of uWSGI: its file, the options beside it, the command."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model.targets import DEFAULT_COMMAND
from tuner.targets.compose.calls import Call
from tuner.targets.compose.document import Node, text_of
from tuner.targets.compose.expanding import expanded, names_in
from tuner.targets.compose.files import Files, shown
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.ordering import (
    Item,
    can_move,
    config_of,
    has_paste,
    in_order,
    joined,
    line_of,
    whole,
    words_of_item,
)
from tuner.targets.compose.starting import GIVE
from tuner.uwsgi.command_line import arguments, ini_of, is_file, words_for_uwsgi
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

_CALL = re.compile(
    r"((?:^|(?<=[\s;&|(]))(?:[\w./-]*/)?(?:uwsgi|uwsgi-core|pyuwsgi))(?=\s)"
    r"((?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^;&|<>()\n'\"\\])*)",
    re.DOTALL,
)
INI = "{ini}"
"""Stands for the file of an arm in a command."""

_EMPEROR = frozenset({"emperor", "vassals", "vassals-dir"})
_ALONE = re.compile(r"\$(?:\w+|\{\w+\})")
_MOST_VASSALS = 8


@dataclass(frozen=True, slots=True)
class Start:
    """The command with `{ini}`, the text of the present file, and where that file is.

    Without a `file` the text is of the file at `in_image`, or of the command. With `made_of` it is
    a new one: that names what is in it. With an `ini_path` the container starts as always, and
    `command` is empty. `lost` is the call whose script does not run any more.
    """

    command: tuple[str, ...]
    ini: str
    file: Path | None = None
    in_image: str | None = None
    made_of: str = ""
    ini_path: str | None = None
    lost: Call | None = None


@dataclass(slots=True)
class Baseline:
    """Makes the start of one call. `given` is a file to use instead of the call's own.

    `words` are those of the container, and `at` names them in a mistake. `has_own_start` when the
    image itself has them.
    """

    words: Sequence[str]
    call: Call
    files: Files
    given: Path | None
    at: str
    findings: Findings
    has_own_start: bool = False

    def start(self) -> Start:
        """Raises `InvalidInput`."""
        place = self.call.at or self.at
        for value in self.call.values:
            why = f"{value.value or 'empty'}: from {value.source}" if value.source else value.value
            self.findings.changed(f"{place} {value.written}", why)
        items = self._items
        configs = _configs(items)
        config = configs[0] if configs else None
        items = list(self._known_items(items, place)) if self.call.is_uwsgi else items[:1]
        self._refuse_emperor(items)
        if config is None and self.given is None:
            return self._placed(self._of_options(items))
        if len(configs) > 1 and self.given is None and self.call.is_uwsgi:
            return self._placed(self._of_files(items, configs, place))
        found = self._found(config)
        left = items
        if config is None and items:
            told = f"{place} {' '.join(word for item in items for word in words_of_item(item))}"
            self.findings.changed(told, "the file of --ini counts in the place of these options")
            left = []
        elif self.call.is_uwsgi:
            text, left = self._merged(found.ini, items)
            if text != found.ini:
                made = found.made_of or found.in_image or shown(found.file or Path())
                made = f"{made} and the options of {place}"
                found = replace(found, ini=text, made_of=made)
        is_one = len(configs) == 1 and not has_paste(arguments(self.call.options, known()))
        command = self._command(left, config if is_one else None)
        return self._placed(replace(found, command=command))

    # ---- The words of uWSGI

    def _known_items(self, items: Sequence[Item], place: str) -> Iterator[Item]:
        """Without those whose whole value is a variable that has none."""
        for item in items:
            text = item if isinstance(item, str) else item.value or ""
            names = " and ".join(sorted(names_in(text)))
            told = f"{place} {item if isinstance(item, str) else item.text}"
            if not names:
                yield item
            elif _ALONE.fullmatch(text) and isinstance(item, str):
                why = f"{names} has no value in the environment and in the Dockerfile"
                self.findings.left_out(told, why)
            elif _ALONE.fullmatch(text):
                why = f"{names} has no value: put the option into the file, if it counts"
                self.findings.todo(told, why)
            else:
                self.findings.todo(told, f"{names} has no value: give it one in `env`")
                yield item

    @property
    def _items(self) -> list[Item]:
        return list(in_order(arguments(self.call.options, known()), self.call.folder))

    def _of_files(self, items: Sequence[Item], configs: Sequence[str], place: str) -> Start:
        """One file of several, as uWSGI reads them one after another."""
        found = {config: self._found(config) for config in configs}
        whole_of_it = joined(items, place, lambda config: found[config].ini)
        sources = [
            each.made_of or each.in_image or shown(each.file or Path()) for each in found.values()
        ]
        if whole_of_it.moved:
            sources.append(f"the options of {place}")
        why = "uwsgi reads them in this order, and a later line counts more: here they are one file"
        self.findings.changed(f"{place} {', '.join(configs)}", why)
        command = self._command(whole_of_it.left, None)
        return Start(command, whole_of_it.ini, made_of=" and ".join(sources))

    def _of_options(self, items: Sequence[Item]) -> Start:
        words = ["uwsgi", *(word for item in items for word in words_of_item(item))]
        try:
            ini = ini_of(words, known())
        except InvalidInput as error:
            told = [Mistake(self.at, f"{each.message}; {GIVE}") for each in error.mistakes]
            raise InvalidInput(told) from None
        return Start(_with_options(self._base, f"--ini {INI}"), ini)

    def _merged(self, text: str, items: list[Item]) -> tuple[str, list[Item]]:
        """The file with the options that the command gives beside it, and those that stay there.

        uWSGI reads both in their order, so what comes after the file counts more.
        """
        ini, left, is_after = IniFile.parse(text), list[Item](), False
        for item in items:
            if config_of(item) is not None:
                is_after = True
                left.append(item)
            elif isinstance(item, str) or not can_move(item, ini):
                left.append(item)
            elif is_after or ini.get(item.name) is None:
                name, _, value = line_of(item).partition(" = ")
                ini = ini.patch({name: value})
            else:
                why = "uwsgi reads the file after it, and the file sets it too: it does nothing"
                self.findings.changed(f"{self.call.at or self.at} {item.text}", why)
        return ini.dump(), left

    # ---- The file

    def _found(self, config: str | None) -> Start:
        """The file that counts, whole, as a start without its command."""
        if self.given is not None or config is None:
            file = self.given or Path()
            return Start((), text_of(file), file)
        path, section = _section_of(config)
        place = str(PurePosixPath(self.call.folder, path))
        template = self.call.filled.get(place)
        found = self.files.text(template or place)
        if found is None:
            told = "is in no mount, beside no Dockerfile and in no image that is here"
            raise InvalidInput.at(self.call.at or self.at, f"{config} {told}: {GIVE}")
        all_of_it = whole(found, place, section, self.call.folder, self.files.text)
        for lost in all_of_it.lost:
            self.findings.todo(found.name, f"{lost}: add what it sets to the file by hand")
        text, values = filled(all_of_it.text, self.call, everywhere=template is not None)
        for value in values:
            self.findings.changed(f"{found.name} {value[0]}", value[1])
        self._refuse_emperor([], IniFile.parse(text))
        made_of = " and ".join(all_of_it.files) if text != found.text else ""
        in_image = place if found.file is None else None
        return Start((), text, found.file, in_image, made_of)

    def _refuse_emperor(self, items: Iterable[Item], ini: IniFile | None = None) -> None:
        values = [
            item.value or ""
            for item in items
            if not isinstance(item, str) and item.name in _EMPEROR and item.value
        ]
        values += [value for name in _EMPEROR for value in (ini.values(name) if ini else [])]
        for value in values if self.given is None else []:
            folder = self.files.folder(str(PurePosixPath(self.call.folder, value.split("*")[0])))
            found = sorted(folder.glob("*.ini")) if folder else []
            names = ", ".join(shown(file) for file in found[:_MOST_VASSALS])
            which = f": {names}" if names else ""
            told = f"the emperor starts the files in {value}, and the options are there"
            raise InvalidInput.at(self.call.at or self.at, f"{told}: give one with --ini{which}")

    # ---- The command

    @property
    def _is_direct(self) -> bool:
        return words_for_uwsgi(self.words) is not None

    @property
    def _base(self) -> tuple[str, ...]:
        return tuple(self.words) if self._is_direct else self.call.words

    def _command(self, left: Sequence[Item], config: str | None) -> tuple[str, ...]:
        """The words with `{ini}` for the file, and the options that stay."""
        all_of_it = list(arguments(self.call.options, known()))
        is_same = not self.call.is_uwsgi or (self._is_direct and len(left) == len(all_of_it))
        if config is not None and is_same and _section_of(config)[0].endswith(".ini"):
            return _with_file(self._base, config)
        words = [word for item in left if config_of(item) is None for word in words_of_item(item)]
        return _with_options(self._base, " ".join(["--ini", INI, *map(shlex.quote, words)]))

    def _placed(self, start: Start) -> Start:
        """The same; or the container's own start, if it reads the file and would lose much else."""
        call = self.call
        if self._is_direct or not call.at:
            return start
        path = start.in_image or next(iter(_configs(self._items)), "")
        place = str(PurePosixPath(call.folder, path)) if path else ""
        is_kept = self.has_own_start and self.given is None and place.startswith("/")
        is_kept = (
            is_kept
            and place not in call.filled
            and bool(start.file or start.in_image)
            and not start.made_of
        )
        is_alone = len(list(arguments(call.options, known()))) == 1
        loses = call.steps or call.exports or call.sourced
        if is_kept and is_alone and loses and not any(place in step.command for step in call.steps):
            return replace(start, command=(), ini_path=place)
        return replace(start, lost=call)


def of_variable(app: Node, words: Sequence[str], files: Files, findings: Findings) -> Start | None:
    """The start of a container whose `UWSGI_INI` names the file; None without one."""
    build = files.build.env if files.build else {}
    path = app.text_of("environment", "UWSGI_INI") or build.get("UWSGI_INI", "")
    found = files.text(path) if path else None
    if found is None:
        return None
    why = f"uWSGI reads {path}, as this variable says"
    findings.changed("UWSGI_INI", why)
    source = {"file": found.file} if found.file else {"in_image": path}
    if not words:
        return Start((), found.text, ini_path=path, **source)
    return Start(("env", f"UWSGI_INI={INI}", *words), found.text, **source)


_BRACED = r"\$\{\w+(?::?-[^{}\n]*)?\}"


def filled(text: str, call: Call, *, everywhere: bool) -> tuple[str, list[tuple[str, str]]]:
    """A file with the variables that a script puts into it, and each with its value.

    `$NAME` without braces counts only if a script is seen to fill the file, which is `everywhere`:
    it is often a sign of a route.
    """
    told: list[tuple[str, str]] = []

    def replaced(match: re.Match[str]) -> str:
        value, found = expanded(match[0], call.variables, call.sources)
        if not found:
            return match[0]
        why = f"from {found[0].source or 'the start'}, as a script fills it before uwsgi starts"
        told.append((match[0], f"{value or 'empty'}: {why}"))
        return value

    return re.sub(rf"{_BRACED}|\$\w+" if everywhere else _BRACED, replaced, text), told


def _configs(items: Iterable[Item]) -> list[str]:
    """The files from which uWSGI reads options."""
    return list(dict.fromkeys(text for item in items if (text := config_of(item)) is not None))


def _section_of(path: str) -> tuple[str, str]:
    """`app.ini:prod` as the path and the section."""
    name, colon, section = path.rpartition(":")
    return (name, section) if colon and is_file(name) else (path, "")


def _with_file(words: Sequence[str], path: str) -> tuple[str, ...]:
    """The words with `{ini}` for the path: the last time that it stands alone in one."""
    pattern = re.compile(rf"(?<![\w./-]){re.escape(path)}(?![\w./-])")
    found = list(words)
    for at in reversed(range(len(found))):
        if matches := list(pattern.finditer(found[at])):
            start, end = matches[-1].span()
            found[at] = f"{found[at][:start]}{INI}{found[at][end:]}"
            break
    return tuple(found)


def _with_options(words: Sequence[str], options: str) -> tuple[str, ...]:
    """The words with other options for uwsgi."""
    for at, word in enumerate(words):
        if re.search(r"\s", word) and (calls := list(_CALL.finditer(word))):
            call = calls[-1]
            end = call.end() - len(call[2]) + len(call[2].rstrip())
            changed = f"{word[: call.end(1)]} {options}{word[end:]}"
            return (*words[:at], changed, *words[at + 1 :])
        if words_for_uwsgi([word]) is not None:
            return (*words[: at + 1], *options.split())
    return DEFAULT_COMMAND
