"""What an app needs in its container beside its image."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from tuner.nouns.model.base import Document

SECRETS = "/run/secrets"
"""The folder of secret files in a container, as in Compose."""

EnvName = Annotated[str, Field(pattern=r"^[^=\x00]{1,128}$")]
"""As Docker takes it, such as `discovery.type`: all but `=` and NUL."""

HostVariable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class FromWorker(Document):
    """A secret that stays on the benchmark host: it is in no row and in no document."""

    from_worker: HostVariable = Field(description="name of a variable in the worker's environment")


class FromFile(Document):
    """A secret that the worker reads at its start: it is in no row and in no document."""

    file: str = Field(
        min_length=1, max_length=400, pattern=r"^[^\x00]*$", description="beside target.yaml"
    )


def _as_text(value: Any) -> Any:
    """YAML reads `DEBUG: 0` as a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _has_no_dots(path: str) -> str:
    if {"", ".", ".."} & {*path[1:].split("/")}:
        raise ValueError("a path has no empty part, no . and no ..")
    return path


def _no_names(given: Any) -> Any:
    """`Backed` has replaced a list of names where the app has secrets of these names."""
    if isinstance(given, list):
        raise ValueError("give {NAME: {from_worker: ...}}, or names of the app's own secrets")
    return given


EnvText = Annotated[str, Field(max_length=32_000, pattern=r"^[^\x00]*$")]
EnvValue = Annotated[EnvText | FromWorker, BeforeValidator(_as_text)]
Folder = Annotated[str, Field(pattern=r"^/[^\x00:,]{1,400}$")]
File = Annotated[Folder, AfterValidator(_has_no_dots)]
TmpFs = Annotated[str, Field(pattern=r"^/[^\x00:,]{1,400}(:size=[1-9][0-9]{0,9}[kmg]?)?$")]
SecretName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")]


def pairs(given: Any) -> Any:
    """`[A=1]` as `{A: 1}`, as Compose reads it; all else unchanged."""
    if isinstance(given, list) and all(isinstance(each, str) and "=" in each for each in given):
        return dict(each.split("=", 1) for each in given)
    return given


class Needs(Document):
    """What an app needs in its container, with the names that Compose has where it has one."""

    env: dict[EnvName, EnvValue] = Field(
        {}, max_length=300, description="environment; {from_worker: NAME} for a secret of the host"
    )
    files: dict[File, Annotated[str, Field(max_length=200_000)]] = Field(
        {}, max_length=20, description="texts by their paths in the container; root owns them"
    )
    executables: tuple[File, ...] = Field(
        (), max_length=20, description="those of `files` that the container may run, as scripts"
    )
    secrets: Annotated[dict[SecretName, FromWorker | FromFile], BeforeValidator(_no_names)] = Field(
        {}, max_length=20, description="files of /run/secrets, by their names there"
    )
    user: str | None = Field(
        None, pattern=r"^[\w.-]{1,64}(:[\w.-]{1,64})?$", description="null: the image's"
    )
    working_dir: Folder | None = Field(None, description="null: the image's")
    tmpfs: tuple[TmpFs, ...] = Field(
        (), max_length=20, description="folders in memory, such as /tmp or /tmp:size=64m"
    )
    shm_mb: int | None = Field(None, ge=1, le=1 << 20, description="of /dev/shm; null: 64")

    @model_validator(mode="after")
    def _executables_are_files(self) -> Self:
        if others := sorted({*self.executables} - {*self.files}):
            raise ValueError(f"executables: {', '.join(others)}: `files` has no such path")
        return self

    @property
    def in_memory(self) -> dict[str, str]:
        """The folders in memory with their options, such as `size=64m` or nothing."""
        return dict(folder.partition(":")[::2] for folder in self.tmpfs)


# ---- Volumes of an app and its services, and folders beside its target.yaml

VolumePath = Annotated[
    str, Field(pattern=r"^([a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}:)?/[^\x00:,]{1,400}$")
]
"""`name:/folder`, shared by all containers of an arm that name it, or `/folder`."""


def _stays_inside(folder: str) -> str:
    if ".." in folder.split("/"):
        raise ValueError("the folder is inside that of the target app")
    return folder


InnerFolder = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_.][A-Za-z0-9_./-]{0,200}$"), AfterValidator(_stays_inside)
]


class CopiedVolume(Document):
    """A volume that starts with a copy of a folder of the target app."""

    source: InnerFolder = Field(description="a folder beside target.yaml, such as ./data")
    target: Folder = Field(description="where the container has it")
    copy_: Literal[True] = Field(alias="copy", description="no folder of the host is mounted")

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    @property
    def data(self) -> str:
        """The name of the data: all containers of an arm that copy one folder share the copy."""
        parts = (part for part in self.source.split("/") if part not in ("", "."))
        return f"./{'/'.join(parts)}"


def _form(given: Any) -> str:
    """As Compose calls them."""
    return "short" if isinstance(given, str) else "long"


Volume = Annotated[
    Annotated[VolumePath, Tag("short")] | Annotated[CopiedVolume, Tag("long")],
    Discriminator(_form),
]


def place_of(volume: str | CopiedVolume, part: str) -> tuple[str, str]:
    """The folder in the container of `part`, and the name of the data there."""
    if isinstance(volume, CopiedVolume):
        return volume.target, volume.data
    name, _, folder = ("", "", volume) if volume.startswith("/") else volume.partition(":")
    return folder, name or f"{part}{folder}"


# ---- Names of images by the grammar of the distribution spec: registry/repository:tag@digest

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?P<host>{_HOST})/)?(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}))?"
)
_MOST_OF_A_NAME = 255  # characters of registry and repository together
MOST_CHARACTERS = 500
_HUB = "docker.io"


_ID = re.compile(r"sha256:[a-f0-9]{64}")


@dataclass(frozen=True, slots=True)
class ImageName:
    """The parts of a reference; what it leaves out is as Docker fills it in.

    The id of an image is a name too, without a registry and a path.
    """

    registry: str
    path: str
    tag: str
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError`."""
        if _ID.fullmatch(text):
            return cls("", "", "", text)
        found = _REFERENCE.fullmatch(text) if len(text) <= MOST_CHARACTERS else None
        if found is None or found.end("path") > _MOST_OF_A_NAME:
            raise ValueError("not an image reference: give [registry/]repository[:tag][@digest]")
        host, path = found["host"], found["path"]
        if host is not None and not re.search(r"[.:]|^localhost$|[A-Z]", host):
            host, path = None, f"{host}/{path}"  # the first part of a path on Docker Hub
        if host in (None, _HUB, f"index.{_HUB}"):
            host, path = _HUB, path if "/" in path else f"library/{path}"
        return cls(host, path, found["tag"] or "latest", found["digest"])

    @property
    def repository(self) -> str:
        """The registry and the path in it, as `TUNER_IMAGES_ALLOWED` has them."""
        return f"{self.registry}/{self.path}"

    @property
    def version(self) -> str:
        """What to have of the repository: the digest goes before the tag."""
        return self.digest or self.tag

    @property
    def reference(self) -> str:
        """The whole name, which no engine takes for the beginning of an id."""
        if not self.path:
            return self.version
        return f"{self.repository}{'@' if self.digest else ':'}{self.version}"

    def is_among(self, globs: Collection[str]) -> bool:
        """Whether the repository matches one of them; without any, each does."""
        return not globs or any(fnmatchcase(self.repository, glob) for glob in globs)


def _checked(text: str) -> str:
    ImageName.parse(text)
    return text


ImageText = Annotated[str, Field(max_length=MOST_CHARACTERS), AfterValidator(_checked)]
