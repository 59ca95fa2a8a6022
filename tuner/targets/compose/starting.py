"""How a container starts its uWSGI, from which image, and the present configuration."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model.targets import DEFAULT_COMMAND
from tuner.targets.compose.document import Node, text_of
from tuner.targets.compose.findings import Findings
from tuner.uwsgi.command_line import arguments, ini_of, is_file, words_for_uwsgi
from tuner.uwsgi.options import known

# ---- What an image is made from: its own name, or the folder of its Dockerfile

Entry = dict[str, list[str]]
"""The words of ENTRYPOINT and CMD, where they are known."""

_IN_ANY_BUILD = frozenset({"context", "dockerfile", "labels", "cache_from", "cache_to"})


def source_of(
    name: str, service: Node, project: str, place: Callable[[Path], str | None], findings: Findings
) -> dict[str, str]:
    """`build` or `image`. `place` is how target.yaml calls a folder; None if it cannot."""
    build, image = service.get("build"), image_of(name, service, project)
    if not build:
        return {"image": image} if service.get("image") else {}
    folder = context_of(build) or Path()
    has_own_file = build.text_of("dockerfile") not in ("", "Dockerfile", "./Dockerfile")
    is_plain = not has_own_file and not {*build.items()} - _IN_ANY_BUILD
    path = place(folder) if is_plain and (folder / "Dockerfile").is_file() else None
    if path is not None:
        return {"build": path}
    why = (
        "target.yaml can build only a folder with a Dockerfile, without arguments, and for a"
        f" service inside the app's own: run `docker compose build {name}` on each benchmark host."
        f" The image is {image} now"
    )
    findings.todo(f"{name}.build", why)
    return {"image": image}


def image_of(name: str, service: Node, project: str) -> str:
    """The image's own name, or the one that `docker compose build` gives it."""
    return service.text_of("image") or f"{project}-{name}"


def context_of(build: Node) -> Path | None:
    """The folder of a build; None without one."""
    text = build.text or build.text_of("context") or "."
    return (build.file.parent / Path(text).expanduser()).resolve() if build else None


def entry_of(build: Node) -> Entry:
    """The words of ENTRYPOINT and CMD in the Dockerfile: of the last stage and what it is from."""
    context = context_of(build)
    file = context / (build.text_of("dockerfile") or "Dockerfile") if context else None
    if file is None or not file.is_file():
        return {}
    stages: dict[str, Entry] = {}
    found: Entry = {}
    text = re.sub(r"^\s*#.*\n|\\[ \t]*\n", "", text_of(file), flags=re.MULTILINE)
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" ")
        match name.upper(), rest.split():
            case "FROM", [*words]:
                base = next((word for word in words if not word.startswith("--")), "")
                found = dict(stages.get(base, {}))
                stages[words[-1] if words else ""] = found
            case "ENTRYPOINT" | "CMD", _:
                found[name.upper()] = _words(rest.strip())
            case _:
                pass  # it says nothing about the start
    return found


def _words(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return [str(word) for word in found] if isinstance(found, list) else ["/bin/sh", "-c", text]


# ---- How a container starts its uWSGI, and the present configuration

_CALL = re.compile(
    r"((?:^|(?<=[\s;&|(]))(?:[\w./-]*/)?(?:uwsgi|uwsgi-core|pyuwsgi))(?=\s)"
    r"((?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^;&|<>()\n'\"\\])*)",
    re.DOTALL,
)
_INI = "{ini}"
_GIVE = "give the present configuration with --ini FILE"


@dataclass(frozen=True, slots=True)
class Start:
    """The command with `{ini}`, the text of the present file, and where that file is.

    Without a `file` the text is of the file at `in_image`, or made from the options of the command.
    """

    command: tuple[str, ...]
    ini: str
    file: Path | None = None
    in_image: str | None = None


def words_of(node: Node) -> list[str]:
    """A command of a compose file: a list, or a text as a shell splits it."""
    if not isinstance(node.value, str):
        return [each.text for each in node.each()]
    try:
        return shlex.split(node.text)
    except ValueError:
        return node.text.split()


def command_of(service: Node, of_image: Entry | None = None) -> list[str]:
    """ENTRYPOINT and CMD of a container: those of the compose file, the Dockerfile, the image."""
    entrypoint, command, own = service.get("entrypoint"), service.get("command"), Entry()
    if not entrypoint:
        own = entry_of(service.get("build")) or of_image or own
    first = words_of(entrypoint) or own.get("ENTRYPOINT", [])
    return [*first, *(words_of(command) if command else own.get("CMD", []))]


def start_of(
    words: Sequence[str],
    find: Callable[[str], Path | None],
    given: Path | None,
    at: str,
    read: Callable[[str], str | None],
) -> Start:
    """How to start the app. `find` gives the host's file for a path in the container.

    `read` gives the image's text for a path. `given` is a file to use instead, and `at` names the
    command in a mistake. Raises `InvalidInput`.
    """
    options = words_for_uwsgi(words)
    if options is None:
        if given is None:
            told = (
                f"`{shlex.join(words)}` does not show how uwsgi starts" if words else "no command"
            )
            raise InvalidInput.at(at, f"{told}: {_GIVE}")
        return Start(DEFAULT_COMMAND, text_of(given), given)
    files = list(dict.fromkeys(_files(options)))
    if given is None and len(files) > 1:
        raise InvalidInput.at(at, f"uwsgi reads {' and '.join(files)}: {_GIVE} that has all")
    if not files:
        command = _with_options(words, f"--ini {_INI}")
        if given is not None:
            return Start(command, text_of(given), given)
        return Start(command, _ini_of(words, at))
    if given is not None:
        return Start(_with_file(words, files[0]), text_of(given), given)
    if not files[0].endswith(".ini"):
        raise InvalidInput.at(at, f"{files[0]} is no ini of one section: {_GIVE}")
    command = _with_file(words, files[0])
    if (file := find(files[0])) is not None:
        return Start(command, text_of(file), file)
    if (text := read(files[0])) is not None:
        return Start(command, text, in_image=files[0])
    told = "is in no mount, beside no Dockerfile and in no image that is here"
    raise InvalidInput.at(at, f"{files[0]} {told}: {_GIVE}")


def name_other_options(start: Start, findings: Findings) -> None:
    """Say which options are not in the file, so that a search cannot vary them."""
    words = words_for_uwsgi(start.command) or []
    found = [each.text for each in arguments(words, known()) if not isinstance(each, str)]
    if others := [text for text in found if _INI not in text]:
        why = "the search varies the file only: move these options into it, if they count"
        findings.todo(f"command {' '.join(others)}", why)


def beside(context: Path, path: str) -> Path | None:
    """The file in the folder of a Dockerfile that is likely to be at `path` in the image."""
    parts = [part for part in PurePosixPath(path).parts if part != "/"]
    for first in range(len(parts)):
        found = context.joinpath(*parts[first:])
        if found.is_file():
            return found
    each = [file for file in context.rglob(parts[-1]) if not _is_hidden(file, context)]
    return each[0] if len(each) == 1 else None


def _is_hidden(file: Path, context: Path) -> bool:
    parts = file.relative_to(context).parts
    return any(part.startswith(".") or part == "node_modules" for part in parts)


def _files(options: Sequence[str]) -> Iterator[str]:
    """The files from which uWSGI reads options."""
    for each in arguments(options, known()):
        word = each if isinstance(each, str) else each.value or ""
        is_config = isinstance(each, str) or each.name in ("ini", "yaml", "xml", "json", "config")
        if is_config and is_file(word):
            yield word


def _with_file(words: Sequence[str], path: str) -> tuple[str, ...]:
    """The words with `{ini}` for the path: the last time that it stands alone in one."""
    pattern = re.compile(rf"(?<![\w./-]){re.escape(path)}(?![\w./-])")
    found = list(words)
    for at in reversed(range(len(found))):
        if matches := list(pattern.finditer(found[at])):
            start, end = matches[-1].span()
            found[at] = f"{found[at][:start]}{_INI}{found[at][end:]}"
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


def _ini_of(words: Sequence[str], at: str) -> str:
    try:
        return ini_of(shlex.join(words), known())
    except InvalidInput as error:
        raise InvalidInput([Mistake(at, f"{e.message}; {_GIVE}") for e in error.mistakes]) from None
