"""The types of settings: what a text of the environment must look like."""

import ipaddress
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StringConstraints
from pydantic_settings import NoDecode


def default_data_dir() -> Path:
    """Where root and users keep the data of services."""
    if os.geteuid() == 0:
        return Path("/var/lib/uwsgi-tuner")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "uwsgi-tuner"


def age_of(text: str) -> timedelta:
    """`90d`: an age in days. Raises `ValueError`."""
    days = re.fullmatch(r"([0-9]{1,5})d?", text)
    if days is None or int(days[1]) == 0:
        raise ValueError(f"{text!r} is no number of days")
    return timedelta(days=int(days[1]))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _existing(path: Path) -> Path:
    if not path.is_dir():
        raise ValueError(f"there is no folder {path}")
    return path


def _network(text: str) -> str:
    """As uvicorn wants it: an address without a length stays one."""
    ipaddress.ip_network(text)  # raises ValueError
    return text


def _folders(text: str) -> list[str]:
    return [part for part in text.split(os.pathsep) if part.strip()]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _without_slash(text: str) -> str:
    return text.rstrip("/")


KEY = r"^[ -~]+$"
"""A key in a header: printable ASCII."""

_Glob = Annotated[str, StringConstraints(pattern=r"^(\*|[\w.:*?-]+(/[\w.*?-]+)+)$")]
_HostName = Annotated[str, StringConstraints(pattern=r"^[\w.*-]+$", to_lower=True)]
_Network = Annotated[str, AfterValidator(_network)]
_VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_*][\w*]*$")]

Text = Annotated[str, StringConstraints(pattern=r"^\P{C}+$")]  # no control characters
NoSlash = Annotated[str, AfterValidator(_without_slash)]
Age = Annotated[timedelta | None, BeforeValidator(age_of)]
AbsolutePath = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
_Folder = Annotated[AbsolutePath, AfterValidator(_existing)]

Folders = Annotated[tuple[_Folder, ...], NoDecode, BeforeValidator(_folders)]
Globs = Annotated[tuple[_Glob, ...], NoDecode, BeforeValidator(_parts)]
HostNames = Annotated[tuple[_HostName, ...], NoDecode, BeforeValidator(_parts)]
Networks = Annotated[tuple[_Network, ...], NoDecode, BeforeValidator(_parts)]
VariableNames = Annotated[tuple[_VariableName, ...], NoDecode, BeforeValidator(_parts)]
