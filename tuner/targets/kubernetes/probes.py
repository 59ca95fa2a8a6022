"""The probes of a container as the health check of a service."""

import re
from collections.abc import Sequence

from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.serving import host_header_in
from tuner.targets.compose.starting import words_of
from tuner.targets.kubernetes.roles import MOST_TEXT
from tuner.targets.kubernetes.tree import leaf, listed, mapped

_PROBES = ("readinessProbe", "startupProbe", "livenessProbe")
_UWSGI_CURL = re.compile(r"uwsgi_curl\b.*?\s[^\s'\"]+:\d+\s+['\"]?(/[^\s'\"]*)")


def app_health(
    name: str, container: Node, beside: Sequence[Node], findings: Findings
) -> Node | None:
    """A test that names the path and the Host of the app's probe; None without one.

    `beside` are the other containers of the pod: their probes are named, and not taken.
    """
    for probe in _probes(container):
        url = _request(probe)
        if url is not None:
            host, path = url
            header = ["-H", f"Host: {host}"] if host else []
            test = listed(probe, ["CMD", "curl", *header, f"http://127.0.0.1{path}"])
            return mapped(probe, {"test": test})
    for each in beside:
        for probe in _probes(each):
            path = (_request(probe) or ("", ""))[1]
            what = f"{each.text_of('name')}.{probe.path.rpartition('.')[2]} {path}".rstrip()
            why = (
                f"it asks {each.text_of('name')}, and not the app: set health_path, which answers"
                " 2xx once the app is ready"
            )
            findings.todo(what, why)
            return None
    why = "no probe names a path: set health_path, which answers 2xx once the app is ready"
    findings.todo(f"{name}.health_path", why)
    return None


def service_health(container: Node) -> Node | None:
    """The test of a service; None leaves the usual one of its image."""
    for probe in _probes(container):
        timeout = {"timeout": f"{probe.text_of('timeoutSeconds') or 1}s"}
        if words := words_of(probe.get("exec", "command")):
            return mapped(probe, {"test": listed(probe, ["CMD", *words]), **timeout})
        if get := probe.get("httpGet"):
            scheme = (get.text_of("scheme") or "http").lower()
            port, path = _port(container, get.text_of("port")), get.text_of("path") or "/"
            url = f"'{scheme}://127.0.0.1:{port}{path}'"
            test = f"curl -fsko /dev/null {url} || wget -qO /dev/null {url}"
            return mapped(probe, {"test": leaf(probe, test), **timeout})
    return None


def _probes(container: Node) -> list[Node]:
    return [probe for key in _PROBES if (probe := container.get(key))]


def _port(container: Node, port: str) -> str:
    """A number for a named port."""
    for each in container.get("ports").each():
        if each.text_of("name") == port:
            return each.text_of("containerPort")
    return port


def _request(probe: Node) -> tuple[str, str] | None:
    """The Host and the path that a probe asks for; None if it asks for none."""
    if get := probe.get("httpGet"):
        headers = {h.text_of("name").lower(): h for h in get.get("httpHeaders").each()}
        host = headers["host"].text_of("value") if "host" in headers else ""
        path = get.text_of("path") or "/"
        return host, path if path.startswith("/") else f"/{path}"
    text = " ".join(words_of(probe.get("exec", "command")))[:MOST_TEXT]
    found = _UWSGI_CURL.search(text) or re.search(
        r"https?://[^/\s'\"]+(/[^\s'\"|;)]*)?(?=['\"\s|;)]|$)", text
    )
    if found is None:
        return None
    return host_header_in(text), found[1] or "/"
