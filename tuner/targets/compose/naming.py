"""The names of an arm: those of its services, and hosts of the app that it does not have."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tuner.nouns.model.hosts import LOOPBACK, NamedHost, hosts_of, is_outside
from tuner.nouns.model.services import APP
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.selection import Selection


def name_of(service: str, selection: Selection, findings: Findings) -> str:
    """The name of a service in an arm: the one by which the app calls it, as there is no other."""
    name = _called_as(service, selection, findings)
    if name == APP:
        why = (
            f"{APP} is the name of the app's own container in an arm: give the service another"
            " name here, and where it is called"
        )
        findings.mistakes.append(selection.services[service].mistake(why))
    return name


def _called_as(service: str, selection: Selection, findings: Findings) -> str:
    called = selection.called.get(service, set())
    others = sorted(called - {service})
    if not others:
        return service
    if called == {others[0]} and others[0] not in selection.services:
        findings.changed(f"service {service}", f"its name is {others[0]} here")
        return others[0]
    why = f"it is also called {', '.join(others)}: an arm knows one name, so use one everywhere"
    findings.todo(f"service {service}", why)
    return service


_OF_OTHERS = re.compile(
    r"ALLOWED|VIRTUAL|LETSENCRYPT|BIND|LISTEN|PUBLIC|CSRF|CORS|ORIGIN|TRUSTED|SITE|FRONTEND"
    r"|^(?:.*_)?SERVER_(?:HOST|NAME)$|^HOST$",
    re.IGNORECASE,
)
"""Variables with names under which others call the app, or on which it listens."""

_LOOPBACK = "the container itself, where no service runs: give the service of `services` there"
_UNKNOWN = (
    "no arm has this host, and there is no way out: give a service with its name or, for HTTP, a"
    " stub, if a request needs it"
)


def name_hosts(selection: Selection, document: Mapping[str, Any], findings: Findings) -> list[str]:
    """Say which hosts no arm has. Returns those of HTTP, in whose place a stub can be."""
    name, app = selection.app, selection.services[selection.app]
    known = {APP, *document.get("services", {})}
    own = selection.names_of(name, by=name) - {APP}
    stubs: list[str] = []
    env = document.get("env", {})
    for named in [*_called(env), *_extra(app)]:
        what = f"{name}.{named.variable} ({named.host})"
        if named.host in LOOPBACK:
            findings.todo(what, _LOOPBACK)
        elif named.host in own:
            findings.todo(what, f"the app itself: in an arm its name is {APP}")
        elif named.host not in known:
            findings.todo(what, _UNKNOWN)
            if is_outside(named.host) and named.scheme in ("http", "https"):
                stubs.append(named.host)
    return list(dict.fromkeys(stubs))


def _called(env: Mapping[str, Any]) -> Iterator[NamedHost]:
    """The hosts that the app itself is likely to call."""
    for named in hosts_of(env):
        is_web = named.scheme in ("http", "https")
        if _OF_OTHERS.search(named.variable) or (named.host in LOOPBACK and is_web):
            continue
        yield NamedHost(f"env.{named.variable}", named.host, named.scheme)


def _extra(app: Node) -> Iterator[NamedHost]:
    """The names of `extra_hosts`: HOST:IP, HOST=IP and {HOST: IP}."""
    given = app.get("extra_hosts")
    for host in given.items() or [re.split(r"[:=]", each.text)[0] for each in given.each()]:
        yield NamedHost("extra_hosts", host)
