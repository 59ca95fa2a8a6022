"""What looks like a secret becomes `***`: for reports, lists, errors and logs.

The names stay, so a reader sees that there is a value. The file to deploy is never masked. Each
pattern takes linear time: it starts only where a name starts, and never goes back.
"""

import operator
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

MASK = "***"

T = TypeVar("T")

_WITHOUT_TEXT = frozenset({type(None), bool, int, float, datetime})

_NAME = (
    r"(?:passw|passphrase|pwd|secret|token(?!s)|credential|authorization|cookie|signature"
    r"|(?:api|access|private|auth)[_-]?key|(?<=_)pass(?![a-z]))"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)


def _named(name: str, value: str) -> re.Pattern[str]:
    """`NAME=value`, `name: value` and `"name": "value"`."""
    quoted = r""""(?:[^"\\\n]|\\.)*+"?+|'[^'\n]*+'?+"""
    before = rf"(?<![\w.-])(?=[\w.-]*?{name})([\w.-]++[\"']?[ \t]*+[=:][ \t]*+)"
    return re.compile(rf"{before}({quoted}|{value})", re.IGNORECASE)


_PATTERNS = (
    # env = NAME=value, in all formats of a uWSGI file; and in its command line
    re.compile(r"(?<!\w)(env[\"']?[ \t]*+[=:>][ \t]*+[\"']?\w++=)([^\n]++)"),
    re.compile(r"(?<!\w)(--env[ =]\w++=)(\S++)"),
    _named("(?:authorization|cookie)", r"[^\n\"'<>]++"),  # headers have values of several words
    _named(_NAME, r"[^\s&,;\"'<>]++"),
    re.compile(r"(basicauth:[^,:\s]*+,)([^\s\"'<>]++)"),
    re.compile(r"(Bearer[ \t]++)([\w.~+/=-]{16,}+)"),
    re.compile(r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)([^-]++)"),
)
_AUTHORITY = re.compile(r"(?<=://)[^\s/\"'<>]++")
_MARKS = re.compile(r"[=:> \t]")
"""Each of the patterns needs one of these: most texts are names and numbers, and have none."""


_VARIABLE = re.compile(r"(?:^|_)(?:PASS|PAT|PW|DSN|CREDS?|SALT)(?:_|$)|_KEY$", re.IGNORECASE)
_SETTING = re.compile(
    # What a variable says about a secret or a cookie: where it is, how long it lasts.
    r"_(?:PATH|FILE|DIR|NAME|AGE|EXPIR\w+|TTL|TIMEOUT|LIFETIME|LENGTH|DOMAIN|SECURE|HTTPONLY|SAMESITE"
    r"|ENABLED?|REQUIRED|HEADER|ALGORITHM|BACKEND|CLASS|VALIDATORS?|HASHERS?|MINUTES|SECONDS|HOURS"
    r"|DAYS)$",
    re.IGNORECASE,
)
_VALUE = re.compile(
    # An address with a password, or a long user as Sentry has; a token of a known service; a key.
    r"[a-z][a-z0-9+.-]{0,30}://(?:[^\s/:@]{0,200}:[^\s/@]{1,200}|[0-9a-f]{16,64})@"
    r"|(?<![\w.-])(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|[rs]k_(?:live|test)_|sk-|AKIA|ASIA"
    r"|AIza|npm_|pypi-|hvs\.|SG\.|dop_v1_|eyJ)[A-Za-z0-9_.=-]{12,}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----",
    re.IGNORECASE,
)


def holds_secret(name: str, value: str) -> bool:
    """Whether a variable of an environment looks like a secret: by its name, or by its value."""
    if is_secret_value(value):
        return True
    is_named = is_secret(name) or _VARIABLE.search(name) is not None
    return is_named and _SETTING.search(name) is None


def has_secrets(text: str) -> bool:
    """Whether a file looks as if it has secrets: one by its shape, or as the value of a name."""
    return is_secret_value(text) or _masked_text(text) != text


def is_secret_value(text: str) -> bool:
    """Whether a text has the shape of a secret: an address with a password, a token, a key."""
    return _VALUE.search(text) is not None


def is_secret(name: str) -> bool:
    """Whether a variable of this name looks like a secret."""
    return _SECRET_NAME.search(name) is not None


def masked(value: T, leave: tuple[type, ...] = ()) -> T:
    """The same with a mask in all its texts: of models, dataclasses, mappings and sequences.

    What is of a type in `leave` stays as it is.
    """
    found: T = _masked(value, leave)
    return found


def _masked(value: Any, leave: tuple[type, ...]) -> Any:
    if type(value) in _WITHOUT_TEXT or isinstance(value, (Enum, leave)):
        return value
    if isinstance(value, str):
        return _masked_text(value)
    if isinstance(value, Mapping):
        return {
            name: _masked_item(name, isinstance(name, str) and is_secret(name), item, leave)
            for name, item in value.items()
        }
    if isinstance(value, tuple | list):
        new = [_masked(item, leave) for item in value]
        is_same = isinstance(value, tuple) and all(map(operator.is_, new, value))
        return value if is_same else type(value)(new)
    if isinstance(value, BaseModel):
        changed = _changed(value, leave)
        return value.model_copy(update=changed) if changed else value
    if is_dataclass(value) and not isinstance(value, type):
        changed = _changed(value, leave)
        return replace(value, **changed) if changed else value
    return value


def _changed(value: object, leave: tuple[type, ...]) -> dict[str, Any]:
    """The fields of a model or dataclass that get a mask."""
    changed = {}
    kind: Any = type(value)
    for name, has_secret_name in _fields_of(kind):
        item = getattr(value, name)
        if type(item) not in _WITHOUT_TEXT:
            new = _masked_item(name, has_secret_name, item, leave)
            if new is not item:
                changed[name] = new
    return changed


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, bool], ...]:
    """The fields of a model or dataclass, and whether the name of each looks like a secret."""
    if issubclass(kind, BaseModel):
        names = list(kind.model_fields)
    else:
        names = [field.name for field in fields(kind) if field.init]
    return tuple((name, is_secret(name)) for name in names)


def _masked_item(name: object, has_secret_name: bool, item: Any, leave: tuple[type, ...]) -> Any:
    if name == "take":  # says where an answer holds a token, and is none itself
        return item
    if name == "user_data" and isinstance(item, BaseModel):
        return item.model_copy(update={"rows": (tuple(MASK for _ in getattr(item, "names", ())),)})
    if has_secret_name and isinstance(item, str):
        return MASK
    if name == "env" and isinstance(item, Mapping):
        return {key: MASK if isinstance(own, str) else own for key, own in item.items()}
    return _masked(item, leave)


def _masked_text(text: str) -> str:
    if _MARKS.search(text) is None:
        return text
    for pattern in _PATTERNS:
        text = pattern.sub(_without_value, text)
    return _AUTHORITY.sub(_without_password, text)


def _without_value(found: re.Match[str]) -> str:
    quote = found[2][0] if found[2][0] in "\"'" else ""
    return f"{found[1]}{quote}{MASK}{quote}"


def _without_password(authority: re.Match[str]) -> str:
    user, at, host = authority[0].rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{name}:{MASK}@{host}" if at and colon else authority[0]
