"""Target apps and search spaces, read from their folders; reports all mistakes at once.

`python -m tuner.targets.catalogue` prints the JSON schema of a search space. Editors read it from
`search_spaces/schema.json`.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from tuner.nouns.errors import InvalidInput, Mistake, NotFound
from tuner.nouns.model import SearchSpace, TargetApp, mistakes_of
from tuner.nouns.model.named_files import expanded

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class CataloguedApp:
    """A target app, its folder, and its present uwsgi.ini."""

    app: TargetApp
    folder: Path
    baseline_ini: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCatalogue:
    """All target apps and search spaces of this host, by name."""

    apps: Mapping[str, CataloguedApp]
    spaces: Mapping[str, SearchSpace]

    @classmethod
    def load(
        cls,
        target_app_dirs: Sequence[Path] = (),
        search_space_dirs: Sequence[Path] = (),
        *,
        with_own: bool = True,
    ) -> "HostCatalogue":
        """Read the product's own folders (unless `with_own` is False) and the given ones.

        Raises `InvalidInput` with every mistake of every file, each with the file's path.
        """
        own_apps = [own_data("target_apps")] if with_own else []
        own_spaces = [own_data("search_spaces")] if with_own else []
        reader = _FileReader()
        for folder in _app_folders([*own_apps, *target_app_dirs]):
            reader.read_app(folder)
        for file in _space_files([*own_spaces, *search_space_dirs]):
            reader.read_space(file)
        if reader.mistakes:
            raise InvalidInput(reader.mistakes)
        return cls(apps=reader.apps, spaces=reader.spaces)

    def build_dir(self, name: str) -> Path:
        """The folder with that app's Dockerfile. Raises `NotFound`."""
        found = self.apps.get(name)
        if found is None or found.app.build is None:
            raise NotFound(f"this host has no target app {name!r} to build; see TUNER_TARGET_APPS")
        return (found.folder / found.app.build).resolve()

    def secret_files(self) -> dict[str, str]:
        """The secrets of all target apps in files, as app/file. One that is no text is left out."""
        found = {}
        for name, each in self.apps.items():
            for file in each.app.secret_files:
                with suppress(OSError, UnicodeDecodeError):
                    found[f"{name}/{file}"] = (each.folder / file).read_bytes().decode()
        return found

    def app_dir(self, name: str) -> Path:
        """The folder with that app's target.yaml. Raises `NotFound`."""
        if name not in self.apps:
            raise NotFound(f"this host has no target app {name!r}; see TUNER_TARGET_APPS")
        return self.apps[name].folder.resolve()


def own_data(kind: str) -> Path:
    """The product's own `search_spaces`, `target_apps` or `migrations`.

    They are beside the package in a checkout, and inside it in an installed wheel.
    """
    package = Path(__file__).resolve().parents[1]
    inside = package / "_data" / kind
    return inside if inside.is_dir() else package.parent / kind


def search_space_schema() -> dict[str, Any]:
    """The JSON schema of a search-space file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **SearchSpace.model_json_schema(),
    }


def _app_folders(parents: Sequence[Path]) -> Iterator[Path]:
    found = chain.from_iterable(sorted(parent.glob("*/target.yaml")) for parent in parents)
    return (file.parent for file in found if not file.parent.name.startswith(("_", ".")))


def _space_files(parents: Sequence[Path]) -> Iterator[Path]:
    return chain.from_iterable(sorted(parent.glob("*.yaml")) for parent in parents)


def _text_beside(file: Path, name: str) -> str:
    return (file.parent / name).read_text(encoding="utf-8")


@dataclass(slots=True)
class _FileReader:
    """Reads file after file and collects the mistakes."""

    apps: dict[str, CataloguedApp] = field(default_factory=dict)
    spaces: dict[str, SearchSpace] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    _sources: dict[tuple[str, str], Path] = field(default_factory=dict)

    def read_app(self, folder: Path) -> None:
        file = folder / "target.yaml"
        app = self._parse(file, TargetApp)
        if app is None:
            return
        if app.name != folder.name:
            self._wrong(file, f"name: {app.name!r} is not the folder's name {folder.name!r}")
        if app.build is not None and not (folder / app.build / "Dockerfile").is_file():
            self._wrong(file, f"build: there is no Dockerfile in {folder / app.build}")
        for name, service in app.services.items():
            part = folder / (app.build or "") / (service.build or "")
            if service.build is not None and not (part / "Dockerfile").is_file():
                self._wrong(file, f"services.{name}.build: there is no Dockerfile in {part}")
        for path, volume in app.copies():
            if not (folder / volume.source).is_dir():
                self._wrong(file, f"{path}: there is no folder {folder / volume.source}")
        baseline_ini = self._text(folder / app.uwsgi_ini)
        if baseline_ini is not None and self._is_new("target app", app.name, file):
            self.apps[app.name] = CataloguedApp(app=app, folder=folder, baseline_ini=baseline_ini)

    def read_space(self, file: Path) -> None:
        space = self._parse(file, SearchSpace)
        if space is None:
            return
        if space.name != file.stem:
            self._wrong(file, f"name: {space.name!r} is not the file's name {file.stem!r}")
        if self._is_new("search space", space.name, file):
            self.spaces[space.name] = space

    def _parse(self, file: Path, model: type[Model]) -> Model | None:
        text = self._text(file)
        if text is None:
            return None
        try:
            document = expanded(yaml.safe_load(text), partial(_text_beside, file))
            return model.model_validate(document)
        except yaml.YAMLError as error:
            self._wrong(file, f"not YAML: {' '.join(str(error).split())}")
        except ValidationError as error:
            for path, message in mistakes_of(error, model):
                self._wrong(file, f"{path}: {message}" if path else message)
        except ValueError as error:  # a file that it names
            self._wrong(file, str(error))
        return None

    def _text(self, file: Path) -> str | None:
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            self._wrong(file, error.strerror or "cannot be read")
        except UnicodeDecodeError:
            self._wrong(file, "is not UTF-8 text")
        return None

    def _is_new(self, kind: str, name: str, file: Path) -> bool:
        first = self._sources.setdefault((kind, name), file)
        if first != file:
            self._wrong(file, f"the {kind} {name!r} is already defined in {first}")
        return first == file

    def _wrong(self, file: Path, message: str) -> None:
        self.mistakes.append(Mistake(str(file), message))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(search_space_schema(), indent=2) + "\n")
