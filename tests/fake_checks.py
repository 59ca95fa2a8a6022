"""The store's call about checks, in memory; `tests/contract/test_checks.py` keeps it honest."""

from datetime import UTC, datetime
from typing import Any

from tests.fake_links import FakeLinks
from tuner.nouns.errors import NotFound
from tuner.nouns.model import Action, Check, Checker, JobId, NewCheck


class FakeChecks(FakeLinks):
    """Part of a store in memory."""

    def job(self, job_id: JobId) -> Any:
        """The store's own."""
        raise NotImplementedError

    @property
    def checks(self) -> list[tuple[str, Check]]:
        """The checks with their apps, by checker."""
        return [(app, check) for (app, _), check in sorted(self._checked.items())]

    @property
    def _checked(self) -> dict[tuple[str, Checker], Check]:
        found: dict[tuple[str, Checker], Check] = self.__dict__.setdefault("_checks", {})
        return found

    def forget_checks(self, job_id: JobId) -> None:
        """The job is deleted."""
        for known in [known for known, check in self._checked.items() if check.job == job_id]:
            del self._checked[known]

    def report_check(self, app: str, new: NewCheck, *, by: str | None = None) -> Check:
        if self.job(JobId(new.job)).spec.app != app:
            raise NotFound(f"job {new.job} is not of app {app!r}")
        check = Check(**new.model_dump(), at=datetime.now(UTC))
        self._checked[app, new.checker] = check
        held = "holds" if new.holds else "does not hold"
        self.note(by, Action.CHECK, JobId(new.job), f"{app}, {new.checker}: {held}")
        return check
