"""Volumes of an app and its services, and folders beside its target.yaml."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag

from tuner.nouns.model.document import Document
from tuner.nouns.model.needs import Folder

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
