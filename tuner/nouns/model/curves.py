"""The curve of a grid: what one number does while everything else stays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from tuner.nouns.model.noun import about


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The files of a grid that differ in one number alone, in its order."""

    over: Annotated[str, about("the option or limit that grows along the curve")]
    at: Annotated[Mapping[str, str], about("what else the grid varies, with its value here")]
    levels: Annotated[tuple[float, ...], about("values of `over`, the smallest first")]
    arms: Annotated[tuple[str, ...], about("the file of each level")]
    enough: Annotated[
        float | None,
        about(
            "the smallest level from which no later one is better by min_effect; null: the last"
            " one is better than the one before, or noise may hide a gain"
        ),
    ]
    sentence: Annotated[str, about("where the curve stops rising, and what limits it there")]
