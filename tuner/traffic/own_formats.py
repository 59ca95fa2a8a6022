"""The user's own format → how its lines are read: uWSGI's `log-format`, nginx's `log_format`,
Apache's `LogFormat`.

A variable becomes a group, all else is literal. Only the URI and the agent may hold the text that
ends them, because uWSGI escapes nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from tuner.traffic.formats import PROXY, Format, Moment, of_pattern, scaled, sum_s

_UWSGI_VARIABLE = re.compile(r"%%?\(([^)]+)\)")
_NGINX_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

_UWSGI: Mapping[str, str] = {
    **dict.fromkeys(("time", "ltime", "ctime", "ftime", "tmsecs", "tmicros", "epoch"), "time"),
    **dict.fromkeys(("msecs", "micros", "secs"), "dur"),
    **{"method": "method", "uri": "uri", "status": "status", "addr": "addr", "uagent": "agent"},
    "var.HTTP_USER_AGENT": "agent",
}
_UWSGI_UNITS_S = {"msecs": 1e-3, "micros": 1e-6, "secs": 1.0}

_NGINX: Mapping[str, str] = {
    **dict.fromkeys(("time_local", "time_iso8601", "msec"), "time"),
    **{"request_method": "method", "request_uri": "uri", "uri": "uri", "status": "status"},
    **{"remote_addr": "addr", "http_user_agent": "agent", "connection_requests": "reuse"},
    **{"upstream_response_time": "dur", "request_time": "whole"},
}

_APACHE_VARIABLE = re.compile(r"%[<>!\d,]*(?:\{([^}]*)\})?(\^\w\w|[a-zA-Z%])")
_APACHE_UNITS_S = {"D": 1e-6, "T": 1.0, "{us}T": 1e-6, "{ms}T": 1e-3, "{s}T": 1.0}
_LOG_FORMAT = re.compile(r'^[ \t]*LogFormat[ \t]+"((?:[^"\\]|\\.)*)"', re.IGNORECASE | re.MULTILINE)

_APACHE: Mapping[str, str] = {
    **{"t": "[$time_local]", "r": "$request", "m": "$request_method", "U": "$uri"},
    **{"s": "$status", "a": "$remote_addr", "h": "$remote_addr", "%": "%"},
    **{"{User-Agent}i": "$http_user_agent", **dict.fromkeys(_APACHE_UNITS_S, "$request_time")},
}
"""Each directive in the words of nginx's `log_format`."""

_GROUPS: Mapping[str, str] = {
    "method": "[A-Z]++",
    "status": r"\d++",
    "dur": r"[\d., :-]*?",
    "whole": r"[\d.]++",
    "reuse": r"\d++",
    "uri": ".*?",
    "agent": ".*?",
}


def of_uwsgi(text: str) -> Format:
    """The lines of a `log-format`. Raises `ValueError` if they name no method, URI or status."""
    names = _UWSGI_VARIABLE.findall(text)
    unit_s = next((_UWSGI_UNITS_S[name] for name in names if name in _UWSGI_UNITS_S), 1.0)
    moment: Moment = "end" if "epoch" in names else "start"
    pattern = _pattern(_UWSGI_VARIABLE, text, _UWSGI, "log-format")
    return Format("log-format", "uwsgi", of_pattern(pattern, moment, _positive(scaled(unit_s))))


def of_nginx(text: str) -> Format:
    """The lines of a `log_format`. Raises `ValueError` if they name no method, URI or status."""
    has_upstream = "upstream_response_time" in text
    if not has_upstream:  # then the whole time is all there is
        text = text.replace("$request_time", "$upstream_response_time")
    pattern = _pattern(_NGINX_VARIABLE, text, _NGINX, "log_format")
    pattern = pattern.replace("(?P<dur>", "(?P<up>(?P<dur>", 1).replace(_DUR, _DUR + ")", 1)
    away = _unasked if has_upstream else _unknown
    return Format("log_format", "proxy", of_pattern(pattern, "end", sum_s, away))


def log_formats_of_apache(text: str) -> list[str]:
    """The text of each `LogFormat` of a file of Apache, without its escapes."""
    lines = text.replace("\\\n", "")
    return [re.sub(r"\\(.)", _unescaped, found) for found in _LOG_FORMAT.findall(lines)]


def of_apache(text: str) -> Format:
    """The lines of a `LogFormat`. Raises `ValueError` if they name no method, URI or status.

    The time is that of the start. `%T` counts whole seconds.
    """
    names = [_apache_name(found) for found in _APACHE_VARIABLE.finditer(text)]
    unit_s = next((_APACHE_UNITS_S[name] for name in names if name in _APACHE_UNITS_S), 1.0)
    in_words = _APACHE_VARIABLE.sub(_as_nginx, text.replace("%U%q", "%U"))
    pattern = _pattern(_NGINX_VARIABLE, in_words, _NGINX, "LogFormat").replace("<whole>", "<dur>")
    return Format("LogFormat", "proxy", of_pattern(pattern, "start", scaled(unit_s)))


def _unescaped(found: re.Match[str]) -> str:
    return {"t": "\t", "n": "\n"}.get(found[1], found[1])


def _apache_name(found: re.Match[str]) -> str:
    return found[2] if found[1] is None else f"{{{found[1]}}}{found[2]}"


def _as_nginx(found: re.Match[str]) -> str:
    word = _APACHE.get(_apache_name(found), "$other")
    return re.sub(r"\$(\w+)", r"${\1}", word)


_DUR = _GROUPS["dur"] + ")"


def _unasked(up: str) -> str:
    return PROXY if up == "-" else ""


def _unknown(_up: str) -> None:
    return None


def _positive(seconds: Callable[[str], float | None]) -> Callable[[str], float | None]:
    """`micros` is a 32-bit number: it is negative from 35 minutes on."""
    return lambda text: None if text.startswith("-") else seconds(text)


def _pattern(variable: re.Pattern[str], text: str, known: Mapping[str, str], option: str) -> str:
    pattern = "".join(_pieces(variable, text, known))
    lacking = [name for name in ("method", "uri", "status") if f"(?P<{name}>" not in pattern]
    if lacking:
        raise ValueError(f"its {option} has no {', no '.join(lacking)}: it gives no mix")
    return pattern


def _pieces(variable: re.Pattern[str], text: str, known: Mapping[str, str]) -> Iterator[str]:
    """Literals and groups in turn; a name that comes twice, or is unknown, is only stepped over."""
    used: set[str] = set()
    at = 0
    for found in variable.finditer(text):
        yield re.escape(text[at : found.start()])
        at = found.end()
        name = next(group for group in found.groups() if group)
        field = known.get(name, "")
        if name == "request" and used.isdisjoint(("method", "uri")):
            used.update(("method", "uri"))
            yield r'(?:(?P<method>[A-Z]++) (?P<uri>(?:[^"\\ ]|\\.)*+)(?: HTTP/[\d.]++)?)'
        elif field and field not in used:
            used.add(field)
            yield f"(?P<{field}>{_GROUPS.get(field) or _until(text, at)})"
        else:
            yield _until(text, at)
    yield re.escape(text[at:])


def _until(text: str, at: int) -> str:
    """What does not hold the character that comes next."""
    return f"[^{re.escape(text[at])}]*+" if at < len(text) else ".*+"
