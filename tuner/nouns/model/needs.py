"""What an app needs in its container beside its image."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from tuner.nouns.model.document import Document

SECRETS = "/run/secrets"
"""The folder of secret files in a container, as in Compose."""

EnvName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class FromWorker(Document):
    """A secret that stays on the benchmark host: it is in no row and in no document."""

    from_worker: EnvName = Field(description="name of a variable in the worker's environment")


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

    @property
    def in_memory(self) -> dict[str, str]:
        """The folders in memory with their options, such as `size=64m` or nothing."""
        return dict(folder.partition(":")[::2] for folder in self.tmpfs)
