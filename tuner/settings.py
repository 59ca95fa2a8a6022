"""The environment as one frozen `Settings`; a misspelt `TUNER_*` name is an error."""

import difflib
import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from tuner.errors import InvalidInput, Mistake
from tuner.model import ImageText

PREFIX = "TUNER_"
TOLERATED = frozenset(
    {"TUNER_OHA_IMAGE", "TUNER_K6_IMAGE", "TUNER_PYTHON_IMAGE", "TUNER_PROVISION_PYTHON"}
)
"""Names that only `tuner.provision` reads; they may be set while the product runs."""


def _default_data_dir() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/uwsgi-tuner")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "uwsgi-tuner"


def _existing(path: Path) -> Path:
    if not path.is_dir():
        raise ValueError(f"there is no folder {path}")
    return path


def _parts(text: str) -> list[str]:
    return [part for part in text.split(os.pathsep) if part.strip()]


def age_of(text: str) -> timedelta:
    """`90d`: an age in days. Raises `ValueError`."""
    days = re.fullmatch(r"([0-9]{1,5})d?", text)
    if days is None or int(days[1]) == 0:
        raise ValueError(f"{text!r} is no number of days")
    return timedelta(days=int(days[1]))


_API_KEY = r"^[ -~]+$"
_Text = Annotated[str, StringConstraints(pattern=r"^\P{C}+$")]  # no control characters
_Path = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
_Folder = Annotated[_Path, AfterValidator(_existing)]
_Folders = Annotated[tuple[_Folder, ...], NoDecode, BeforeValidator(_parts)]


def _globs(text: str) -> list[str]:
    return [glob.strip() for glob in text.split(",") if glob.strip()]


_Glob = Annotated[str, StringConstraints(pattern=r"^(\*|[\w.:*?-]+(/[\w.*?-]+)+)$")]
_Globs = Annotated[tuple[_Glob, ...], NoDecode, BeforeValidator(_globs)]
_VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_*][\w*]*$")]
_VariableNames = Annotated[tuple[_VariableName, ...], NoDecode, BeforeValidator(_globs)]
_Age = Annotated[timedelta | None, BeforeValidator(age_of)]
_HostName = Annotated[str, StringConstraints(pattern=r"^[\w.*-]+$", to_lower=True)]
_HostNames = Annotated[tuple[_HostName, ...], NoDecode, BeforeValidator(_globs)]


class Settings(BaseSettings):
    """All that an operator may set. Each field is the environment's `TUNER_<FIELD>`.

    A description ends the message about a wrong value, so it says which values are right.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, hide_input_in_errors=True, validate_default=False
    )

    database_url: str | None = Field(
        default=None,
        pattern=r"^postgres(ql)?(\+\w+)?://.",
        repr=False,
        description="postgresql://user:password@host:port/database; not set: embedded",
    )
    data_dir: _Path = Field(
        default_factory=_default_data_dir, description="the folder of the embedded PostgreSQL"
    )
    host: _Text = Field(default="127.0.0.1", description="the address that the API listens on")
    port: int = Field(
        default=8321, ge=1, le=65_535, description="the port that the API listens on, 1 to 65535"
    )
    api_key: str | None = Field(
        default=None,
        pattern=_API_KEY,
        repr=False,
        description="the key that clients send in a header, in printable ASCII",
    )
    api_key_file: _Path | None = Field(
        default=None, description="a file that holds the key, in place of TUNER_API_KEY"
    )
    secrets_allowed: _VariableNames = Field(
        default=(),
        description="globs of this worker's environment variables that targets may get, separated"
        " by ',', such as SHOP_*",
    )
    hosts_allowed: _HostNames = Field(
        default=(),
        description="globs of the host names that the API answers to, separated by ',', such as "
        "tuner.example",
    )
    base_path: Annotated[str, AfterValidator(lambda path: path.rstrip("/"))] = Field(
        default="",
        pattern=r"^(/[\w.~-]+)*/?$",
        description="the path below which a proxy serves the API and its pages, such as /tuner",
    )
    url: Annotated[str, AfterValidator(lambda url: url.rstrip("/"))] = Field(
        default_factory=lambda data: f"http://127.0.0.1:{data['port']}",
        pattern=r"^https?://[^/\s?#]+(/[^\s?#]*)?$",
        description="the address of the API, such as http://127.0.0.1:8321",
    )
    pool: str = Field(
        default="default",
        pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$",
        description="the pool of this worker, a name of a-z, 0-9, '.', '_' and '-'",
    )
    worker_name: _Text = Field(
        default_factory=socket.gethostname, description="the name of this worker in its pool"
    )
    target_apps: _Folders = Field(
        default=(), description="folders with more target apps, separated by ':'"
    )
    search_spaces: _Folders = Field(
        default=(), description="folders with more search spaces, separated by ':'"
    )
    base_image: ImageText = Field(
        default="uwsgi-tuner/base:2.0.31", description="the image that target apps are built on"
    )
    load_image: ImageText = Field(
        default="uwsgi-tuner/load:1.16.0", description="the image of the load generator oha"
    )
    journey_image: ImageText = Field(
        default="uwsgi-tuner/load-k6:1.8.1", description="the image of the load generator k6"
    )
    build_network: _Text = Field(default="host", description="the network of image builds")
    images_allowed: _Globs = Field(
        default=(),
        description="globs of registry/repository, separated by ',', such as "
        "registry.example/shop/*; docker.io/library/* for Docker Hub's own",
    )
    images_kept_gb: float = Field(
        default=20.0,
        ge=0,
        allow_inf_nan=False,
        description="the most GB of pulled and built images that this host keeps, 0 or more",
    )
    image_timeout_s: float = Field(
        default=1800.0,
        gt=0,
        le=86_400,
        description="the seconds that a pull or a build may take, above 0 and at most 86400",
    )
    docker_wait_s: float = Field(
        default=900.0,
        ge=0,
        allow_inf_nan=False,
        description="the seconds that a measurement waits for Docker before its job fails",
    )
    ready_timeout_s: float = Field(
        default=20.0,
        gt=0,
        le=3600,
        description="the seconds that a target may take to answer, above 0 and at most 3600",
    )
    job_minutes: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="the minutes a job may take, above 0"
    )
    jobs_waiting: int | None = Field(
        default=None, ge=1, description="the most jobs of one key that may wait, 1 or more"
    )
    dump_dir: _Path | None = Field(
        default=None, description="the folder of the dumps that are made before migrations"
    )
    windows_kept: _Age = Field(
        default=None, description="days, such as 90d, after which the windows of old searches go"
    )
    jobs_kept: _Age = Field(default=None, description="days, such as 730d, after which a job goes")
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(str.upper)
    ] = Field(default="INFO", description="DEBUG, INFO, WARNING, ERROR or CRITICAL")
    log_format: Annotated[Literal["text", "json"], BeforeValidator(str.lower)] = Field(
        default="text", description="text, or json for one JSON object a line"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *others: PydanticBaseSettingsSource,
        **more: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `from_environ` passes: no `os.environ`, no files."""
        return (init_settings,)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read every `TUNER_*` name; an empty value counts as not set.

        Raises `InvalidInput` with all mistakes: misspelt names and wrong values.
        """
        mistakes = [_misspelt(name) for name in sorted(environ) if not _is_known(name)]
        try:
            settings = cls(**_Environ(cls, environ)())._with_key_of_file()
        except ValidationError as error:
            raise InvalidInput(mistakes + _mistakes_of(error)) from None
        if mistakes:
            raise InvalidInput(mistakes)
        return settings

    def _with_key_of_file(self) -> Self:
        """The settings with the key that `api_key_file` holds. Raises `InvalidInput`."""
        if self.api_key_file is None:
            return self
        where = _name_of("api_key_file")
        if self.api_key is not None:
            raise InvalidInput.at(where, f"set it or {_name_of('api_key')}, not both")
        try:
            key = self.api_key_file.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no ASCII text"
            raise InvalidInput.at(where, f"{self.api_key_file}: {reason}") from error
        if not re.fullmatch(_API_KEY, key):
            raise InvalidInput.at(where, f"{self.api_key_file} must hold one line, the key")
        return self.model_copy(update={"api_key": key})

    def check_may_serve(self) -> None:
        """Raise `InvalidInput` if the API would be open to the network without a key."""
        if self.api_key is None and not _is_loopback(self.host):
            advice = f"set it to serve on {self.host}, or leave TUNER_HOST at 127.0.0.1"
            raise InvalidInput([Mistake("TUNER_API_KEY", advice)])

    @property
    def is_open_to_every_image(self) -> bool:
        """Whether other machines can have this service run any image."""
        return not self.images_allowed and not _is_loopback(self.host)


class _Environ(EnvSettingsSource):
    """The fields' texts in a mapping in place of `os.environ`."""

    def __init__(self, settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        texts = {name.lower(): text.strip() for name, text in environ.items()}
        self.env_vars = {name: text for name, text in texts.items() if text}


def _name_of(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


def _is_known(name: str) -> bool:
    return (
        not name.startswith(PREFIX)
        or name in map(_name_of, Settings.model_fields)
        or name in TOLERATED
        or name.startswith("TUNER_TEST_")
    )


def _misspelt(name: str) -> Mistake:
    names = list(map(_name_of, Settings.model_fields))
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0)[0]
    return Mistake(name, f"there is no such setting; the nearest is {nearest}")


def _mistakes_of(error: ValidationError) -> list[Mistake]:
    """The value itself is not repeated: it may hold a password."""
    found = []
    for detail in error.errors(include_input=False):
        if detail["type"] != "default_factory_not_called":
            field = str(detail["loc"][0])
            reason = detail["msg"].removeprefix("Value error, ")
            wanted = Settings.model_fields[field].description
            found.append(Mistake(_name_of(field), f"{reason}; give {wanted}"))
    return found


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
