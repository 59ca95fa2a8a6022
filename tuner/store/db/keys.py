"""Keys, of which only hashes are stored, and the audit of what callers have changed."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, Select, delete, func, insert, or_, select

from tuner.nouns.errors import NotFound
from tuner.nouns.model import Action, AuditEntry, JobId, Key, Scope
from tuner.store.db.engine import Database
from tuner.store.db.rows import sha256_of
from tuner.store.db.tables import audit, keys

_KEY = [keys.c[name] for name in Key.model_fields]
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
    connection.execute(insert(audit).values(values))


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
    ) -> Key:
        """A new key, which `secret` opens. `apps` are globs of those that it may change."""
        values = {"name": name, "scope": scope, "expires_at": expires_at, "apps": [*apps]}
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

    def audit(self, after: int | None, limit: int) -> Sequence[AuditEntry]:
        """Newest first; `after` is the last number of the page before."""
        query = select(audit).order_by(audit.c.id.desc()).limit(limit)
        if after is not None:
            query = query.where(audit.c.id < after)
        with self._at_once() as connection:
            return [AuditEntry(**row) for row in connection.execute(query).mappings()]
