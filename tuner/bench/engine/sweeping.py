"""Removes what measurements have left: containers, networks and volumes, by their labels."""

import time
from collections.abc import Collection, Mapping
from typing import Any

from tuner.bench.engine import labels
from tuner.bench.engine.connection import Connection

KILL_FOR_S = 1.5  # another thread may still create containers during a kill


def remove_all(connection: Connection, filters: Mapping[str, Any]) -> int:
    """Kill and remove the containers that match; returns how many.

    Looks again until none is left: another thread may create the next one.
    """
    deadline = time.monotonic() + KILL_FOR_S
    removed = 0
    while time.monotonic() < deadline:
        found = [container["Id"] for container in connection.containers(filters)]
        if not found:
            break
        removed += connection.remove(found)
    return removed


def reap(connection: Connection, mine: Mapping[str, str], keep: Collection[str]) -> int:
    """Remove what has the labels `mine`, but for measurements in `keep`; how many containers.

    Volumes with the data of jobs stay.
    """

    def is_left(found: Mapping[str, Any]) -> bool:
        return (found.get("Labels") or {}).get(labels.MEASUREMENT) not in keep

    def is_of_an_arm(found: Mapping[str, Any]) -> bool:
        return is_left(found) and labels.STATE not in (found.get("Labels") or {})

    query = labels.query(mine)
    left = [found["Id"] for found in connection.containers(query) if is_left(found)]
    removed = connection.remove(left)
    volumes = connection.volumes(query)
    connection.remove_volumes(each["Name"] for each in volumes if is_of_an_arm(each))
    networks = connection.networks(query)
    connection.remove_networks(each["Id"] for each in networks if is_left(each))
    return removed
