"""The store and the catalogue for a key that may read some apps only.

What is not named here is refused: a new call of the store is closed until somebody has decided.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from tuner.nouns.errors import NotFound
from tuner.nouns.model import AppInBrief, JobId, JobStatus, JobSummary
from tuner.targets.catalogue import HostCatalogue

_OF_A_JOB = frozenset(
    {"job", "status", "version", "pool_of", "app_of", "cancel", "delete_job", "trials", "trial"}
    | {"finish_now"}
    | {"blocks_by_trial", "measurements", "history", "answer_in_brief", "share", "links", "unshare"}
)
"""The calls whose first argument is the number of a job."""

_OF_AN_APP = frozenset({"answered", "app", "latest_in_brief", "report_check"})
"""The calls whose first argument is the name of an app."""

_OF_NO_APP = frozenset(
    {"create_job", "hosts", "activity", "ping", "shared_job", "key_of", "key", "cookie_secret"}
    | {"write_audit", "next_jobs"}
)
"""They show no app; `next_jobs` gives numbers, of which `statuses` tells only those allowed."""


class LimitedStore:
    """A `Store` that knows nothing of other apps: their jobs are not found."""

    def __init__(self, store: Any, globs: Sequence[str]) -> None:
        self._store = store
        self._globs = globs

    def __getattr__(self, name: str) -> Any:
        if name in _OF_A_JOB:
            return partial(self._of_job, getattr(self._store, name))
        if name in _OF_AN_APP:
            return partial(self._of_app, getattr(self._store, name))
        if name in _OF_NO_APP:
            return getattr(self._store, name)
        raise AttributeError(f"{name} is not for a key that may read some apps only")

    def jobs(self, *arguments: Any, **named: Any) -> Sequence[JobSummary]:
        """Those of these apps."""
        found: Sequence[JobSummary] = self._store.jobs(*arguments, **named, among=self._globs)
        return found

    def apps(self, **named: Any) -> Sequence[AppInBrief]:
        """These apps."""
        found: Sequence[AppInBrief] = self._store.apps(**named, among=self._globs)
        return found

    def statuses(self, job_ids: Collection[JobId]) -> list[JobStatus]:
        """Those of these apps."""
        found = self._store.statuses(job_ids)
        return [status for status in found if is_among(status.job.spec.app, self._globs)]

    def _of_job(self, call: Callable[..., Any], job_id: JobId, *rest: Any, **named: Any) -> Any:
        if not is_among(self._store.app_of(job_id), self._globs):
            raise NotFound(f"there is no job {job_id}")
        return call(job_id, *rest, **named)

    def _of_app(self, call: Callable[..., Any], app: str, *rest: Any, **named: Any) -> Any:
        if not is_among(app, self._globs):
            raise NotFound(f"there is no job for an app {app!r} yet")
        return call(app, *rest, **named)


def is_among(app: str, globs: Collection[str]) -> bool:
    """Whether one of the globs fits the app; without any, each does."""
    return not globs or any(fnmatchcase(app, glob) for glob in globs)


def limited_catalogue(known: HostCatalogue, globs: Collection[str]) -> HostCatalogue:
    """The target apps that a caller may read, and all search spaces."""
    apps = {name: app for name, app in known.apps.items() if is_among(name, globs)}
    return replace(known, apps=apps)
