"""What a Dockerfile says of the start of its image: ENTRYPOINT, CMD, ENV, WORKDIR, its files."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from tuner.targets.compose.document import text_of
from tuner.targets.compose.interpolation import Variables

Entry = dict[str, list[str]]
"""The words of ENTRYPOINT and CMD, where they are known."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A COPY or ADD from the folder of the build; `target` is absolute."""

    sources: tuple[str, ...]
    target: PurePosixPath
    is_folder: bool  # the target ends with a slash


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """The last stage of a Dockerfile, with the stages of the file that it is from."""

    context: Path
    file: Path
    entry: Entry = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    copies: tuple[Copy, ...] = ()

    @property
    def has_sources(self) -> bool:
        """Whether the folder of the build has all that is copied from it."""
        return all(any(s.exists() for s in _sources(self.context, c)) for c in self.copies)

    def find(self, path: str) -> Path | None:
        """The file or folder of the build that the image has at an absolute path."""
        wanted = PurePosixPath(path)
        for copy in reversed(self.copies):
            for source in _sources(self.context, copy):
                found = _copied(source, copy, wanted)
                if found is not None and found.exists():
                    return found
        return None


def dockerfile_of(context: Path, name: str, target: str) -> Dockerfile | None:
    """The Dockerfile of a build, up to a stage if one is named; None without the file."""
    file = context / (name or "Dockerfile")
    return _read(context, file, text_of(file), target) if file.is_file() else None


@lru_cache(maxsize=16)  # each service of a build asks for it, several times
def _read(context: Path, file: Path, text: str, target: str) -> Dockerfile:
    stages: dict[str, Dockerfile] = {}
    found, last = Dockerfile(context, file), ""
    text = re.sub(r"^\s*#.*\n|\\[ \t]*\n", "", text, flags=re.MULTILINE)
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" ")
        words = rest.split()
        if name.upper() == "FROM" and words:
            base = next((word for word in words if not word.startswith("--")), "")
            found = stages.get(base, Dockerfile(context, file))
            last = words[-1]
        else:
            found = _with(found, name.upper(), rest.strip())
        stages[last] = found
    return stages.get(target, found)


def _with(stage: Dockerfile, instruction: str, rest: str) -> Dockerfile:
    known = Variables(stage.env)
    match instruction:
        case "ENTRYPOINT" | "CMD":
            return replace(stage, entry={**stage.entry, instruction: _words(rest)})
        case "ENV" | "ARG":
            return replace(stage, env={**stage.env, **dict(_variables(rest, known))})
        case "WORKDIR":
            folder = known.interpolated(rest.strip("\"'")).text
            return replace(stage, folder=str(PurePosixPath(stage.folder, folder)))
        case "COPY" | "ADD":
            copy = _copy(known.interpolated(rest).text, stage.folder)
            return replace(stage, copies=(*stage.copies, copy)) if copy else stage
        case _:
            return stage  # it says nothing about the start


def _words(text: str) -> list[str]:
    found = _list(text)
    return found if found is not None else ["/bin/sh", "-c", text]


def _list(text: str) -> list[str] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return [str(word) for word in found] if isinstance(found, list) else None


def _variables(rest: str, known: Variables) -> Iterator[tuple[str, str]]:
    """`A=b C="d e"`, and the old `A b`."""
    first, _, value = rest.partition(" ")
    if "=" not in first:
        if value:
            yield first, known.interpolated(value.strip()).text
        return
    try:
        words = shlex.split(rest)
    except ValueError:
        return
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            yield name, known.interpolated(value).text


def _copy(rest: str, folder: str) -> Copy | None:
    """None for a copy from another stage or image, and for a text."""
    words = rest.split()
    options = [word for word in words if word.startswith("--")]
    left = rest[sum(len(word) + 1 for word in options) :] if options else rest
    paths = _list(left.strip()) or [word for word in words if word not in options]
    if len(paths) < 2 or any(word.startswith("--from") for word in options) or "<<" in rest:
        return None
    *sources, target = paths
    is_folder = target.endswith(("/", "/.")) or target == "." or len(sources) > 1
    return Copy(tuple(sources), PurePosixPath(folder, target), is_folder)


def _sources(context: Path, copy: Copy) -> Iterator[Path]:
    for source in copy.sources:
        inside = source.lstrip("/").removeprefix("./").rstrip("/") or "."
        if "://" in source or ".." in PurePosixPath(inside).parts:
            continue
        if any(sign in inside for sign in "*?["):
            yield from sorted(context.glob(inside))
        else:
            yield context / inside


def _copied(source: Path, copy: Copy, wanted: PurePosixPath) -> Path | None:
    """The file that a copy of a source puts at a path."""
    if source.is_dir():
        is_inside = wanted.is_relative_to(copy.target)
        return source / wanted.relative_to(copy.target) if is_inside else None
    place = copy.target / source.name if copy.is_folder else copy.target
    return source if wanted in (place, copy.target / source.name) else None


def beside(context: Path, path: str) -> Path | None:
    """The file in the folder of a Dockerfile that is likely to be at `path` in the image."""
    parts = [part for part in PurePosixPath(path).parts if part != "/"]
    for first in range(len(parts)):
        found = context.joinpath(*parts[first:])
        if found.is_file():
            return found
    each = [file for file in walked(context) if file.name == parts[-1]] if parts else []
    return each[0] if len(each) == 1 else None


_MOST_FILES = 50_000  # of a checkout


def walked(folder: Path) -> Iterator[Path]:
    """The files of a checkout, without those that are hidden or of packages."""
    count = 0
    for home, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "node_modules")
        count += len(files)
        if count > _MOST_FILES:
            return
        yield from (Path(home, name) for name in files if not name.startswith("."))
