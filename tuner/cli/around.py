"""What stands around uWSGI: its image, nginx in front of it, and what stops its container."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from tuner.uwsgi.lint import TimeLimit

NGINX_READS_S = 60.0
"""nginx's own `proxy_read_timeout` and `uwsgi_read_timeout`."""

COMPOSE_GRACE_S = 10.0
POD_GRACE_S = 30.0
SIGTERM = ("SIGTERM", "TERM", "15")

_PASSES = {"proxy_pass": "proxy_read_timeout", "uwsgi_pass": "uwsgi_read_timeout"}
_UNITS_S = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(?:[0-9]++(?:\.[0-9]++)?(?:ms|[smhd])?\s*+)+")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhd]?)")
_TOKEN = re.compile(r"#[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[{};]|[^\s{};]+|\n")
_MOST_CHARACTERS = 1_000_000


def seconds_of(text: str) -> float | None:
    """A duration as nginx and compose write it: `90`, `1m30s`, `500ms`; None for another text."""
    if not _DURATION.fullmatch(text.strip()):
        return None
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text))


# ---- nginx: how long it waits for the app. A block has the limits of the blocks around it


def nginx_limit(text: str, name: str) -> TimeLimit | None:
    """The longest time that a location waits for its app; None where no location has one.

    `name` is that of the file. Includes are not read. Raises `ValueError`.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"it has more than {_MOST_CHARACTERS} characters")
    return max(_of_locations(text, name), key=lambda limit: limit.seconds, default=None)


def _of_locations(text: str, name: str) -> Iterator[TimeLimit]:
    blocks: list[_Block] = [_Block({}, [])]
    for words, line, sign in _directives(text):
        if sign == "{":
            blocks.append(_Block({}, []))
        elif sign == "}":
            if len(blocks) == 1:
                raise ValueError(f"line {line}: this }} closes no block")
            yield from _closed(blocks, name)
            blocks.pop()
        elif len(words) > 1 and words[0] in _PASSES.values():
            blocks[-1].limits[words[0]] = (words[1], line)
        elif len(words) > 1 and words[0] in _PASSES:
            blocks[-1].passes.append((words[0], line))
    if len(blocks) > 1:
        raise ValueError("a block has no end")
    yield from _closed(blocks, name)


@dataclass(frozen=True, slots=True)
class _Block:
    limits: dict[str, tuple[str, int]]
    passes: list[tuple[str, int]]


def _closed(blocks: Sequence[_Block], name: str) -> Iterator[TimeLimit]:
    """The limits of the innermost block, each its own or the nearest one around it."""
    for directive, line in blocks[-1].passes:
        limit = _PASSES[directive]
        given = [block.limits[limit] for block in blocks if limit in block.limits]
        value, at = given[-1] if given else (f"{NGINX_READS_S:g}", line)
        if (seconds := seconds_of(value)) is not None:
            yield TimeLimit(limit, seconds, f"{name}:{at}")


def _directives(text: str) -> Iterator[tuple[list[str], int, str]]:
    """The words of each directive, its line, and the sign that ends it: `;`, `{` or `}`."""
    words: list[str] = []
    line = began = 1
    for piece in _TOKEN.findall(text):
        if piece in ("{", "}", ";"):
            yield words, began if words else line, piece
            words = []
        elif piece != "\n" and not piece.startswith("#"):
            began = began if words else line
            words.append(piece.strip("\"'"))
        line += piece.count("\n")


def nginx_log_formats(text: str) -> list[str]:
    """The text of each `log_format`. Raises `ValueError`."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"it has more than {_MOST_CHARACTERS} characters")
    found = (words[2:] for words, _, _ in _directives(text) if words[:1] == ["log_format"])
    return ["".join(w for w in words if not w.startswith("escape=")) for words in found]


# ---- compose files and manifests: how long after SIGTERM a container is killed


def grace_of(text: str, name: str, service: str = "") -> TimeLimit | None:
    """The time between SIGTERM and SIGKILL; None where another signal than SIGTERM stops it.

    `text` is a compose file or a Kubernetes manifest called `name`; `service` names the service or
    the object, if several run uWSGI. Raises `ValueError`.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"it has more than {_MOST_CHARACTERS} characters")
    try:
        documents = [found for found in yaml.safe_load_all(text) if isinstance(found, dict)]
    except yaml.YAMLError as error:
        raise ValueError(f"this is no YAML: {' '.join(str(error).split())}") from None
    services = {str(key): of for each in documents for key, of in _services(each)}
    pods = {str(key): of for each in documents for key, of in _pods(each)}
    key, found = _chosen({**services, **pods}, service)
    if key in pods:
        grace_s = found.get("terminationGracePeriodSeconds", POD_GRACE_S)
        return _limit("terminationGracePeriodSeconds", grace_s, f"{name}, {key}")
    if str(found.get("stop_signal", "SIGTERM")) not in SIGTERM:
        return None
    grace_s = found.get("stop_grace_period", COMPOSE_GRACE_S)
    return _limit("stop_grace_period", grace_s, f"{name}, service {key}")


def _limit(option: str, value: Any, where: str) -> TimeLimit:
    seconds = seconds_of(str(value))
    if seconds is None:
        raise ValueError(f"{option} {value!r} of {where} is no duration")
    return TimeLimit(option, seconds, where)


def _services(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    services = document.get("services")
    for key, found in services.items() if isinstance(services, dict) else ():
        if isinstance(found, dict):
            yield key, found


def _pods(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The specs of pods, each under the name of its Deployment, StatefulSet, Job or pod."""
    name = _at(document, "metadata", "name") or document.get("kind", "")
    for path in (("spec",), ("spec", "template", "spec")):
        spec = _at(document, *path)
        if isinstance(spec, dict) and "containers" in spec:
            yield name, spec


def _at(document: Any, *path: str) -> Any:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _is_uwsgi(word: str) -> bool:
    return "uwsgi" in word.lower()


def _words(of: Mapping[str, Any]) -> Iterator[str]:
    """What runs in it. Nothing else is printed: aliases may make a small document endless."""
    for key in ("image", "entrypoint", "command", "args"):
        words = of.get(key)
        yield from (
            w for w in (words if isinstance(words, list) else [words]) if isinstance(w, str)
        )
    containers = of.get("containers")
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and container is not of:
            yield from _words({**container, "containers": None})


def _chosen(found: Mapping[str, Mapping[str, Any]], wanted: str) -> tuple[str, Mapping[str, Any]]:
    """The one that is named, else the only one that speaks of uWSGI, else the only one."""
    if wanted:
        if wanted not in found:
            raise ValueError(f"it has no {wanted!r}; it has: {', '.join(found) or 'none'}")
        return wanted, found[wanted]
    with_uwsgi = {key: of for key, of in found.items() if any(map(_is_uwsgi, _words(of)))}
    few = with_uwsgi or found
    if len(few) != 1:
        several = f"name one of these after a colon: {', '.join(few)}"
        raise ValueError(several if few else "it has no service and no pod")
    return next(iter(few.items()))


# ---- Dockerfiles: the environment that an image sets, from which uWSGI reads options

_TIANGOLO = {"UWSGI_INI": "/app/uwsgi.ini", "UWSGI_CHEAPER": "2", "UWSGI_PROCESSES": "16"}
_BASES = {"tiangolo/uwsgi-nginx": _TIANGOLO, "tiangolo/uwsgi-nginx-flask": _TIANGOLO}
"""ENV of widely used images, without tags: docker-images/python3.12.dockerfile in the repositories
tiangolo/uwsgi-nginx-docker and tiangolo/uwsgi-nginx-flask-docker, which is FROM the other."""

_JOINED = re.compile(r"^\s*#.*\n|\\[ \t]*\n", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


def environ_of(dockerfile: str) -> dict[str, str]:
    """ENV of the last stage and of what it is from, as far as it is known. Raises `ValueError`."""
    stages: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    environ: dict[str, str] = {}
    for line in _JOINED.sub("", dockerfile).splitlines():
        name, _, rest = line.strip().partition(" ")
        if name.upper() == "FROM":
            words = [w for w in _VARIABLE.sub(_value_in(values), rest).split() if w[:2] != "--"]
            base = words[0] if words else ""
            environ = dict(stages.get(base.lower(), _BASES.get(_repository(base), {})))
            stages[words[-1].lower() if words else ""] = environ
        elif name.upper() in {"ARG", "ENV"}:
            given = _assigned(rest, {**values, **environ})
            (environ if name.upper() == "ENV" else values).update(given)
    return environ


def _assigned(text: str, values: Mapping[str, str]) -> dict[str, str]:
    """`A=b C="d e"`, or `A b`: the form without an equals sign has one name."""
    words = shlex.split(text)
    if words and "=" not in words[0]:
        words = ["=".join(text.strip().split(maxsplit=1))] if len(words) > 1 else []
    pairs = (_VARIABLE.sub(_value_in(values), word).partition("=") for word in words)
    return {name: value for name, _, value in pairs}


def _value_in(values: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda used: values.get(used[1] or used[3]) or used[2] or ""


def _repository(image: str) -> str:
    """The name of an image on Docker Hub without its tag and digest."""
    return image.removeprefix("docker.io/").partition("@")[0].partition(":")[0]
