"""How the probe is put into the load generator's container, and asked there."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from tuner.bench.measurement import RunningTarget
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import Target, mistakes_of

Findings = TypeVar("Findings")

HOME = "/tuner/probe"
LONGEST_WORD = 65_536  # bytes; the kernel takes 128 KB in one word of a command line

# Without the site packages (-S) and the environment's influence (-I) it starts sooner, and sooner
# still where it finds what it has compiled before.
COMMAND = ("python3", "-I", "-S", "-X", "pycache_prefix=/dev/shm/pycache", HOME)
DELAY_COMMAND = (*COMMAND, "delay")
"""Takes one more word: milliseconds by service, in JSON."""


@cache
def probe_files() -> Mapping[str, bytes]:
    """The probe, as absolute path in the load generator's container to contents.

    Its modules keep the names that they have here, in packages that hold nothing else.
    """
    package = f"{HOME}/tuner/bench/load/probe"
    found = {
        f"{package}/{file.name}": file.read_bytes()
        for file in files("tuner.bench.load.probe").iterdir()
        if file.name.endswith(".py")
    }
    found[f"{HOME}/__main__.py"] = found.pop(f"{package}/__main__.py")
    return {**found, f"{HOME}/tuner/__init__.py": b"", f"{HOME}/tuner/bench/load/__init__.py": b""}


def watched(running: RunningTarget, target: Target, stats_address: str) -> dict[str, Any]:
    """What the probe reads and watches around a run of load: a part of the task of `window`."""
    return {
        "stats": stats_address if target.is_uwsgi else None,
        "front": asdict(running.front),
        "cgroups": dict(running.cgroup_folders),
    }


def ask_probe(
    running: RunningTarget,
    verb: str,
    task: Mapping[str, Any],
    timeout_s: float,
    findings: TypeAdapter[Findings],
    *,
    uid: int | None = None,
) -> Findings:
    """Run one verb of the probe beside the target; what it found.

    Raises `TargetFailed` when the target has ended, `Infrastructure` when the probe failed.
    """
    words = json.dumps(task)
    carried: dict[str, bytes] = {}
    if len(words) > LONGEST_WORD:  # JSON is ASCII here
        path = f"/tmp/task-{secrets.token_hex(6)}.json"  # noqa: S108  # in the container
        carried[path] = words.encode()
        words = path
    output = running.run_beside(
        [*COMMAND, verb, words], timeout_s=timeout_s, files=carried, uid=uid
    )
    try:
        return findings.validate_json(output)
    except ValidationError as error:
        path, wrong = mistakes_of(error)[0]
        raise Infrastructure(f"the probe said {output[:200]!r}: {path}: {wrong}") from error
