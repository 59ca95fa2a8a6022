"""Read-only links to jobs. Of the secret in an address only its hash is stored."""

from datetime import datetime

from sqlalchemy import delete, func, insert, or_, select

from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.model import MOST_LINKS, Action, JobId, Link
from tuner.store.db import jobs
from tuner.store.db.engine import Database
from tuner.store.db.keys import note
from tuner.store.db.rows import sha256_of
from tuner.store.db.tables import links

_LINK = (links.c.id, links.c.job_id.label("job"), links.c.created_at, links.c.expires_at)


class Links(Database):
    """The store's calls about links."""

    def share(
        self, job_id: JobId, token: str, expires_at: datetime | None, *, by: str | None = None
    ) -> Link:
        """A new link, which `token` opens.

        Raises `NotFound`, or `Conflict` where the job has `MOST_LINKS`.
        """
        values = {"job_id": job_id, "token_sha256": sha256_of(token), "expires_at": expires_at}
        of_job = select(func.count()).select_from(links).where(links.c.job_id == job_id)
        with self._transaction() as connection:
            jobs.read_row(connection, job_id, lock=True)
            if connection.execute(of_job).scalar_one() >= MOST_LINKS:
                raise Conflict(f"job {job_id} has {MOST_LINKS} links; revoke one first")
            created = insert(links).values(values).returning(*_LINK)
            note(connection, by, Action.SHARE, job_id)
            return Link(**connection.execute(created).mappings().one())

    def links(self, job_id: JobId) -> list[Link]:
        """The links of a job in the order of their making; those that have expired too."""
        query = select(*_LINK).where(links.c.job_id == job_id).order_by(links.c.id)
        with self._at_once() as connection:
            return [Link(**row) for row in connection.execute(query).mappings()]

    def unshare(self, job_id: JobId, link: int, *, by: str | None = None) -> None:
        """Revoke a link. Raises `NotFound` where the job has no such link."""
        is_it = (links.c.job_id == job_id, links.c.id == link)
        statement = delete(links).where(*is_it).returning(links.c.id)
        with self._transaction() as connection:
            if connection.execute(statement).one_or_none() is None:
                raise NotFound(f"job {job_id} has no link {link}")
            note(connection, by, Action.UNSHARE, job_id, f"link {link}")

    def shared_job(self, token: str) -> JobId:
        """The job that a link shows. Raises `NotFound` for one that is not, or no longer, valid."""
        lasts = or_(links.c.expires_at.is_(None), links.c.expires_at > func.now())
        query = select(links.c.job_id).where(links.c.token_sha256 == sha256_of(token), lasts)
        with self._at_once() as connection:
            job_id: int | None = connection.execute(query).scalar()
        if job_id is None:
            raise NotFound("this link leads nowhere: it was revoked, or its time is over")
        return JobId(job_id)
