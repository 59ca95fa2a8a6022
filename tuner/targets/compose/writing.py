"""A draft as files: target.yaml with its notes on top, and the texts beside it."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tuner.nouns.errors import Conflict, InvalidInput
from tuner.nouns.masking import holds_secret, is_secret_value
from tuner.nouns.model.hosts import stubs_of
from tuner.targets.compose.making import Draft
from tuner.targets.yaml_text import Dumper

TARGET = "target.yaml"


def write(draft: Draft, folder: Path) -> tuple[Path, ...]:
    """Write the folder, and return what is new. Raises `Conflict` rather than replace anything.

    A checkout that came from elsewhere may have links that lead out of it: none is followed.
    """
    texts = {**draft.texts, TARGET: target_yaml(draft)}
    new = [*draft.folders, *texts]
    _refuse_links(folder)
    there = [str(folder / name) for name in new if os.path.lexists(folder / name)]
    if there:
        raise Conflict(f"{', '.join(there)}: is there already; give another folder, or move it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, source in draft.folders.items():
            _copy(source, folder / name)
        for name, text in texts.items():
            is_private = name in draft.private or _holds_secret(draft.document, name, text)
            _create(folder / name, text, 0o600 if is_private else 0o644)
    except OSError as error:
        raise InvalidInput.at(str(folder), error.strerror or "cannot be written") from error
    return tuple(folder / name for name in new)


def _refuse_links(folder: Path) -> None:
    """Raise `InvalidInput` for a link on the way from the present folder; above it all is ours."""
    here, whole = Path.cwd(), folder.absolute()
    below = [whole, *whole.parents]
    for place in below[: below.index(here)] if here in below else below[:1]:
        if place.is_symlink():
            raise InvalidInput.at(str(folder), f"{place} is a link; give the folder itself")


def _holds_secret(document: Mapping[str, Any], name: str, text: str) -> bool:
    """Whether a text has the shape of a secret, or is target.yaml with one in an environment."""
    parts = [document, *document.get("services", {}).values()] if name == TARGET else []
    return is_secret_value(text) or any(
        isinstance(value, str) and value and holds_secret(variable, value)
        for part in parts
        for variable, value in part.get("env", {}).items()
    )


def _create(file: Path, text: str, mode: int) -> None:
    """A new file. Raises `OSError` where anything has its name, also a link that leads nowhere."""
    new = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(new, "w", encoding="utf-8") as opened:
        opened.write(text)


def _copy(source: Path, place: Path) -> None:
    """A copy with all owners, modes and links. Raises `InvalidInput` if it cannot be whole."""
    command = ["cp", "-a", "--no-target-directory", "--", str(source), str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(place, ignore_errors=True)
        told = (done.stderr.strip().splitlines() or ["cannot be copied"])[-1]
        raise InvalidInput.at(str(source), told)


def target_yaml(draft: Draft) -> str:
    """The text of target.yaml: what was left out and what is to do, then the target app."""
    dumped = yaml.dump(
        dict(draft.document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return "".join(f"{line}\n" for line in _comments(draft)) + dumped


def _comments(draft: Draft) -> Iterator[str]:
    yield f"# From {draft.origin}, by `tuner app init`."
    yield "#"
    yield from (f"# {' '.join(line.splitlines())}" for line in draft.findings.lines())
    if draft.stubs:
        yield "#"
        yield "# Stubs for hosts that an arm does not have: paste those that a request needs."
        yield from (f"# {line}" for line in stubs_of(draft.stubs).splitlines())


class _Dumper(Dumper):
    """Texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
