"""The labels of our containers, to find them again."""

from collections.abc import Mapping

MINE = "tuner"
INSTANCE = "tuner.instance"
JOB = "tuner.job"
MEASUREMENT = "tuner.bench.measurement"
STATE = "tuner.state"  # the job whose arms start with it
STATE_KEY = "tuner.state.key"
PART = "tuner.state.part"
COPY_OF = "tuner.state.copy_of"  # the volume of a state that an arm's volume was copied from
GUARD = "tuner.guard"  # the worker that has the machine's lock; no reap removes it


def of_instance(instance: str) -> dict[str, str]:
    """The labels of every container of one service."""
    return {MINE: "1", INSTANCE: instance}


def query(labels: Mapping[str, str]) -> dict[str, list[str]]:
    """The filter for containers that carry all of `labels`."""
    return {"label": [f"{name}={value}" for name, value in labels.items()]}
