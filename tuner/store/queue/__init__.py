"""The queue: procrastinate on our own PostgreSQL. Only this package imports procrastinate.

Queue        defers `advance` and `measure` in the caller's transaction (`tasks`)
run_worker   runs them on a benchmark host, one at a time, until it is stopped
"""

from tuner.store.queue.tasks import Queue
from tuner.store.queue.worker import Handlers, run_worker
