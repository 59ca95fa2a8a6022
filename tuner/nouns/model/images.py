"""Names of images by the grammar of the distribution spec: registry/repository:tag@digest."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Self

from pydantic import AfterValidator, Field

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
