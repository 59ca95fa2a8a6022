"""The labels by which our containers are found again."""

from collections.abc import Mapping

MINE = "tuner"
INSTANCE = "tuner.instance"
JOB = "tuner.job"
MEASUREMENT = "tuner.measurement"


def of_instance(instance: str) -> dict[str, str]:
    """What every container of one service carries."""
    return {MINE: "1", INSTANCE: instance}


def query(labels: Mapping[str, str]) -> dict[str, list[str]]:
    """The filter that lists the containers carrying all of `labels`."""
    return {"label": [f"{name}={value}" for name, value in labels.items()]}
