"""What an image is made from: its own name, or the folder of its Dockerfile."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from tuner.targets.compose.document import Node, text_of
from tuner.targets.compose.findings import Findings

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
