"""Building an image, and knowing that it need not be built again."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.provision.machine import Machine

# On the image, so that a changed Dockerfile or parent is noticed. Not `tuner`: containers inherit
# an image's labels, and whatever carries that one is reaped.
_RECIPE_LABEL = "org.uwsgi-tuner.recipe"


@dataclass(frozen=True)
class Recipe:
    """All that decides what an image holds.

    `files` are those of its context, `Dockerfile` among them, under the names they have there.
    """

    tag: str
    files: Mapping[str, Path]
    arguments: Mapping[str, str]
    parent_id: str = ""

    @property
    def digest(self) -> str:
        sha = hashlib.sha256(self.parent_id.encode())
        for name, path in sorted(self.files.items()):
            sha.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        for name, value in sorted(self.arguments.items()):
            sha.update(f"{name}={value}\0".encode())
        return sha.hexdigest()[:16]


def image_id(machine: Machine, tag: str) -> str | None:
    """The id of a local image, None when there is none."""
    return _inspect(machine, tag, "{{.Id}}")


def is_current(machine: Machine, recipe: Recipe) -> bool:
    template = f'{{{{index .Config.Labels "{_RECIPE_LABEL}"}}}}'
    return _inspect(machine, recipe.tag, template) == recipe.digest


def build(machine: Machine, recipe: Recipe, *, doing: str, todo: str) -> None:
    """Build the image from exactly the recipe's files.

    Builds use the host's network: on some machines only that one reaches a package index.
    Raises StepFailed.
    """
    with (
        machine.steps.slow(doing, f"{recipe.tag} built"),
        tempfile.TemporaryDirectory(prefix="uwsgi-tuner-build-") as folder,
    ):
        context = Path(folder)
        for name, path in recipe.files.items():
            (context / name).write_bytes(path.read_bytes())
            (context / name).chmod(path.stat().st_mode & 0o777)
        arguments = [
            f"--build-arg={name}={value}" for name, value in sorted(recipe.arguments.items())
        ]
        label = f"{_RECIPE_LABEL}={recipe.digest}"
        options = ["--network=host", "--label", label, *arguments, "-t", recipe.tag]
        machine.commands.must(
            ["docker", "build", *options, folder],
            what=f"image {recipe.tag}",
            todo=todo,
            timeout_s=900,
        )


def _inspect(machine: Machine, tag: str, template: str) -> str | None:
    finished = machine.run(["docker", "image", "inspect", "--format", template, tag])
    return finished.output.strip() if finished.ok else None
