"""The search-space document: what may be varied, within which bounds, on which conditions.

Bounds and conditions are small arithmetic expressions over the job's own numbers (`cpus`,
`memory_mb`, `somaxconn`, `concurrency`, ...), so that one file serves every size of box.
`tuner.targets.search_space` gives them their meaning; this module only says what may be written.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator

from tuner.nouns.model import limits
from tuner.nouns.model.base import Document

Scalar = bool | int | str
"""A parameter's value. `bool` stands first: it must not be read as an int."""

Params = Mapping[str, Scalar]
"""Values by parameter name of the search space, as in `{"processes": 4, "logging": "user"}`."""

Expression = int | bool | Annotated[str, Field(max_length=500)]
"""A number, or arithmetic such as `min(max(4, 4 * ceil(cpus)), 64)`."""

OptionName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A name that may stand before the `=` of a uwsgi.ini: one word, so that it is one line."""

Setting = bool | int | Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{0,500}$")]
"""What may stand behind the `=`: no control characters, so that it stays one line."""


class OwnValue(Document):
    """The value that the user's file gives another option."""

    of: OptionName = Field(description="the option of the file; it has to be there once")


Emitted = Setting | OwnValue | None
"""What a choice makes of an option: a value, the value of another option, or None: taken out."""


class _Parameter(Document):
    when: Expression = Field(True, description="searched only where this holds for the job")
    needs: Expression = Field(True, description="meaningful only where this holds for the others")
    note: str = Field("", max_length=500, description="what else it changes, for people")


class IntParameter(_Parameter):
    """A whole number between two derived bounds; `log: true` for what scales by ratio."""

    type: Literal["int"] = Field(description="a whole number")
    low: Expression = Field(description="least value")
    high: Expression = Field(description="greatest value")
    log: bool = Field(False, description="searched by ratio")


class ChoiceParameter(_Parameter):
    """One of some values; `emit` says which options a value stands for, where it is not itself."""

    type: Literal["choice"] = Field(description="one of some values")
    values: tuple[Expression, ...] = Field(
        min_length=1, max_length=64, description="the values to choose from"
    )
    emit: dict[str, dict[OptionName, Emitted]] = Field(
        {},
        description="the options and kernel settings that a value stands for, by value; "
        "an option at null comes out of the file",
    )

    @field_validator("emit")
    @classmethod
    def _sets_what_a_container_has(
        cls, given: dict[str, dict[str, Emitted]]
    ) -> dict[str, dict[str, Emitted]]:
        return {
            value: {
                **options,
                **limits.settled({n: v for n, v in options.items() if limits.is_sysctl(n)}),
            }
            for value, options in given.items()
        }


class BoolParameter(_Parameter):
    """On or off."""

    type: Literal["bool"] = Field(description="on or off")


Parameter = Annotated[IntParameter | ChoiceParameter | BoolParameter, Field(discriminator="type")]


class Constraint(Document):
    """A rule with what to say where it does not hold."""

    rule: str = Field(max_length=500, description="an expression that has to hold")
    reason: str = Field(max_length=500, description="what to say where it does not")


class SearchSpace(Document):
    """One `search_spaces/*.yaml`, or the same inline in a job."""

    name: str = Field("inline", description="jobs name the space by it")
    description: str = Field("", description="the purpose of the space")
    requires: tuple[Constraint, ...] = Field(
        (),
        max_length=16,
        description="rules over the job; one that does not hold refuses the space",
    )
    parameters: dict[OptionName, Parameter] = Field(
        min_length=1, max_length=32, description="what the search varies, by name"
    )
    constraints: tuple[Constraint, ...] = Field(
        (),
        max_length=64,
        description="rules over the parameters together; what breaks one is never started",
    )
    heuristics: tuple[dict[str, Expression], ...] = Field(
        (),
        max_length=32,
        description="what experts would try first; measured before the sampler is asked",
    )
