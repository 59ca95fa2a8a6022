"""The answer of a job as a second compose file for the service: the form that its options have."""

from collections.abc import Mapping
from typing import Any

from tuner.targets.answers import Answer, Recommended
from tuner.targets.compose.asking import Wanted, chosen, compose_of
from tuner.targets.compose.document import Node
from tuner.targets.compose.environment import with_env_files
from tuner.targets.compose.mounts import file_at, mounts_of, only_ini, text_at
from tuner.targets.compose.starting import command_of, config_files, words_of
from tuner.targets.yaml_text import yaml_text
from tuner.uwsgi.command_line import with_options, words_for_uwsgi
from tuner.uwsgi.options import known
from tuner.uwsgi.places import variables_beside

_TO_IMAGE = "no file of the host has the options of {}: put the changed lines into a new image"


def override(
    wanted: Wanted, recommended: Recommended, box: Mapping[str, Any]
) -> tuple[str, Answer]:
    """The service, and its override with the limits in `box`. Raises `InvalidInput`."""
    compose = compose_of(wanted)
    services = {
        name: with_env_files(node, compose.variables) for name, node in compose.services().items()
    }
    name = chosen(wanted, compose, services)
    found, part = _changed(name, services[name], compose.root, recommended)
    text = yaml_text({"services": {name: {**part, **box}}})
    return name, Answer(text, found.remarks, found.homeless)


def _changed(
    name: str, service: Node, root: Node, recommended: Recommended
) -> tuple[Answer, dict[str, Any]]:
    """What to know, and the part of the service that sets the options."""
    options = words_for_uwsgi(command_of(service)) or []
    mounts, path = mounts_of(service, root), next(config_files(options), "")
    file = file_at(mounts, path) if path else only_ini(mounts)
    environment = service.get("environment").items()
    there = [variable for variable in environment if "UWSGI" in variable]
    if file is not None:
        return Answer("", [f"write the file into {file}: take --form ini"]), {}
    if path and text_at(mounts, path) is not None:
        return Answer("", [f"{path} is a config of the compose file: take --form ini for it"]), {}
    if options and not path:
        return _command(name, service, options, recommended)
    if there:
        placed = variables_beside(recommended.changes, recommended.places, there)
        part = {variable: _literal(value) for variable, value in placed.placed.items()}
        out = [f"take {variable} out of the environment of {name}" for variable in placed.out]
        return Answer("", out, placed.homeless), {"environment": part} if part else {}
    return _homeless(name, recommended), {}


def _command(
    name: str, service: Node, options: list[str], recommended: Recommended
) -> tuple[Answer, dict[str, Any]]:
    words = words_of(service.get("command"))
    head = words[: len(words) - len(options)]
    new = with_options(options, recommended.values, known())
    is_fixed = not any(word.used for word in service.get("command").walk())
    if new is None or words[len(head) :] != options or not is_fixed:
        return _homeless(name, recommended), {}
    changed = [*map(_literal, head), *map(_literal, new)]
    return Answer(""), {"command": changed} if recommended.changes else {}


def _homeless(name: str, recommended: Recommended) -> Answer:
    lines = [
        f"{c.option}: take it out" if c.value is None else f"{c.option} = {c.value}"
        for c in recommended.changes
    ]
    return Answer("", [_TO_IMAGE.format(name)] if lines else [], lines)


def _literal(text: str) -> str:
    """Compose puts variables in for $NAME."""
    return text.replace("$", "$$")
