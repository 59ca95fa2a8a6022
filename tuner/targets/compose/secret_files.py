"""The `secrets` of a service: where the worker finds each one, and never its value."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from tuner.nouns.model.needs import SECRETS
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings

_OPEN = "all users of its container can read it"


def secrets_of(
    name: str, service: Node, root: Node, place: Callable[[Path], str], findings: Findings
) -> dict[str, dict[str, str]]:
    """The `secrets` of target.yaml. `place` gives the name that a file has there."""
    found = {}
    for node in service.get("secrets").each():
        source = node.text or node.text_of("source")
        path = PurePosixPath(SECRETS, node.text_of("target") or source)
        what = f"{name}.secrets.{path.name}"
        if path.parent != PurePosixPath(SECRETS):
            findings.changed(what, f"its file is {SECRETS}/{path.name}")
        for key in sorted({"uid", "gid", "mode"} & {*node.items()}):
            findings.left_out(f"{what}.{key}", _OPEN)
        given = root.get("secrets", source)
        if file := given.text_of("file"):
            place_of_it = (given.file.parent / Path(file).expanduser()).resolve()
            found[path.name] = {"file": place(place_of_it)}
            if not place_of_it.is_file():
                findings.todo(what, f"{file} is not there: the worker reads it at its start")
        elif variable := given.text_of("environment"):
            found[path.name] = {"from_worker": variable}
            why = "a secret that the compose file does not hold: the worker's environment needs it"
            findings.todo(f"{what} = {{from_worker: {variable}}}", why)
        else:
            why = "the compose file names no source: give {file: NAME} or {from_worker: NAME}"
            findings.todo(what, why)
    return found
