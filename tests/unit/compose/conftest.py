"""A folder as a test writes it, and what `tuner app init` makes there."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import TargetApp
from tuner.targets.catalogue import HostCatalogue
from tuner.targets.compose import Draft, Wanted, draft, write

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Made:
    """The target app as the catalogue reads it, its present file, and the notes."""

    app: TargetApp
    ini: str
    notes: dict[str, str]
    text: str
    draft: Draft


def made(
    folder: Path = Path(), environ: Mapping[str, str] | None = None, **options: object
) -> Made:
    """The folder after `init`, read back by the catalogue."""
    found = draft(Wanted(folder=folder, environ=environ or {}, **options))  # type: ignore[arg-type]
    write(found, folder)
    whole = folder.resolve()
    known = HostCatalogue.load([whole.parent], with_own=False).apps[whole.name]
    notes = {note.what: f"{note.kind}: {note.why}" for note in found.findings.notes}
    text = (folder / "target.yaml").read_text()
    return Made(known.app, known.baseline_ini, notes, text, found)


def mistakes(folder: Path = Path(), **options: object) -> list[str]:
    """All mistakes of one `init`."""
    with pytest.raises(InvalidInput) as error:
        draft(Wanted(folder=folder, **options))  # type: ignore[arg-type]
    return [str(mistake) for mistake in error.value.mistakes]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a folder the current one: a copy of `files/<name>`, or with the given texts."""

    def enter(name: str = "shop", **texts: str) -> Path:
        folder = tmp_path / name
        if texts:
            folder.mkdir()
        else:
            shutil.copytree(FILES / name, folder)
        for key, text in texts.items():
            (folder / _FILES[key]).write_text(text)
        monkeypatch.chdir(folder)
        return folder

    return enter


_FILES = {"compose": "compose.yml", "ini": "uwsgi.ini", "env": ".env", "docker": "Dockerfile"}
