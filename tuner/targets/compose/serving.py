"""How an app is reached: its port, the path that tells its health, the host that it accepts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.uwsgi.ini import IniFile, Setting, effective

_HTTP = ("http-socket", "http11-socket", "http", "httprouter")
_HTTPS = ("https", "https2", "https-socket", "http-to-https")
_UWSGI = ("socket", "uwsgi-socket")
_DEFAULT_PORT = 8000
_URL = re.compile(r"https?://[^/\s'\"]+(/[^\s'\"|;&)]*)")
_REQUEST = re.compile(r"\b(?:GET|HEAD)\s+(/[^\s'\"\\]*)\s+HTTP/")
_LOCAL = r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$\{?HOSTNAME\}?)(?::[\w${}]+)?"
_BARE = re.compile(rf"(?<![\w/.@]){_LOCAL}(/[^\s'\"|;&)]*)")
_UWSGI_CURL = re.compile(
    r"\buwsgi_curl\s+(?:-\S+\s+(?:\d+\s+)?)*\S+\s+(?:[\w.-]+)?(/[^\s'\"|;&)]*)"
)
_URL_ALONE = re.compile(r"https?://[^/\s'\"]+(/\S*)")
_HOST_HEADER = re.compile(r"(?:^|[\s'\"]|-H)Host:\s*([\w.:-]+)", re.IGNORECASE)
_ACCEPTS_ALL = frozenset({"*", "127.0.0.1", "localhost"})


def serving(
    name: str, service: Node, ini: IniFile, variables: Mapping[str, str], findings: Findings
) -> dict[str, Any]:
    """`port`, `health_path`, `host_header`, `thread_safe` and `gevent_ok`, where they differ.

    `variables` are all that the container has, as far as they are known.
    """
    settings = [each for each in effective(ini, environ=variables) if not each.is_conditional]
    found: dict[str, Any] = {"port": _port(name, service, settings, findings)}
    found |= _health(name, service, findings)
    if host := found.get("host_header") or _host(service):
        found["host_header"] = host
        why = "requests get this Host, because the app may refuse others"
        findings.changed(f"host_header {host}", why)
    found |= _threads(settings, findings)
    if _number(_last(settings, "gevent")) > 0:
        found["gevent_ok"] = True
    return found


def _health(name: str, service: Node, findings: Findings) -> dict[str, str]:
    """The path of the health check, and the Host that it sends."""
    test = service.get("healthcheck", "test")
    words = [each.text for each in test.each()]
    text = " ".join(words)
    matches = (
        *map(_URL_ALONE.fullmatch, words),  # a URL that is a word keeps its `&`
        *(each.search(text) for each in (_URL, _REQUEST, _UWSGI_CURL, _BARE)),
    )
    path = next((match[1] for match in matches if match is not None), None)
    if path is None:
        if test:
            why = "it names no URL: set health_path, which answers 2xx once the app is ready"
            findings.todo(f"{name}.healthcheck", why)
        return {}
    findings.left_out(f"{name}.healthcheck", "the tuner asks health_path itself")
    host = host_header_in(text)
    return {"health_path": path} | ({"host_header": host} if host else {})


def host_header_in(command: str) -> str:
    """The Host that a command such as curl sends; empty if it sends none of its own."""
    found = _HOST_HEADER.search(command)
    return found[1] if found else ""


def _threads(settings: Sequence[Setting], findings: Findings) -> dict[str, bool]:
    value = _last(settings, "threads")
    if value.strip() in {"%k", "%K"} or _number(value) > 1:
        findings.changed("thread_safe: true", f"the present file starts threads: {value}")
        return {"thread_safe": True}
    if value and not value.strip().isdecimal():
        why = "it is unknown how many threads these are: set thread_safe, if they are several"
        findings.todo(f"threads = {value}", why)
    return {}


def _last(settings: Sequence[Setting], option: str) -> str:
    values = [each.value for each in settings if each.option == option]
    return values[-1] if values else ""


def _number(value: str) -> int:
    return int(value) if value.strip().isdecimal() else 0


def _port(name: str, service: Node, settings: Sequence[Setting], findings: Findings) -> int:
    """The HTTP port of the file; without one, that of the compose file."""
    http = [each.value for each in settings if each.option in _HTTP]
    https = [each.value for each in settings if each.option in _HTTPS]
    uwsgi = [each.value for each in settings if each.option in _UWSGI]
    ports = [port for port in ports_of(service) if str(port) not in " ".join(uwsgi + https)]
    own = [port for port in map(_port_in, http) if port is not None]
    if own:
        if ports and own[0] not in ports:
            why = f"the present file listens on {own[0]}, and this port counts"
            findings.changed(f"{name}.ports {', '.join(map(str, ports))}", why)
        return own[0]
    if https and not http and not uwsgi:
        why = (
            "the present file speaks HTTPS only, and the tuner sends HTTP: add a line such as"
            f" `http-socket = :{_DEFAULT_PORT}` to the file"
        )
        findings.todo(f"{name} https {https[0]}", why)
        return _DEFAULT_PORT
    if uwsgi and not http:
        why = "the file speaks the uwsgi protocol: the tuner puts nginx in front, on `port`"
        findings.changed(f"{name} socket {uwsgi[0]}", why)
        return _DEFAULT_PORT
    if not ports:
        why = "neither the file nor the compose file names the port of the app: set `port`"
        findings.todo(f"{name}.ports", why)
    return ports[0] if ports else _DEFAULT_PORT


def _port_in(address: str) -> int | None:
    """The port of `:8000`, `0.0.0.0:8000` and `8000`."""
    found = re.fullmatch(r"(?:.*:)?(\d{1,5})", address.partition(",")[0].strip())
    return int(found[1]) if found else None


def ports_of(service: Node) -> list[int]:
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
