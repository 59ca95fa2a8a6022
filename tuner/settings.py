"""The environment as one frozen `Settings`; a misspelt `TUNER_*` name is an error."""

import difflib
import ipaddress
import logging
import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tuner.errors import InvalidInput, Mistake

PREFIX = "TUNER_"
TOLERATED = frozenset(
    {"TUNER_OHA_IMAGE", "TUNER_K6_IMAGE", "TUNER_PYTHON_IMAGE", "TUNER_PROVISION_PYTHON"}
)
"""Names that only `tuner.provision` reads; they may be set while the product runs."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that an operator may set. Each field is the environment's `TUNER_<FIELD>`."""

    data_dir: Path
    worker_name: str
    url: str  # the API that the CLI talks to
    database_url: str | None = field(default=None, repr=False)  # None: PostgreSQL is embedded
    host: str = "127.0.0.1"
    port: int = 8321
    api_key: str | None = field(default=None, repr=False)
    pool: str = "default"
    target_apps: tuple[Path, ...] = ()  # in addition to the repository's
    search_spaces: tuple[Path, ...] = ()  # in addition to the repository's
    base_image: str = "uwsgi-tuner/base:2.0.31"
    load_image: str = "uwsgi-tuner/load:1.16.0"
    journey_image: str = "uwsgi-tuner/load-k6:1.8.1"  # used in its place where it is there
    build_network: str = "host"
    ready_timeout_s: float = 20.0
    log_level: str = "INFO"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read every `TUNER_*` name; an empty value counts as not set.

        Raises `InvalidInput` with all that is wrong: misspelt names, values of the wrong kind.
        """
        given = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
        mistakes = [_misspelt(name) for name in sorted(given) if not _is_known(name)]
        values: dict[str, Any] = {}
        for name, parse in _PARSERS.items():
            text = given.get(name, "").strip()
            if not text:
                continue
            try:
                values[name.removeprefix(PREFIX).lower()] = parse(text)
            except ValueError as error:
                mistakes.append(Mistake(name, str(error)))
        if mistakes:
            raise InvalidInput(mistakes)
        port = values.get("port", cls.__dataclass_fields__["port"].default)
        derived: dict[str, Any] = {
            "data_dir": _default_data_dir(environ),
            "worker_name": socket.gethostname(),
            "url": f"http://127.0.0.1:{port}",
        }
        return cls(**derived | values)

    def check_may_serve(self) -> None:
        """Raise `InvalidInput` where the API would be open to the network without a key."""
        if self.api_key is None and not _is_loopback(self.host):
            advice = f"set it to serve on {self.host}, or leave TUNER_HOST at 127.0.0.1"
            raise InvalidInput([Mistake("TUNER_API_KEY", advice)])


def _is_known(name: str) -> bool:
    return name in _PARSERS or name in TOLERATED or name.startswith("TUNER_TEST_")


def _misspelt(name: str) -> Mistake:
    nearest = difflib.get_close_matches(name, _PARSERS, n=1, cutoff=0)[0]
    return Mistake(name, f"there is no such setting; the nearest is {nearest}")


def _default_data_dir(environ: Mapping[str, str]) -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/uwsgi-tuner")
    home = environ.get("HOME") or str(Path.home())
    return Path(environ.get("XDG_DATA_HOME") or f"{home}/.local/share") / "uwsgi-tuner"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _postgres_url(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        # The value itself may hold a password: it is not repeated.
        raise ValueError("give postgresql://user:password@host:port/database")
    return text


def _http_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", text):
        raise ValueError(f"{text!r} is no address such as http://127.0.0.1:8321")
    return text.rstrip("/")


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65_535:
        raise ValueError(f"{text!r} is no port from 1 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ValueError(f"{text!r} is no number of seconds from above 0 to 3600")
    return seconds


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a-z, 0-9, '.', '_' and '-'")
    return text


def _text(text: str) -> str:
    if not text.isprintable():
        raise ValueError("holds characters that cannot be printed")
    return text


def _secret(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise ValueError("a key that travels in a header is printable ASCII")
    return text


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _folders(text: str) -> tuple[Path, ...]:
    folders = tuple(_path(part) for part in text.split(os.pathsep) if part.strip())
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise ValueError(f"no such folder: {', '.join(missing)}")
    return folders


def _log_level(text: str) -> str:
    level = text.upper()
    if level not in logging.getLevelNamesMapping():
        raise ValueError(f"{text!r} is none of DEBUG, INFO, WARNING, ERROR")
    return level


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "TUNER_DATABASE_URL": _postgres_url,
    "TUNER_DATA_DIR": _path,
    "TUNER_HOST": _text,
    "TUNER_PORT": _port,
    "TUNER_API_KEY": _secret,
    "TUNER_URL": _http_url,
    "TUNER_POOL": _name,
    "TUNER_WORKER_NAME": _text,
    "TUNER_TARGET_APPS": _folders,
    "TUNER_SEARCH_SPACES": _folders,
    "TUNER_BASE_IMAGE": _text,
    "TUNER_LOAD_IMAGE": _text,
    "TUNER_JOURNEY_IMAGE": _text,
    "TUNER_BUILD_NETWORK": _text,
    "TUNER_READY_TIMEOUT_S": _seconds,
    "TUNER_LOG_LEVEL": _log_level,
}
"""Every name there is. A parser raises `ValueError` with a sentence for the operator."""
