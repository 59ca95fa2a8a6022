"""The JSON that uWSGI's stats socket sends on every connect (2.0.31), boiled down to what we use.

`listen_queue_errors` is left out: uWSGI never increments it. So are `rss` and `vsz`, which are 0
unless memory-report is on, and `avg_rt`, which is a mean of the last few requests only.
"""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """uWSGI's counters since it started; they survive the respawn of a worker process."""

    processes: int
    cores: int  # slots that can hold a request: processes * threads (or * async cores)
    accepting: int  # processes that have loaded the app and take requests
    cheap: int  # processes that `cheaper` has put to sleep on purpose
    requests: int
    respawns: int  # process starts beyond the first of each
    running_us: int  # time spent in requests, summed over all processes

    @property
    def is_ready(self) -> bool:
        """Whether every process that should take requests does."""
        return self.accepting > 0 and self.accepting + self.cheap >= self.processes


def parse(text: str) -> Stats:
    """Read one stats document. Raises `ValueError` where it is not one."""
    try:
        document = json.loads(text)
        workers = document["workers"]
        return Stats(
            processes=len(workers),
            cores=sum(len(worker["cores"]) for worker in workers),
            accepting=sum(bool(w["accepting"]) and w["status"] != "cheap" for w in workers),
            cheap=sum(worker["status"] == "cheap" for worker in workers),
            requests=sum(worker["requests"] for worker in workers),
            respawns=sum(max(0, worker["respawn_count"] - 1) for worker in workers),
            running_us=sum(worker["running_time"] for worker in workers),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a uWSGI stats document: {error!r}") from error
