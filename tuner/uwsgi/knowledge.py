"""The data files of this package: lint pages and option notes. They are read only here.

YAML turns text into plain values; the callers give them types.
"""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import yaml

_PACKAGE = files("tuner.uwsgi")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser is 8 times as fast; builds of PyYAML without libyaml have no such class."""


def table(path: str) -> Iterator[str]:
    """The lines of a text file, for example `options/known.tsv`."""
    yield from _PACKAGE.joinpath(path).read_text(encoding="utf-8").splitlines()


def mapping(path: str) -> Mapping[str, Any]:
    """One YAML file whose top level is a mapping."""
    found: Mapping[str, Any] = yaml.load(_PACKAGE.joinpath(path).read_bytes(), _LOADER)  # noqa: S506
    return found


def pages(folder: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each Markdown page of a folder by file name: its front matter, and the text below it."""
    names = sorted(page.name for page in _PACKAGE.joinpath(folder).iterdir())
    texts = [_PACKAGE.joinpath(folder, name).read_text(encoding="utf-8") for name in names]
    parts = [text.split("---\n", 2)[1:] for text in texts if text.startswith("---\n")]
    heads = yaml.load_all("---\n".join(head for head, _ in parts), _LOADER)
    return ((head, body.strip()) for head, (_, body) in zip(heads, parts, strict=True))
