"""Which uWSGI reads a file: the one that `--uwsgi` names, or the one that `auto` finds."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.shared import STANDARD_INPUT, say
from tuner.nouns.errors import InvalidInput
from tuner.uwsgi.options import Catalogue, known, of_release
from tuner.uwsgi.options.releases import OLDEST, is_before, numbers_of

Release = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="The uWSGI that reads it, as 2.0.23; auto: the one that files nearby pin.",
    ),
]
AUTO = "auto"
_NEXT = "2.1"  # not released; nothing is known of it


@dataclass(frozen=True, slots=True)
class _Found:
    """A version, and where it is from."""

    version: str
    source: str


def catalogues_of(files: Sequence[str], uwsgi: str | None) -> list[Catalogue]:
    """The options of the uWSGI that reads each file; without `uwsgi`, of the newest.

    With `auto`, one line for each version that is found goes to standard error, and `-` stands for
    a file in the present folder. Raises `InvalidInput` for a version whose options are not known.
    """
    if uwsgi != AUTO:
        return [known() if uwsgi is None else _catalogue(_Found(uwsgi, ""))] * len(files)
    folders = [Path("." if file == STANDARD_INPUT else file).absolute() for file in files]
    folders = [path if path.is_dir() else path.parent for path in folders]
    pin_in, unpinned = cache(_pin_in), cache(_unpinned)  # each folder is read once for all files
    found = {
        folder: next(filter(None, map(pin_in, _places(folder))), None) or unpinned()
        for folder in dict.fromkeys(folders)
    }
    catalogues = [_catalogue(found[folder]) for folder in folders]
    for one in dict.fromkeys(found.values()):
        say(f"checked for uWSGI {one.version} ({one.source})")
    return catalogues


def _catalogue(found: _Found) -> Catalogue:
    version = found.version
    is_known = not is_before(version, OLDEST) and is_before(version, _NEXT)
    if not is_known:
        reason = f" from {found.source}" if found.source else ""
        message = f"{version!r}{reason} is neither a 2.0 from {OLDEST} on nor {AUTO}"
        raise InvalidInput.at("--uwsgi", message)
    return of_release(version)


def _unpinned() -> _Found:
    installed = _installed()
    if installed:
        return _Found(installed, "uwsgi --version")
    return _Found(known().version, "the newest known: no file pins one, and none is on the PATH")


def _installed() -> str:
    """The version of the uwsgi on the PATH; empty for none."""
    program = shutil.which("uwsgi")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    version = done.stdout.strip()
    return version if numbers_of(version) else ""


# ---- Files that pin a version: what an image installs, what is locked, what is required

_NAME = r"(?<![\w.-])(?:py)?uwsgi(?:\[[^\]\n]*\])?"
_EQUALS = r"[ \t]*={1,3}[ \t]*[\"']?(?:==)?[ \t]*"
_VERSION = r"(?P<version>\d+(?:\.\d+)+)(?:\.post\d+)?(?![\w.*])"
_REQUIRED = re.compile(rf"{_NAME}[\"']?{_EQUALS}{_VERSION}", re.IGNORECASE)
_LOCKED = re.compile(
    rf'\[\[packages?\]\]\s*name\s*=\s*"(?:py)?uwsgi"\s*version\s*=\s*"{_VERSION}"', re.IGNORECASE
)
_LOCKED_BY_PIPENV = re.compile(
    rf'"(?:py)?uwsgi"\s*:\s*\{{[^{{}}]*?"version"\s*:\s*"=={_VERSION}"', re.IGNORECASE
)
_FILES = (
    ("Dockerfile*", _REQUIRED),
    ("uv.lock", _LOCKED),
    ("poetry.lock", _LOCKED),
    ("Pipfile.lock", _LOCKED_BY_PIPENV),
    ("requirements*.txt", _REQUIRED),
    ("pyproject.toml", _REQUIRED),
)
"""The first that pins uWSGI counts: what runs comes before what is wanted."""

_MOST_BYTES = 20_000_000
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_ARGUMENT = re.compile(r"^[ \t]*(?:ARG|ENV)[ \t]+(\w+)[= ][\"']?(\d[\w.]*)", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\{(\w+)[^}\n]*\}|(\w+))")


def _places(folder: Path) -> Iterator[Path]:
    """The folder and those above it, up to the root of a repository."""
    for place in (folder, *folder.parents):
        yield place
        if (place / ".git").exists():
            return


def _pin_in(place: Path) -> _Found | None:
    for names, pattern in _FILES:
        for path in sorted(place.glob(names)):
            text = _text_of(path)
            found = pattern.search(text)
            if found:
                line = text.count("\n", 0, found.start("version")) + 1
                return _Found(found["version"], f"{os.path.relpath(path)}:{line}")
    return None


def _text_of(path: Path) -> str:
    """Without comments, and with the values of a Dockerfile's arguments; empty if unreadable."""
    try:
        with path.open("rb") as opened:
            text = opened.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
    text = _COMMENT.sub("", text)
    values = dict(_ARGUMENT.findall(text)) if path.name.startswith("Dockerfile") else {}
    return _VARIABLE.sub(lambda used: values.get(used[1] or used[2], used[0]), text)
