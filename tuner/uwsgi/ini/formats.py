"""Configurations in other formats: which one, and how to convert it."""

import json
import re

_HEADER = re.compile(r"^[ \t\r]*\[", re.MULTILINE)
_YAML_TOP = re.compile(r"^(---|%YAML|uwsgi[ \t]*:[ \t]*(#.*)?\r?$)", re.MULTILINE)
# Possessive: where a line is no YAML, nothing is tried a second time.
_YAML_LINE = re.compile(r"^[ \t-]*+[\w.][\w.-]*+[ \t]*+:([ \t].*)?$")
_LOOKED_AT = 65_536  # characters; the beginning shows the format


def refuse_other_formats(text: str) -> str | None:
    """A sentence with the format and the command that converts it; None for an ini."""
    name = _format_of(text.removeprefix("\ufeff").lstrip())
    if name is None:
        return None
    command = (
        f"uwsgi --show-config --no-server --{name} FILE 2>&1"
        " | sed -n '/^\\[uwsgi\\]/,/^;end/p'"
        f" | grep -vE '^(show-config|no-server|{name}) = ' > uwsgi.ini"
    )
    needs = " (with a uWSGI that was built with libjansson)" if name == "json" else ""
    return f"this is {name.upper()}, not ini; convert it{needs}: {command}"


def _format_of(text: str) -> str | None:
    if text.startswith("<"):
        return "xml"
    if text.startswith("{"):
        return "json"
    if text.startswith("[") and _is_json(text):
        return "json"
    head = text[:_LOOKED_AT]
    return "yaml" if not _HEADER.search(head) and _is_yaml(head) else None


def _is_json(text: str) -> bool:
    """Of a text that begins like a section header does."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_yaml(head: str) -> bool:
    if _YAML_TOP.search(head):
        return True
    lines = [line.rstrip() for line in head.splitlines()]
    told = [line for line in lines if line and not line.lstrip().startswith(("#", ";"))]
    return bool(told) and all(_YAML_LINE.match(line) for line in told)
