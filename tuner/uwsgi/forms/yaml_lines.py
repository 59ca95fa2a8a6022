"""YAML: uWSGI reads lines by their depth, and no structure (2.0.31: core/yaml.c)."""

import re

from tuner.uwsgi.forms.reading import Misread, Read
from tuner.uwsgi.ini import SECTION

_LITERAL = re.compile(r"[|>][-+0-9]*|[&*]\w.*|!+\w* .*|\[.*|\{(?!\{).*")
_STOPS = "uWSGI stops reading at this line"


def read_yaml(text: str, section: str) -> Read:
    """The settings of a section, `uwsgi` if it is empty. Any text is read."""
    read, is_inside, top = Read(), False, 0
    numbered = list(enumerate(text.split("\n"), start=1))
    for number, raw in numbered:
        line, depth = raw.partition("#")[0], _depth(raw.partition("#")[0])
        if line and depth <= top and is_inside:
            break
        content = line.lstrip(" \t\r")
        if not content:
            continue
        if depth <= top:
            top = depth
        elif not is_inside:
            continue
        if is_inside:
            reason = _taken(read, number, raw, content)
            if reason:
                read.misread.append(_stopped(numbered, number, top, reason))
                break
        elif not content.startswith(("-", "[", "{")):
            is_inside = content.partition(":")[0] == (section or SECTION) and ":" in content
            read.top = number if is_inside else 1
    return read


def _depth(line: str) -> int:
    blanks = line[: len(line) - len(line.lstrip(" \t\r"))]
    return sum(1 if blank == " " else 8 for blank in blanks)


def _taken(read: Read, number: int, raw: str, content: str) -> str | None:
    """Take the setting of one line; or the reason why uWSGI's reader ends there."""
    if content.startswith(("-", "[", "{")):
        return "it reads no lists; write the option once for each value"
    colon = re.search(r": ", content) or re.search(r":\t", content)
    if colon is None:
        return "it needs `key: value`, on one line"
    key, value = content[: colon.start()].rstrip(" \t"), content[colon.end() :].strip(" \t")
    comment = raw.find("#")
    if comment > 0 and raw[comment - 1] not in " \t":
        read.misread.append(Misread(number, "uWSGI cuts the value at `#`, also inside a word"))
    if value.endswith("\r"):
        if not read.settings:  # once for a file
            message = "the carriage return at the end of each line is a part of its value"
            read.misread.append(Misread(number, f"{message}: end lines with a newline alone"))
        value = value.rstrip("\r")
    if _LITERAL.fullmatch(value):
        message = f"uWSGI takes `{value}` literally, as the value of {key}: it is no YAML to it"
        read.misread.append(Misread(number, message))
    read.add(number, key, value)
    return None


def _stopped(numbered: list[tuple[int, str]], at: int, top: int, reason: str) -> Misread:
    """With the number of lines of the block that nobody reads."""
    below = 0
    for _number, raw in numbered[at:]:
        line = raw.partition("#")[0]
        if line.strip() and _depth(line) <= top:
            break
        below += bool(line.strip())
    lost = f", and ignores {below} more below it" if below else ""
    built = "a build with libyaml reads on"
    return Misread(at, f"{_STOPS}{lost}: {reason} ({built})")
