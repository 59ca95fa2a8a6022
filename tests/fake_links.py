"""The store's calls about links, in memory; `tests/contract/test_links.py` keeps them honest."""

from datetime import UTC, datetime
from typing import Any

from tests.fake_keys import FakeKeys
from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.model import MOST_LINKS, Action, JobId, Link


class FakeLinks(FakeKeys):
    """Part of a store in memory."""

    def job(self, job_id: JobId) -> Any:
        """The store's own."""
        raise NotImplementedError

    @property
    def _opened_by(self) -> dict[str, Link]:
        found: dict[str, Link] = self.__dict__.setdefault("_links", {})
        return found

    def share(
        self, job_id: JobId, token: str, expires_at: datetime | None, *, by: str | None = None
    ) -> Link:
        self.job(job_id)
        made = self.links(job_id)
        if len(made) >= MOST_LINKS:
            raise Conflict(f"job {job_id} has {MOST_LINKS} links; revoke one first")
        number = self.__dict__["_last_link"] = self.__dict__.get("_last_link", 0) + 1
        now = datetime.now(UTC)
        link = Link(id=number, job=job_id, created_at=now, expires_at=expires_at)
        self._opened_by[token] = link
        self.note(by, Action.SHARE, job_id)
        return link

    def links(self, job_id: JobId) -> list[Link]:
        return [link for link in self._opened_by.values() if link.job == job_id]

    def unshare(self, job_id: JobId, link: int, *, by: str | None = None) -> None:
        for token, known in self._opened_by.items():
            if (known.job, known.id) == (job_id, link):
                del self._opened_by[token]
                self.note(by, Action.UNSHARE, job_id, f"link {link}")
                return
        raise NotFound(f"job {job_id} has no link {link}")

    def forget_links(self, job_id: JobId) -> None:
        """The job is deleted."""
        for token in [token for token, link in self._opened_by.items() if link.job == job_id]:
            del self._opened_by[token]

    def shared_job(self, token: str) -> JobId:
        link = self._opened_by.get(token)
        if link is None or (link.expires_at and link.expires_at <= datetime.now(UTC)):
            raise NotFound("this link leads nowhere: it was revoked, or its time is over")
        return link.job
