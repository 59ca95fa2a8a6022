"""The names and the types of settings: what a text of the environment must look like."""

import difflib
import ipaddress
import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StringConstraints, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode

from tuner.nouns.errors import Mistake

# ---- `TUNER_*` names in an environment, and what is wrong with them

PREFIX = "TUNER_"
TOLERATED = frozenset(
    {"TUNER_OHA_IMAGE", "TUNER_K6_IMAGE", "TUNER_PYTHON_IMAGE", "TUNER_PROVISION_PYTHON"}
)
"""Names that only `tuner.provision` reads; they may be set while the product runs."""


class Environ(EnvSettingsSource):
    """The fields' texts in a mapping in place of `os.environ`."""

    def __init__(self, settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        texts = {name.lower(): text.strip() for name, text in environ.items()}
        self.env_vars = {name: text for name, text in texts.items() if text}


def name_of(field: str) -> str:
    """The name of a field in the environment."""
    return f"{PREFIX}{field.upper()}"


def misspelt(settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> list[Mistake]:
    """A mistake for each `TUNER_*` name that is no setting, with the nearest one."""
    names = list(map(name_of, settings_cls.model_fields))
    known = TOLERATED.union(names)
    return [
        Mistake(name, f"there is no such setting; the nearest is {_nearest(name, names)}")
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in known and not name.startswith("TUNER_TEST_")
    ]


def mistakes_of(settings_cls: type[BaseSettings], error: ValidationError) -> list[Mistake]:
    """What is wrong with the values. They are not repeated: they may hold a password."""
    found = []
    for detail in error.errors(include_input=False):
        if detail["type"] != "default_factory_not_called":
            field = str(detail["loc"][0])
            reason = detail["msg"].removeprefix("Value error, ")
            wanted = settings_cls.model_fields[field].description
            found.append(Mistake(name_of(field), f"{reason}; give {wanted}"))
    return found


def _nearest(name: str, names: list[str]) -> str:
    return difflib.get_close_matches(name, names, n=1, cutoff=0)[0]


# ---- The types of settings: what a text of the environment must look like


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
