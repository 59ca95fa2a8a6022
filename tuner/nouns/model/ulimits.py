"""Limits of the processes in a container, as Compose has them."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tuner.nouns.model.document import Document

# fmt: off
_Name = Literal[
    "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc",
    "rss", "rtprio", "rttime", "sigpending", "stack",
]
# fmt: on


class Ulimit(Document):
    """A limit of each process; -1: none."""

    soft: int = Field(ge=-1, description="what counts until a process raises it")
    hard: int = Field(ge=-1, description="what a process may raise it to")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.hard != -1 and not -1 < self.soft <= self.hard:
            raise ValueError("soft must not be above hard")
        return self


def _both(given: Any) -> Any:
    """`65536` is the soft and the hard limit."""
    return {"soft": given, "hard": given} if isinstance(given, int) else given


Ulimits = dict[_Name, Annotated[Ulimit, BeforeValidator(_both)]]
