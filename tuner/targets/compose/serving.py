"""How an app is reached: its port, the path that tells its health, the host that it accepts."""

import re
from typing import Any

from tuner.nouns.model import kernel
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.uwsgi.ini import IniFile, effective

_HTTP = ("http-socket", "http11-socket", "http", "httprouter")
_UWSGI = ("socket", "uwsgi-socket")
_DEFAULT_PORT = 8000
_URL = re.compile(r"https?://[^/\s'\"]+(/[^\s'\"|;&)]*)")
_ACCEPTS_ALL = frozenset({"*", "127.0.0.1", "localhost"})


def serving(name: str, service: Node, ini: IniFile, findings: Findings) -> dict[str, Any]:
    """`port`, `health_path`, `host_header`, `thread_safe` and `gevent_ok`, where they differ."""
    found: dict[str, Any] = {"port": _port(name, service, ini, findings)}
    test = service.get("healthcheck", "test")
    url = _URL.search(" ".join(each.text for each in test.each()))
    if url is not None:
        found["health_path"] = url[1]
        findings.left_out(f"{name}.healthcheck", "the tuner asks health_path itself")
    elif test:
        why = "it names no URL: set health_path, which answers 2xx once the app is ready"
        findings.todo(f"{name}.healthcheck", why)
    if host := _host(service):
        found["host_header"] = host
        why = "requests get this Host, because the app may refuse others"
        findings.changed(f"host_header {host}", why)
    if ini.integer("threads", 1) > 1:
        found["thread_safe"] = True
        findings.changed("thread_safe: true", "the present file starts threads")
    if ini.integer("gevent", 0) > 0:
        found["gevent_ok"] = True
    return found


def _port(name: str, service: Node, ini: IniFile, findings: Findings) -> int:
    """The HTTP port of the file; without one, that of the compose file."""
    environment = {key: node.text for key, node in service.get("environment").items().items()}
    settings = [each for each in effective(ini) if not each.is_conditional]
    http = [each.value for each in settings if each.option in _HTTP]
    uwsgi = [each.value for each in settings if each.option in _UWSGI]
    ports = [port for port in _ports(service) if str(port) not in " ".join(uwsgi)]
    own = [port for port in (_port_in(value, environment) for value in http) if port is not None]
    if own:
        if ports and own[0] not in ports:
            why = f"the present file listens on {own[0]}, and this port counts"
            findings.changed(f"{name}.ports {', '.join(map(str, ports))}", why)
        return own[0]
    if uwsgi and not http:
        why = "the file speaks the uwsgi protocol: the tuner puts nginx in front, on `port`"
        findings.changed(f"{name} socket {uwsgi[0]}", why)
        return _DEFAULT_PORT
    if not ports:
        why = "neither the file nor the compose file names the port of the app: set `port`"
        findings.todo(f"{name}.ports", why)
    return ports[0] if ports else _DEFAULT_PORT


def kernel_settings(name: str, service: Node, findings: Findings) -> dict[str, Any]:
    """`somaxconn` and `sysctls` of production, as far as a container may have its own."""
    found: dict[str, Any] = {}
    for setting, node in service.get("sysctls").pairs().items():
        if setting == kernel.SOMAXCONN and node.text.isdecimal():
            found["somaxconn"] = int(node.text)
            continue
        try:
            value = kernel.read(setting, node.text)
        except ValueError as error:
            findings.left_out(f"{name}.sysctls.{setting}", str(error))
        else:
            found.setdefault("sysctls", {})[setting] = value
    return found


def _port_in(address: str, environment: dict[str, str]) -> int | None:
    """The port of `:8000`, `0.0.0.0:8000`, `8000` and `:$(PORT)`."""
    known = re.sub(r"\$\((\w+)\)", lambda v: environment.get(v[1], ""), address)
    found = re.fullmatch(r"(?:.*:)?(\d{1,5})", known.partition(",")[0])
    return int(found[1]) if found else None


def _ports(service: Node) -> list[int]:
    """The container's ports: 80:8000, 127.0.0.1:80:8000/tcp, {target: 8000}, and `expose`."""
    found: list[int] = []
    for key in ("ports", "expose"):
        for node in service.get(key).each():
            text = node.text_of("target") or node.text.partition("/")[0].rpartition(":")[2]
            if text.isdigit():
                found.append(int(text))
    return list(dict.fromkeys(found))


def _host(service: Node) -> str:
    """The first host of `ALLOWED_HOSTS`, unless the app accepts the tuner's own."""
    for name, node in service.get("environment").items().items():
        if name.upper().endswith("ALLOWED_HOSTS"):
            hosts: list[str] = re.findall(r"[\w.*:-]+", node.text)
            if hosts and not _ACCEPTS_ALL & {*hosts} and re.fullmatch(r"[\w.-]+", hosts[0]):
                return hosts[0].lstrip(".")
    return ""
