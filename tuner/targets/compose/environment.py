"""The environment of a service: from its env files and its own lines, without secrets."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from tuner.nouns.errors import InvalidInput
from tuner.nouns.masking import holds_secret
from tuner.nouns.model.needs import SECRETS, ImageName
from tuner.targets.compose.document import Node, example_of, how_to_give, text_of
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.interpolation import Source, Use, Variables, raw_env_file

_FROM_WORKER = (
    "a secret that target.yaml does not hold: the worker's environment needs it, and its"
    " TUNER_SECRETS_ALLOWED must name it"
)
_SWITCHES = frozenset({"yes", "no", "true", "false", "on", "off", "0", "1"})
_FROM_OUTSIDE = (Source.SHELL, Source.MISSING)


def with_env_files(service: Node, variables: Variables) -> Node:
    """The service with one `environment`: all its env files, and then its own lines.

    A name without a value gets that of the shell or of `.env`.
    """
    found: dict[str, Node] = {}
    for node, file in _files(service):
        try:
            text = text_of(file)
        except InvalidInput:
            continue  # `name_missing` tells
        is_raw = node.text_of("format") == "raw"
        read = raw_env_file if is_raw else variables.env_file
        for name, value in read(text).items():
            path = f"{service.path}.environment.{name}"
            own = Node(None, file, node.line, path)
            found[name] = replace(own, value=value.text, used=value.used) if value else own
    found |= service.get("environment").pairs()
    whole = {name: _passed_on(name, node, variables) for name, node in found.items()}
    environment = Node(dict(whole), service.file, service.line, f"{service.path}.environment")
    return replace(service, value={**service.items(), "environment": environment})


def name_missing(name: str, service: Node, findings: Findings) -> None:
    """Say which env files are not there."""
    for node, file in _files(service):
        if file.is_file():
            continue
        if node.text_of("required").lower() == "false":
            findings.left_out(f"{name}.env_file {file}", "it is not there, and need not be")
        else:
            how = example_of(file) or ": put the variables that the container needs into `env`"
            findings.todo(f"{name}.env_file {file}", f"it is not there{how}")


def env_of(name: str, service: Node, findings: Findings) -> dict[str, Any]:
    """The `env` of target.yaml."""
    found, open_secrets, empty = dict[str, Any](), list[str](), list[str]()
    for key, node in service.get("environment").items().items():
        what = f"{name}.env.{key}"
        if _is_from_worker(key, node):
            variable = _variable(key, node)
            found[key] = {"from_worker": variable}
            findings.todo(f"{what} = {{from_worker: {variable}}}", _FROM_WORKER)
        elif node.value is None:
            why = "it has no value in the shell and in .env: as with Compose, it is not set"
            if holds_secret(key, ""):
                findings.todo(what, f"{why}. Give {{from_worker: NAME}} if the app needs it")
            else:
                findings.left_out(what, why)
        else:
            found[key] = node.text
            name_empty(what, node, findings)
            if holds_secret(key, node.text) and node.text.lower() not in _SWITCHES:
                (open_secrets if node.text else empty).append(key)
    if empty:
        why = "empty, as in the file: give {from_worker: NAME} if production has a value"
        findings.changed(f"{name}.env {', '.join(empty)}", why)
    if open_secrets:
        why = (
            "their values are in target.yaml, as in the file, and only you can read it:"
            " replace those of production"
            " by others or by {from_worker: NAME}"
        )
        findings.changed(f"{name}.env {', '.join(open_secrets)}", why)
    return found


def check_image(service: Node, findings: Findings) -> None:
    """Refuse an image that has no name, for example as a variable in it has no value."""
    image = service.get("image")
    if any(use.source is Source.REQUIRED for use in image.used):
        return  # `missing` tells
    try:
        ImageName.parse(image.text)
    except ValueError as error:
        without = [use.name for use in image.used if use.source is Source.MISSING]
        if without:
            names = ", ".join(without)
            told = f"{names} has no value in the shell and in .env: {how_to_give(image)}"
        else:
            told = str(error)
        findings.mistakes.append(image.mistake(told))


def name_empty(what: str, node: Node, findings: Findings) -> None:
    """Say which variables of a value nothing has."""
    for use in node.used:
        if use.source is Source.MISSING:
            findings.todo(what, f"{use.name} has no value in the shell and in .env: it is empty")


def refuse_secrets(service: Node, findings: Findings) -> None:
    """Refuse secrets of the shell outside of the environment: target.yaml would hold them."""
    for key, value in service.items().items():
        if key == "environment":
            continue
        for node in value.walk():
            refuse_secret(node, findings)


def refuse_secret(node: Node, findings: Findings) -> None:
    """Refuse a value with secrets of the shell."""
    why = "is a secret of the shell: give it another value for the arms, in .env"
    for use in _secrets(node):
        if use.source is Source.SHELL:
            findings.mistakes.append(node.mistake(f"{use.name} {why}"))


def _files(service: Node) -> Iterator[tuple[Node, Path]]:
    for node in service.get("env_file").each():
        yield node, node.host_path(node.text or node.text_of("path"))


def _passed_on(name: str, node: Node, variables: Variables) -> Node:
    if node.value is not None:
        return node
    use = variables.find(name)
    is_known = use.source is not Source.MISSING
    return replace(node, value=use.value if is_known else None, used=(use,) if is_known else ())


def _secrets(node: Node) -> Iterator[Use]:
    outside = (use for use in node.used if use.source in _FROM_OUTSIDE)
    yield from (use for use in outside if holds_secret(use.name, use.value))


def _is_from_worker(key: str, node: Node) -> bool:
    if any(use.source is Source.STORE for use in node.used):
        return True
    from_outside = any(use.source in _FROM_OUTSIDE for use in node.used)
    return (from_outside and holds_secret(key, node.text)) or any(_secrets(node))


def _variable(key: str, node: Node) -> str:
    """The variable of the compose file if it is the whole value: then two services can share it."""
    match node.used:
        case [use] if use.value == node.text:
            return use.name
        case _:
            return re.sub(r"\W", "_", key)


# ---- The `secrets` of a service: where the worker finds each one, and never its value

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
            place_of_it = given.host_path(file).resolve()
            found[path.name] = {"file": place(place_of_it)}
            if not place_of_it.is_file():
                findings.todo(what, f"{file} is not there: the worker reads it at its start")
        elif variable := given.text_of("environment"):
            found[path.name] = {"from_worker": variable}
            findings.todo(f"{what} = {{from_worker: {variable}}}", _FROM_WORKER)
        else:
            why = "the compose file names no source: give {file: NAME} or {from_worker: NAME}"
            findings.todo(what, why)
    return found
