"""The queue: procrastinate on our own PostgreSQL. Nothing else imports procrastinate.

Queue        defers `advance` and `measure` within the caller's transaction
run_worker   runs them on a benchmark host, one at a time, until told to stop
host_lock    one worker per host name and database
"""

from tuner.queue.deferring import Queue
from tuner.queue.liveness import host_lock
from tuner.queue.worker import Handlers, run_worker

__all__ = ["Handlers", "Queue", "host_lock", "run_worker"]
