"""Keys, of which only hashes are stored, and the audit of what callers have changed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from secrets import token_urlsafe

from sqlalchemy import Connection, Select, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.model import MOST_LINKS, Action, AuditEntry, JobId, Key, Link, Scope
from tuner.store.db import jobs
from tuner.store.db.engine import Database
from tuner.store.db.rows import sha256_of
from tuner.store.db.tables import audit, keys, links, secrets

_KEY = [keys.c[name] for name in Key.model_fields]
_COOKIES = "cookies"
_AT_ONCE = 1_000
_LASTS = or_(keys.c.expires_at.is_(None), keys.c.expires_at > func.now())


def note(
    connection: Connection,
    by: str | None,
    action: Action,
    job_id: JobId | None = None,
    said: str = "",
) -> None:
    """Write a change into the audit, in the transaction that makes it."""
    values = {"who": by, "action": action, "job": job_id, "said": said}
    # Nothing of the row is read back: a worker's role may only add to the audit.
    connection.execute(insert(audit).values(values).inline())


class Keys(Database):
    """The store's calls about keys and the audit."""

    def create_key(
        self,
        name: str,
        scope: Scope,
        secret: str,
        expires_at: datetime | None,
        *,
        by: str,
        apps: Sequence[str] = (),
        reads: Sequence[str] = (),
    ) -> Key:
        """A new key, which `secret` opens.

        `apps` are globs of those that it may change, and `reads` of those that it may read.
        """
        rights = {"scope": scope, "apps": [*apps], "reads": [*reads]}
        values = {"name": name, "expires_at": expires_at, **rights}
        created = insert(keys).values(**values, secret_sha256=sha256_of(secret)).returning(*_KEY)
        with self._transaction() as connection:
            key = Key(**connection.execute(created).mappings().one())
            note(connection, by, Action.CREATE_KEY, said=f"key {key.id}, {key.what}")
            return key

    def keys(self) -> list[Key]:
        """All keys in the order of their making; those that have expired too."""
        with self._at_once() as connection:
            found = connection.execute(select(*_KEY).order_by(keys.c.id)).mappings()
            return [Key(**row) for row in found]

    def revoke_key(self, number: int, *, by: str) -> Key:
        """Delete a key: from now on it opens nothing. Raises `NotFound`."""
        deleted = delete(keys).where(keys.c.id == number).returning(*_KEY)
        with self._transaction() as connection:
            row = connection.execute(deleted).mappings().one_or_none()
            if row is None:
                raise NotFound(f"there is no key {number}")
            key = Key(**row)
            note(connection, by, Action.REVOKE_KEY, said=f"key {key.id}, {key.name}")
            return key

    def key_of(self, secret: str) -> Key | None:
        """The key that has this secret and lasts; in one statement, for each request."""
        return self._one(select(*_KEY).where(keys.c.secret_sha256 == sha256_of(secret), _LASTS))

    def key(self, number: int) -> Key | None:
        """The key of that number, if it lasts."""
        return self._one(select(*_KEY).where(keys.c.id == number, _LASTS))

    def _one(self, query: Select[tuple[object, ...]]) -> Key | None:
        with self._at_once() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return Key(**row) if row is not None else None

    def cookie_secret(self) -> str:
        """What signs the cookies of all processes of the API; made by the first call."""
        new = insert(secrets).values(name=_COOKIES, value=token_urlsafe(32))
        query = select(secrets.c.value).where(secrets.c.name == _COOKIES)
        with self._transaction() as connection:
            connection.execute(new.on_conflict_do_nothing())
            return str(connection.execute(query).scalar_one())

    def write_audit(self, by: str | None, action: Action, said: str = "") -> None:
        """Write what changed no other row into the audit."""
        with self._transaction() as connection:
            note(connection, by, action, said=said)

    def audit(self, after: int | None, limit: int) -> Sequence[AuditEntry]:
        """Newest first; `after` is the last number of the page before."""
        query = select(audit).order_by(audit.c.id.desc()).limit(limit)
        if after is not None:
            query = query.where(audit.c.id < after)
        with self._at_once() as connection:
            return [AuditEntry(**row) for row in connection.execute(query).mappings()]

    def audit_since(self, number: int) -> Iterator[AuditEntry]:
        """All later entries, the oldest first, page by page: a service may have millions."""
        while True:
            query = select(audit).where(audit.c.id > number).order_by(audit.c.id).limit(_AT_ONCE)
            with self._at_once() as connection:
                found = [AuditEntry(**row) for row in connection.execute(query).mappings()]
            yield from found
            if len(found) < _AT_ONCE:
                return
            number = found[-1].id


# ---- Read-only links to jobs. Of the secret in an address only its hash is stored

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
