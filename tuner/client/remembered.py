"""Answers by ETag: the service sends an answer again only after a change."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

MOST_ANSWERS = 64


@dataclass(slots=True)
class Remembered:
    """The latest answers with a tag, by request. The least recently used one goes first."""

    size: int = MOST_ANSWERS
    _known: OrderedDict[Hashable, tuple[str, Any]] = field(default_factory=OrderedDict)

    def get(self, asked: Hashable) -> tuple[str, Any] | None:
        """Tag and answer."""
        found = self._known.get(asked)
        if found is not None:
            self._known.move_to_end(asked)
        return found

    def keep(self, asked: Hashable, tag: str | None, answer: Any) -> None:
        """Keep the answer. Without a tag, forget the old one too."""
        self._known.pop(asked, None)
        if tag:
            self._known[asked] = (tag, answer)
            while len(self._known) > self.size:
                self._known.popitem(last=False)

    def __len__(self) -> int:
        return len(self._known)
