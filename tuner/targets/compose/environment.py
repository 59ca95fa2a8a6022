"""The environment of a service: from its env files and its own lines, without secrets."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from tuner.nouns.errors import InvalidInput
from tuner.nouns.masking import holds_secret
from tuner.nouns.model.needs import SECRETS
from tuner.targets.compose.document import Node, Source, Use, Variables, text_of
from tuner.targets.compose.findings import Findings

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
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
        for name, value in variables.env_file(text).items():
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
            why = "it is not there: put the variables that the container needs into `env`"
            findings.todo(f"{name}.env_file {file}", why)


def env_of(name: str, service: Node, findings: Findings) -> dict[str, Any]:
    """The `env` of target.yaml."""
    found, open_secrets = dict[str, Any](), list[str]()
    for key, node in service.get("environment").items().items():
        what = f"{name}.env.{key}"
        if not _NAME.fullmatch(key):
            why = "target.yaml has no such names of variables: give it in another way if it counts"
            findings.todo(what, why)
        elif _is_from_worker(key, node):
            variable = _variable(key, node)
            found[key] = {"from_worker": variable}
            why = "a secret that the compose file does not hold: the worker's environment needs it"
            findings.todo(f"{what} = {{from_worker: {variable}}}", why)
        elif node.value is None:
            findings.left_out(what, "it has no value in the shell and in .env")
        else:
            found[key] = node.text
            name_empty(what, node, findings)
            if holds_secret(key, node.text) and node.text.lower() not in _SWITCHES:
                open_secrets.append(key)
    if open_secrets:
        why = (
            "their values are in target.yaml, as in the compose file, and only you can read it:"
            " replace those of production"
            " by others or by {from_worker: NAME}"
        )
        findings.changed(f"{name}.env {', '.join(open_secrets)}", why)
    return found


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
            for use in _secrets(node):
                why = "is a secret of the shell: give it another value for the arms, in .env"
                if use.source is Source.SHELL:
                    findings.mistakes.append(node.mistake(f"{use.name} {why}"))


def _files(service: Node) -> Iterator[tuple[Node, Path]]:
    given = service.get("env_file")
    for node in [given] if given.items() else given.each():
        yield node, node.file.parent / Path(node.text or node.text_of("path")).expanduser()


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
    from_outside = any(use.source in _FROM_OUTSIDE for use in node.used)
    is_secret = holds_secret(key, node.text)
    return (is_secret and (not node.text or from_outside)) or any(_secrets(node))


def _variable(key: str, node: Node) -> str:
    """The variable of the compose file if it is the whole value: then two services can share it."""
    match node.used:
        case [use] if use.value == node.text:
            return use.name
        case _:
            return key


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
