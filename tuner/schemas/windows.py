"""One window, and where it belongs."""

from dataclasses import dataclass
from typing import Annotated

from tuner.model import Phase, Window, about


@dataclass(frozen=True, kw_only=True)
class WindowAnswer(Window):
    """One stretch of load: the raw data of every statistic."""

    block: Annotated[int, about("the block's sequence within the job")]
    phase: Annotated[Phase, about("the phase that the block belongs to")]
    host: Annotated[str | None, about("the host that measured it")]
    trial: Annotated[int, about("the trial, or the file of a comparison, that it measured")]
