"""One measurement at a time on a machine, also for workers of different databases."""

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tuner.db.embedded import taken
from tuner.errors import Aborted

log = logging.getLogger(__name__)

HOST_LOCK = Path(tempfile.gettempdir()) / "uwsgi-tuner-bench.lock"
_LOOK_EVERY_S = 0.3  # a cancelled measurement has to stop within 2 s


@contextmanager
def alone_on_this_machine(aborted: Callable[[], bool]) -> Iterator[None]:
    """Wait until no other worker measures on this machine. Raises `Aborted` while waiting."""
    handle = os.open(HOST_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not taken(handle):
            log.info("another service measures on this machine: waiting (lock %s)", HOST_LOCK)
            while not taken(handle):
                if aborted():
                    raise Aborted("cancelled while another service measured here")
                time.sleep(_LOOK_EVERY_S)
        yield
    finally:
        os.close(handle)
