"""From which image a container is, which words start it, and where these start uWSGI."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.calls import Call, Trail
from tuner.targets.compose.dockerfile import Dockerfile, Entry, dockerfile_of
from tuner.targets.compose.document import Node
from tuner.targets.compose.environment import check_image
from tuner.targets.compose.files import Files
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.following import follow
from tuner.uwsgi.command_line import arguments, is_file
from tuner.uwsgi.options import known

# ---- What an image is made from: its own name, or the folder of its Dockerfile

BUILT_FROM = "x-uwsgi-tuner-built-from"
"""The build that is likely to make an image that a service only names."""

_IN_ANY_BUILD = frozenset({"context", "dockerfile", "labels", "cache_from", "cache_to"})


def source_of(
    name: str, service: Node, project: str, place: Callable[[Path], str | None], findings: Findings
) -> dict[str, str]:
    """`build` or `image`. `place` is how target.yaml calls a folder; None if it cannot."""
    build, image = service.get("build"), image_of(name, service, project)
    if not build:
        return _image(image, service, findings) if service.get("image") else {}
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
    return _image(image, service, findings)


def _image(image: str, service: Node, findings: Findings) -> dict[str, str]:
    if service.get("image"):
        check_image(service, findings)
    return {"image": image}


def image_of(name: str, service: Node, project: str) -> str:
    """The image's own name, or the one that `docker compose build` gives it."""
    return service.text_of("image") or f"{project}-{name}"


def context_of(build: Node) -> Path | None:
    """The folder of a build; None without one."""
    text = build.text or build.text_of("context") or "."
    return build.host_path(text).resolve() if build else None


def dockerfile_for(service: Node) -> Dockerfile | None:
    """What the Dockerfile of a service's build says; None without one."""
    build = service.get("build") or service.get(BUILT_FROM)
    context = context_of(build)
    if context is None:
        return None
    return dockerfile_of(context, build.text_of("dockerfile"), build.text_of("target"))


# ---- How a container starts its uWSGI

GIVE = "give the present configuration with --ini FILE, or what starts uwsgi with --command"
_PULL = "run `docker pull` or `docker compose build` first, as an image that is here is read"


def words_of(node: Node) -> list[str]:
    """A command of a compose file: a list, or a text as a shell splits it."""
    if not isinstance(node.value, str):
        return [each.text for each in node.each()]
    try:
        return shlex.split(node.text)
    except ValueError:
        return node.text.split()


def command_of(service: Node, of_image: Entry | None = None) -> list[str]:
    """ENTRYPOINT and CMD of a container: those of the compose file, the Dockerfile, the image."""
    entrypoint, command, own = service.get("entrypoint"), service.get("command"), Entry()
    if not entrypoint:
        build = dockerfile_for(service)
        own = (build.entry if build else None) or of_image or own
    first = words_of(entrypoint) or own.get("ENTRYPOINT", [])
    rest = words_of(command) if command else own.get("CMD", [])
    if not first and len(rest) == 1 and re.search(r"\s", rest[0]):
        return ["/bin/sh", "-c", *rest]  # one word with blanks is for the shell of an unknown image
    return [*first, *rest]


def trail_of(service: Node, words: Sequence[str], files: Files) -> Trail:
    """Where the words of a service start uWSGI."""
    own = variables_of(service, None)
    variables = variables_of(service, files.build)
    sources = {name: _source(name in own) for name in variables}
    return follow(words, variables, sources, folder_of(service, files.build), files.text)


def variables_of(service: Node, build: Dockerfile | None) -> dict[str, str]:
    """The variables of a container: those of its Dockerfile, and its own."""
    own = service.get("environment").items()
    known = {name: node.text for name, node in own.items() if node.value is not None}
    return {**(build.env if build else {}), **known}


def config_files(options: Sequence[str]) -> Iterator[str]:
    """The files from which uWSGI reads options."""
    for each in arguments(options, known()):
        word = each if isinstance(each, str) else each.value or ""
        is_config = isinstance(each, str) or each.name in ("ini", "yaml", "xml", "json", "config")
        if is_config and is_file(word):
            yield word


def _source(is_own: bool) -> str:
    return "the environment" if is_own else "ENV of the Dockerfile"


def folder_of(service: Node, build: Dockerfile | None) -> str:
    """The folder in which a container starts; empty if only its image knows."""
    return service.text_of("working_dir") or (build.folder if build else "")


def call_of(trail: Trail, given: Path | None, at: str) -> Call | None:
    """The call of uWSGI that counts; None without one. Raises `InvalidInput` for several."""
    calls = list({call.options: call for call in trail.calls}.values())
    if sure := [call for call in calls if call.is_sure]:
        calls = sure
    if len(calls) > 1 and given is not None:
        named = [call for call in calls if any(given.name in word for word in call.options)]
        calls = named if len(named) == 1 else calls
    if len(calls) > 1:
        places = " and ".join(f"{call.at or at}: `{shlex.join(call.words)}`" for call in calls)
        told = "several lines start uwsgi: give the one that counts with --command"
        raise InvalidInput.at(at, f"{told}: {places}")
    return calls[0] if calls else None


def why_no_call(words: Sequence[str], trail: Trail) -> str:
    """Why nothing shows how uWSGI starts, and what to do."""
    if words:
        lost = "".join(f"; {each}" for each in trail.lost)
        what = f"{_PULL}, or {GIVE}" if lost else GIVE
        return f"`{shlex.join(words)}` does not show how uwsgi starts{lost}: {what}"
    return f"no command: {_PULL}, or {GIVE}"
