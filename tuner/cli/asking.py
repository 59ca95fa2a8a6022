"""Files and options of a command → the document of a request."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tuner.cli.shared import STANDARD_INPUT, text_of
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import SOMAXCONN
from tuner.nouns.model.named_files import expanded

Json = dict[str, Any]

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The workload options of a command line; None and empty: the target's own."""

    concurrency: int | None = None
    rate: float | None = None
    burst: int | None = None
    ladder: str | None = None
    limit_s: float | None = None
    keep_alive: bool = False
    paths: Sequence[str] = ()
    urls: Path | None = None


def read_document(file: str) -> Any:
    """The YAML or JSON document in a file or on standard input. Raises `InvalidInput`.

    The document may name a file of URLs, relative to its own folder; for standard input relative
    to the current folder.
    """
    folder = Path() if file == STANDARD_INPUT else Path(file).parent
    text = text_of(file)
    try:
        found = expanded(_parsed(text), lambda name: _read(folder / name))
        json.dumps(found, allow_nan=False)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise InvalidInput.at(file, f"is not a job: {' '.join(str(error).split())}") from error
    return found


def _parsed(text: str) -> Any:
    """JSON first: YAML refuses the tabs that JSON allows."""
    try:
        return json.loads(text)
    except ValueError:
        return yaml.safe_load(text)


def given(**fields: Any) -> Json:
    """The given fields; the service fills in the others."""
    return {name: value for name, value in fields.items() if value is not None}


def target_of(name: str, apps: Mapping[str, Json], port: int | None, health: str | None) -> Json:
    """The target app of that name, else an image."""
    own = given(port=port, health_path=health)
    if name not in apps:
        return {"image": name, **own}
    if own:
        raise InvalidInput.at("--port, --health-path", f"the target app {name} brings its own")
    return {"target_app": name}


def limits_of(base: Json | None, sysctls: Sequence[str] = (), **sizes: float | None) -> Json | None:
    """The target's own limits with the given ones; None: the target's own.

    `sysctls` are as `sysctl -w` takes them: `net.ipv4.tcp_syncookies=0`. Raises `InvalidInput`.
    """
    own, changed = base or {}, given(**sizes)
    if sysctls:
        changed["sysctls"] = {**own.get("sysctls", {}), **dict(map(_sysctl, sysctls))}
    return {**own, **changed} if changed else None


def _sysctl(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"{text!r} is not NAME=VALUE, as in net.ipv4.tcp_syncookies=0"
        raise InvalidInput.at("--sysctl", message)
    if name == SOMAXCONN:
        raise InvalidInput.at("--sysctl", f"give {SOMAXCONN} as --somaxconn")
    return name.strip(), value


def inis_of(files: Sequence[Path]) -> list[Json]:
    """Name and text of each file."""
    return [
        {"name": name, "ini": text_of(str(file))}
        for name, file in zip(names_of(files), files, strict=True)
    ]


def names_of(files: Sequence[Path]) -> list[str]:
    """The name of each file. Equal names get the name of the folder in front."""
    names = [file.name for file in files]
    return [
        fit(
            file.name
            if names.count(file.name) == 1
            else f"{file.absolute().parent.name}-{file.name}"
        )
        for file in files
    ]


def workload_of(base: Json | None, load: Load) -> Json | None:
    """The target's own workload with the given options; None: the target's own."""
    _check_one_kind(load)
    kept = _kind(load) or dict(base or {"kind": "closed_loop"})
    changes = given(
        requests=_requests(load, base), keep_alive=load.keep_alive or None, limit_s=load.limit_s
    )
    if load.burst is not None and not (load.paths or load.urls):
        changes |= given(user_data=(base or {}).get("user_data"))
    if load == Load():
        return None
    try:
        return dict(
            expanded({"workload": kept | changes}, lambda name: _read(Path(name)))["workload"]
        )
    except ValueError as error:
        raise InvalidInput.at("--urls", str(error)) from error


def _check_one_kind(load: Load) -> None:
    kinds = [*given(**{"--rate": load.rate, "--burst": load.burst, "--ladder": load.ladder})]
    if len(kinds) > 1:
        message = f"excludes {kinds[0]}: a command sends one kind of load"
        raise InvalidInput.at(kinds[1], message)


def _kind(load: Load) -> Json | None:
    if load.burst is not None:
        if load.concurrency is not None:
            raise InvalidInput.at("--concurrency", "a burst has one connection for each user")
        return {"kind": "burst", "users": load.burst}
    if load.ladder is not None:
        if load.concurrency is not None:
            raise InvalidInput.at("--concurrency", "a ladder has its own list of connections")
        return {"kind": "ladder", "concurrencies": _numbers(load.ladder)}
    if load.rate is not None:
        bound = {} if load.concurrency is None else {"concurrency": load.concurrency}
        return {"kind": "open_loop", "rate_rps": load.rate, **bound}
    if load.concurrency is not None:
        return {"kind": "closed_loop", "concurrency": load.concurrency}
    return None


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput.at("--ladder", f"{text!r} is not a list like 100,1000,10000") from None


def _requests(load: Load, base: Json | None) -> Any:
    """The given requests, else the target's own. A burst sends them in order, without weights."""
    if load.paths and load.urls:
        raise InvalidInput.at("--urls", "excludes --path: put all paths into the file")
    if load.urls is not None:
        return {"file": str(load.urls)}
    if load.paths:
        return [{"path": path} for path in load.paths]
    own = (base or {}).get("requests")
    if own is None or load.burst is None:
        return own
    return [{**request, "weight": 1} for request in own]


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def fit(name: str) -> str:
    """A name that the API accepts: letters, digits, `.`, `_` and `-`."""
    return _UNFIT.sub("-", name).lstrip("._-")[:63] or "unnamed"
