"""What production may be unlike the bench: the conditions under which a gain is checked again."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tuner.nouns.model.services import Runs
from tuner.nouns.model.targets import Target
from tuner.nouns.model.workloads import Workload, scaled

DISTANCE = 4.0
"""Times the round trip of the bench: from the same zone to the next one, or a slow network."""


class Condition(StrEnum):
    """One way in which production may differ."""

    BESIDE = "beside"
    FARTHER = "farther"
    HALF_LOAD = "half_load"
    DOUBLE_LOAD = "double_load"

    @property
    def sentence(self) -> str:
        """Where production is like this, for a person."""
        return _TABLE[self]

    def applied(self, target: Target, workload: Workload) -> tuple[Target, Workload]:
        """App and load under this condition."""
        match self:
            case Condition.BESIDE:
                beside = {"runs": Runs.BESIDE, "rtt_ms": 0.0}
                # An API outside, which a stub stands for, runs on no machine of the user.
                own = {name for name, each in target.services.items() if each.stub is None}
                theirs = dict.fromkeys(own - target.beside, beside)
                return _with_services(target, theirs), workload
            case Condition.FARTHER:
                ways = {n: {"rtt_ms": DISTANCE * ms} for n, ms in target.delayed_ms.items()}
                return _with_services(target, ways), workload
            case Condition.HALF_LOAD:
                return target, scaled(workload, 0.5)
            case Condition.DOUBLE_LOAD:
                return target, scaled(workload, 2.0)


_TABLE: Mapping[Condition, str] = {
    Condition.BESIDE: "the services share the app's CPUs",
    Condition.FARTHER: "the services are four times as far away",
    Condition.HALF_LOAD: "the load is half of this",
    Condition.DOUBLE_LOAD: "the load is twice this",
}

_WITH_MORE_SLOTS = (
    Condition.BESIDE,
    Condition.HALF_LOAD,
    Condition.DOUBLE_LOAD,
    Condition.FARTHER,
)
_WITH_FEWER_SLOTS = (
    Condition.FARTHER,
    Condition.DOUBLE_LOAD,
    Condition.BESIDE,
    Condition.HALF_LOAD,
)


@dataclass(frozen=True, slots=True)
class Slots:
    """Requests that both files serve at once."""

    baseline: float
    candidate: float


def conditions_of(target: Target, workload: Workload, slots: Slots) -> tuple[Condition, ...]:
    """The conditions that differ from the bench, the likeliest to turn the sign first.

    Slots that are added take CPU from services beside the app; slots that are saved are missing
    where requests wait longer.
    """
    order = _WITH_FEWER_SLOTS if slots.candidate < slots.baseline else _WITH_MORE_SLOTS
    return tuple(c for c in order if c.applied(target, workload) != (target, workload))


def _with_services(target: Target, changes: Mapping[str, dict[str, Any]]) -> Target:
    """The app with other fields of these services."""
    changed = {name: target.services[name].model_copy(update=its) for name, its in changes.items()}
    return target.model_copy(update={"services": {**target.services, **changed}})
