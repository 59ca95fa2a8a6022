"""The JSON that uWSGI's stats socket sends on every connect (2.0.31): the fields that we use.

Left out: `listen_queue_errors`, which uWSGI never increments; `rss` and `vsz`, which are 0 without
memory-report; and `avg_rt`, a mean of only the last few requests.
"""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """uWSGI's counters since its start; they survive the respawn of a worker process."""

    cores: int  # slots that can hold a request: processes * threads (or * async cores)
    requests: int
    respawns: int  # process starts beyond the first of each
    running_us: int  # time spent in requests, summed over all processes


def parse(text: str) -> Stats:
    """Read one stats document. Raises `ValueError` when the text is none."""
    try:
        document = json.loads(text)
        workers = document["workers"]
        return Stats(
            cores=sum(len(worker["cores"]) for worker in workers),
            requests=sum(worker["requests"] for worker in workers),
            respawns=sum(max(0, worker["respawn_count"] - 1) for worker in workers),
            running_us=sum(worker["running_time"] for worker in workers),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a uWSGI stats document: {error!r}") from error
