"""Options of `tuner measure` to the body of its request: pure, but for reading the named files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.errors import InvalidInput, Mistake
from tuner.model.url_file import expanded

Json = dict[str, Any]

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to send, as far as the command line says; None and empty leave it to the target."""

    concurrency: int | None = None
    rate: float | None = None
    burst: int | None = None
    ladder: str | None = None
    limit_s: float | None = None
    keep_alive: bool = False
    paths: Sequence[str] = ()
    urls: Path | None = None


def target_of(name: str, apps: Mapping[str, Json], port: int | None, health: str | None) -> Json:
    """A described target app by its name, else an image."""
    own = {"port": port, "health_path": health}
    given = {field: value for field, value in own.items() if value is not None}
    if name not in apps:
        return {"image": name, **given}
    if given:
        raise _mistake("--port, --health-path", f"the target app {name} brings its own")
    return {"target_app": name}


def limits_of(base: Json | None, **given: float | None) -> Json | None:
    """The target's own box with the given sizes in their place; None leaves it as it is."""
    changed = {name: value for name, value in given.items() if value is not None}
    return {**(base or {}), **changed} if changed else None


def inis_of(files: Sequence[Path]) -> list[Json]:
    """Name and text of each file; files of one name are told apart by their folders."""
    names = [file.name for file in files]
    found = []
    for file in files:
        is_alone = names.count(file.name) == 1
        name = file.name if is_alone else f"{file.absolute().parent.name}-{file.name}"
        found.append({"name": _fit(name), "ini": _text_of(file)})
    return found


def workload_of(base: Json | None, load: Load) -> Json | None:
    """The target's own workload with what the command line says in its place; None: as it is."""
    kinds = {"--rate": load.rate, "--burst": load.burst, "--ladder": load.ladder}
    given = [name for name, value in kinds.items() if value is not None]
    if len(given) > 1:
        raise _mistake(given[1], f"not together with {given[0]}: one command, one kind of load")
    if not given and load.concurrency is None:
        if not (load.keep_alive or load.paths or load.urls or load.limit_s):
            return None
        kept = dict(base or {"kind": "closed_loop"})
    else:
        kept = _kind(load)
    changes = {
        "requests": _requests(load, base),
        "keep_alive": load.keep_alive or None,
        "limit_s": load.limit_s,
    }
    kept |= {name: value for name, value in changes.items() if value is not None}
    try:
        workload: Json = expanded({"workload": kept}, _read)["workload"]
    except ValueError as error:
        raise _mistake("--urls", str(error)) from error
    return workload


def _kind(load: Load) -> Json:
    if load.burst is not None:
        if load.concurrency is not None:
            raise _mistake("--concurrency", "a burst has as many connections as users")
        return {"kind": "burst", "users": load.burst}
    if load.ladder is not None:
        if load.concurrency is not None:
            raise _mistake("--concurrency", "a ladder has a list of them")
        return {"kind": "ladder", "concurrencies": _numbers(load.ladder)}
    if load.rate is not None:
        bound = {} if load.concurrency is None else {"concurrency": load.concurrency}
        return {"kind": "open_loop", "rate_rps": load.rate, **bound}
    return {"kind": "closed_loop", "concurrency": load.concurrency}


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise _mistake("--ladder", f"{text!r} is no list such as 100,1000,10000") from None


def _requests(load: Load, base: Json | None) -> Any:
    """What was asked for, else the target's own; a burst sends them in order, without weights."""
    if load.paths and load.urls:
        raise _mistake("--urls", "not together with --path: put all of them into the file")
    if load.urls is not None:
        return {"file": str(load.urls)}
    if load.paths:
        return [{"path": path} for path in load.paths]
    own = (base or {}).get("requests")
    if own is None or load.burst is None:
        return own
    return [{**request, "weight": 1} for request in own]


def _read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


def _fit(name: str) -> str:
    """As the API takes it: letters, digits, and `.`, `_`, `-` within."""
    return _UNFIT.sub("-", name).lstrip("._-")[:63] or "unnamed"


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise _mistake(str(file), error.strerror or "cannot be read") from error
    except UnicodeDecodeError as error:
        raise _mistake(str(file), "is not UTF-8 text") from error


def _mistake(path: str, message: str) -> InvalidInput:
    return InvalidInput([Mistake(path, message)])
