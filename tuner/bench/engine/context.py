"""A target app's folder as the engine gets it for a build, and the hash of its content."""

import hashlib
import io
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from docker.utils import exclude_paths

from tuner.bench.measurement import target_failed
from tuner.nouns.model import FailureCode

_NEVER = ["**/__pycache__", "**/*.pyc", ".git"]  # they change while the app stays the same


@dataclass(frozen=True, slots=True)
class Context:
    """The files of a build, with their content."""

    files: tuple[tuple[str, int, bytes], ...]  # path, mode, content

    @property
    def sha256(self) -> str:
        """Depends on each file's name, mode and content only."""
        digest = hashlib.sha256()
        for path, mode, content in self.files:
            digest.update(f"{path}\0{mode:o}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()

    def tag(self, app: str, base: str, part: str = "") -> str:
        """The name of its image on the base with that id; `part` is its folder within the app."""
        name = hashlib.sha256(f"{self.sha256} {base}".encode()).hexdigest()[:16]
        suffix = f"-{_safe(part)}" if part else ""
        return f"uwsgi-tuner/target-{app}{suffix}:{name}"

    def archive(self) -> bytes:
        """A tar for the engine."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for path, mode, content in self.files:
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode = len(content), mode
                tar.addfile(entry, io.BytesIO(content))
        return buffer.getvalue()


def read(folder: Path) -> Context:
    """Read a folder without the files in its `.dockerignore`. Raises `TargetFailed`."""
    if not (folder / "Dockerfile").is_file():
        raise target_failed(FailureCode.BUILD_FAILED, f"there is no Dockerfile in {folder}")
    ignore = folder / ".dockerignore"
    lines = ignore.read_text().splitlines() if ignore.is_file() else []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    paths = sorted(exclude_paths(str(folder), [*patterns, *_NEVER], dockerfile="Dockerfile"))
    regular = [path for path in paths if (folder / path).is_file()]
    return Context(
        tuple(
            (path, (folder / path).stat().st_mode & 0o777, (folder / path).read_bytes())
            for path in regular
        )
    )


def _safe(folder: str) -> str:
    """A folder's path as part of an image's name."""
    return re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-") or "part"
