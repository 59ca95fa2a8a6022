"""All settings, each declared once."""

import re
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import NAME, ImageText
from tuner.service.settings.fields import (
    KEY,
    PREFIX,
    AbsolutePath,
    Age,
    Environ,
    Folders,
    Globs,
    HostNames,
    Networks,
    NoSlash,
    Text,
    VariableNames,
    default_data_dir,
    is_loopback,
    misspelt,
    mistakes_of,
    name_of,
)

# ---- The certificate that the API shows, checked before it listens


def require_pair(cert: Path | None, key: Path | None) -> None:
    """Raise `InvalidInput` unless the files are a certificate and its key, or both are not set."""
    names = name_of("tls_cert"), name_of("tls_key")
    if cert is None and key is None:
        return
    if cert is None or key is None:
        missing = names[0] if cert is None else names[1]
        raise InvalidInput.at(missing, f"set it too: {' and '.join(names)} belong together")
    for name, file in zip(names, (cert, key), strict=True):
        try:
            file.read_bytes()
        except OSError as error:
            raise InvalidInput.at(name, f"{file}: {error.strerror}") from error
    try:
        # Without a passphrase OpenSSL would ask for one at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except (ssl.SSLError, ValueError) as error:
        wanted = "a certificate and its key, in PEM and without a passphrase"
        reason = getattr(error, "reason", None) or error
        raise InvalidInput.at(names[0], f"give {wanted}: {reason}") from error


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
    data_dir: AbsolutePath = Field(
        default_factory=default_data_dir, description="the folder of the embedded PostgreSQL"
    )
    host: Text = Field(default="127.0.0.1", description="the address that the API listens on")
    port: int = Field(
        default=8321, ge=1, le=65_535, description="the port that the API listens on, 1 to 65535"
    )
    api_key: str | None = Field(
        default=None,
        pattern=KEY,
        repr=False,
        description="the key that clients send in a header, in printable ASCII",
    )
    api_key_file: AbsolutePath | None = Field(
        default=None, description="a file that holds the key, in place of TUNER_API_KEY"
    )
    oidc_file: AbsolutePath | None = Field(
        default=None,
        description="a YAML file with the identity provider that people sign in with, and what its"
        " groups open",
    )
    secrets_allowed: VariableNames = Field(
        default=(),
        description="globs of this worker's environment variables that targets may get, separated"
        " by ',', such as SHOP_*",
    )
    hosts_allowed: HostNames = Field(
        default=(),
        description="globs of the host names that the API answers to, separated by ',', such as "
        "tuner.example",
    )
    base_path: NoSlash = Field(
        default="",
        pattern=r"^(/[\w.~-]+)*/?$",
        description="the path below which a proxy serves the API and its pages, such as /tuner",
    )
    tls_cert: AbsolutePath | None = Field(
        default=None, description="the PEM file of the API's certificate and its chain, for https"
    )
    tls_key: AbsolutePath | None = Field(
        default=None, description="the PEM file of that certificate's key, without a passphrase"
    )
    proxies: Networks = Field(
        default=("127.0.0.1",),
        description="the addresses of proxies, separated by ',', such as 10.0.0.5,10.1.0.0/16",
    )
    url: NoSlash = Field(
        default_factory=lambda data: _address("127.0.0.1", data["port"], data["tls_cert"]),
        pattern=r"^https?://[^/\s?#]+(/[^\s?#]*)?$",
        description="the address of the API, such as http://127.0.0.1:8321",
    )
    pool: str = Field(
        default="default",
        pattern=NAME,
        description="the pool of this worker, a name of a-z, 0-9, '.', '_' and '-'",
    )
    worker_name: Text = Field(
        default_factory=socket.gethostname, description="the name of this worker in its pool"
    )
    target_apps: Folders = Field(
        default=(), description="folders with more target apps, separated by ':'"
    )
    search_spaces: Folders = Field(
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
    build_network: Text = Field(
        default="uwsgi-tuner-build", description="the network of image builds; host: the host's own"
    )
    images_allowed: Globs = Field(
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
    link_days: float = Field(
        default=365,
        gt=0,
        le=36_500,
        description="the days that a read-only link to a job may last, above 0",
    )
    jobs_waiting: int | None = Field(
        default=None, ge=1, description="the most jobs of one key that may wait, 1 or more"
    )
    dump_dir: AbsolutePath | None = Field(
        default=None, description="the folder of the dumps that are made before migrations"
    )
    windows_kept: Age = Field(
        default=None, description="days, such as 90d, after which the windows of old searches go"
    )
    jobs_kept: Age = Field(default=None, description="days, such as 730d, after which a job goes")
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
        mistakes = misspelt(cls, environ)
        try:
            settings = cls(**Environ(cls, environ)())._with_key_of_file()
        except ValidationError as error:
            raise InvalidInput(mistakes + mistakes_of(cls, error)) from None
        if mistakes:
            raise InvalidInput(mistakes)
        return settings

    def _with_key_of_file(self) -> Self:
        """The settings with the key that `api_key_file` holds. Raises `InvalidInput`."""
        if self.api_key_file is None:
            return self
        where = name_of("api_key_file")
        if self.api_key is not None:
            raise InvalidInput.at(where, f"set it or {name_of('api_key')}, not both")
        try:
            key = self.api_key_file.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no ASCII text"
            raise InvalidInput.at(where, f"{self.api_key_file}: {reason}") from error
        if not re.fullmatch(KEY, key):
            raise InvalidInput.at(where, f"{self.api_key_file} must hold one line, the key")
        return self.model_copy(update={"api_key": key})

    def check_may_serve(self) -> None:
        """Raise `InvalidInput` if the API would be open without a key, or cannot speak TLS."""
        if self.api_key is None and not is_loopback(self.host):
            advice = f"set it to serve on {self.host}, or leave TUNER_HOST at 127.0.0.1"
            raise InvalidInput.at("TUNER_API_KEY", advice)
        if self.api_key is None and self.oidc_file is not None:
            raise InvalidInput.at("TUNER_API_KEY", "set it too: without it nobody has to sign in")
        require_pair(self.tls_cert, self.tls_key)

    @property
    def served_at(self) -> str:
        """The address that the API listens on."""
        return _address(self.host, self.port, self.tls_cert)

    @property
    def is_open_to_every_image(self) -> bool:
        """Whether other machines can have this service run any image."""
        return not self.images_allowed and not is_loopback(self.host)


def _address(host: str, port: int, tls_cert: Path | None) -> str:
    scheme = "https" if tls_cert is not None else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
