"""The hosts that an environment names, and stubs for those that an arm does not have."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LOOPBACK = frozenset({"localhost", "127.0.0.1"})

_IN_URL = re.compile(r"([a-z][a-z0-9+.-]*)?://(?:[^/\s@]*@)?([a-z0-9][\w.-]*)", re.IGNORECASE)
_ALONE = re.compile(r"([a-z][\w.-]*|127\.0\.0\.1)(?::\d+)?", re.IGNORECASE)
_OUTSIDE = re.compile(r"[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class NamedHost:
    """A host in a variable; `scheme` is that of its URL, such as `https`, or empty."""

    variable: str
    host: str
    scheme: str = ""


def hosts_of(env: Mapping[str, object]) -> Iterator[NamedHost]:
    """The hosts of all URLs, and those that variables such as `DB_HOST` have as their value."""
    for name, value in env.items():
        if not isinstance(value, str):
            continue
        for scheme, host in _IN_URL.findall(value):
            yield NamedHost(name, host, scheme.lower())
        if name.upper().endswith("HOST") and (alone := _ALONE.fullmatch(value)):
            yield NamedHost(name, alone[1])


def is_outside(host: str) -> bool:
    """Whether it is a name of the internet: one without a dot is that of a service."""
    return _OUTSIDE.fullmatch(host) is not None


def stubs_of(hosts: Sequence[str]) -> str:
    """The lines of a target.yaml that put a stub in the place of each host."""
    lines = ["services:"]
    for host in hosts:
        lines += [
            f"  {host.replace('.', '-')}:",
            "    stub:",
            f"      hosts: [{host}]",
            "      latency_ms: {p50: 80, p95: 300}  # give those of your monitoring",
            "      responses:  # give what the app expects",
            '        - {path: "/*", status: 200, body: {}}',
        ]
    return "\n".join(lines)
