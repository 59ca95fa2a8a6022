"""How target.yaml calls files and folders of the host: what is elsewhere is copied beside it."""

from dataclasses import dataclass, field
from pathlib import Path

from tuner.nouns.errors import Mistake
from tuner.targets.compose.document import text_of
from tuner.targets.compose.findings import Findings


@dataclass(slots=True)
class Places:
    """The names in the app's folder. `texts` and `folders` are still to be written there."""

    home: Path
    findings: Findings
    texts: dict[str, str] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)

    def of_text(self, part: str, file: Path, wanted: str = "") -> str:
        """The name of a text file of a part of the app."""
        file = file.resolve()
        if file.is_relative_to(self.home):
            return file.relative_to(self.home).as_posix()
        text = text_of(file)
        for place in (wanted or file.name, f"{part}-{file.parent.name}-{file.name}"):
            if self.texts.setdefault(place, text) == text:
                return place
        return self._taken(file)

    def of_folder(self, part: str, folder: Path) -> str:
        """The name of a folder with data of a part of the app."""
        if folder.is_relative_to(self.home):
            return f"./{folder.relative_to(self.home).as_posix()}"
        for place in (folder.name, f"{part}-{folder.name}"):
            if place not in self.texts and self.folders.setdefault(place, folder) == folder:
                return f"./{place}"
        return self._taken(folder)

    def _taken(self, path: Path) -> str:
        told = "has the name of another file: rename one of them"
        self.findings.mistakes.append(Mistake(str(path), told))
        return path.name
