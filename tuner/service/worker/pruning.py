"""What a worker removes, between two measurements: it would disturb them."""

import logging
from datetime import timedelta
from typing import Protocol

PRUNES = "17 * * * *"  # cron

log = logging.getLogger(__name__)


class OldRows(Protocol):
    """The store as pruning needs it."""

    def prune_windows(self, age: timedelta) -> int:
        """Remove windows and series of jobs that ended earlier; of how many jobs."""

    def prune_jobs(self, age: timedelta) -> int:
        """Delete jobs that ended earlier; how many."""


def prune(store: OldRows, windows_kept: timedelta | None, jobs_kept: timedelta | None) -> None:
    """Remove what is older, from the end of its job on. None: it is kept for ever."""
    deleted = store.prune_jobs(jobs_kept) if jobs_kept else 0
    thinned = store.prune_windows(windows_kept) if windows_kept else 0
    if deleted or thinned:
        log.info("old jobs: %d deleted, %d lost windows and series", deleted, thinned)
