"""Where the files of a container are: in mounts, in the folder of its build, or in its image."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.dockerfile import Dockerfile, beside
from tuner.targets.compose.document import is_path, text_of
from tuner.targets.compose.mounts import Mount, file_at, text_at


@dataclass(frozen=True, slots=True)
class Found:
    """A text of a container. Without a `file` of the host it is of a config or of the image."""

    text: str
    name: str
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one container. `in_image` gives the image's text for a path.

    Without a build, a file of the `checkout` with a name that no other has may be that of an image.
    """

    mounts: list[Mount]
    build: Dockerfile | None
    in_image: Callable[[str], str | None]
    checkout: Path | None = None
    guessed: dict[str, Path] = field(default_factory=dict)  # files of the checkout, by their paths
    read: dict[str, Found | None] = field(default_factory=dict)  # a script asks for one many times

    def text(self, path: str) -> Found | None:
        """The text at a path of the container; None if it is nowhere, or no text."""
        if path not in self.read:
            self.read[path] = self._text(path) if is_path(path) else None
        return self.read[path]

    def _text(self, path: str) -> Found | None:
        if (text := text_at(self.mounts, path)) is not None:
            return Found(text, path)
        file = self.file(path)
        try:
            if file is not None:
                return Found(text_of(file), shown(file), file)
            text = self.in_image(path)
            if text is None and (guess := self._guess(path)) is not None:
                self.guessed[path] = guess
                return Found(text_of(guess), shown(guess), guess)
        except InvalidInput:
            return None
        return None if text is None else Found(text, f"{path} in the image")

    def file(self, path: str) -> Path | None:
        """The file of the host that is there, or likely to be there."""
        if (found := file_at(self.mounts, path)) is not None:
            return found
        if self.build is None:
            return None
        copied = self.build.find(str(PurePosixPath(self.build.folder, path)))
        if copied is not None and copied.is_file():
            return copied
        return beside(self.build.context, path)

    def _guess(self, path: str) -> Path | None:
        if self.checkout is None or self.build is not None:
            return None
        return beside(self.checkout, path)

    def folder(self, path: str) -> Path | None:
        """The folder of the host that is there."""
        wanted = PurePosixPath(path)
        for mount in self.mounts:
            if mount.kind == "bind" and wanted.is_relative_to(mount.target):
                found = mount.host / wanted.relative_to(mount.target)
                if found.is_dir():
                    return found
        found_too = self.build.find(path) if self.build else None
        return found_too if found_too is not None and found_too.is_dir() else None


def shown(file: Path) -> str:
    """As a user calls it, from the present folder."""
    here = Path.cwd()
    return str(file.relative_to(here)) if file.is_relative_to(here) else str(file)
