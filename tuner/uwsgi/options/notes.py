"""What we know of an option beyond the C source: notes.yaml, read once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tuner.uwsgi import knowledge
from tuner.uwsgi.options.option import Advice


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The fields mean the same as in `Option`; `advice` is None for the default."""

    sentence: str = ""
    default: str | None = None
    since: str | None = None
    rules: tuple[str, ...] = ()
    advice: Advice | None = None


@cache
def notes() -> Mapping[str, Note]:
    """All notes by the option's canonical name."""
    return {
        name: _note(**fields) for name, fields in knowledge.mapping("options/notes.yaml").items()
    }


def _note(rules: tuple[str, ...] = (), advice: str | None = None, **texts: Any) -> Note:
    return Note(rules=tuple(rules), advice=Advice(advice) if advice else None, **texts)
