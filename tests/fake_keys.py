"""The store's calls about keys and the audit, in memory; `tests/contract/test_keys.py` keeps them
honest."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from secrets import token_urlsafe

from tests.fake_base import Store
from tuner.nouns.errors import NotFound
from tuner.nouns.model import Action, AuditEntry, JobId, Key, Scope


@dataclass
class _Kept:
    by_secret: dict[str, Key] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    entries: list[AuditEntry] = field(default_factory=list)
    cookie_secret: str = field(default_factory=token_urlsafe)


class FakeKeys(Store):
    """Part of a store in memory."""

    @property
    def _of_keys(self) -> _Kept:
        found: _Kept = self.__dict__.setdefault("_keys_kept", _Kept())
        return found

    def note(
        self, by: str | None, action: Action, job_id: JobId | None = None, said: str = ""
    ) -> None:
        """Write into the audit."""
        entries, now = self._of_keys.entries, datetime.now(UTC)
        made = AuditEntry(id=len(entries) + 1, at=now, who=by, action=action, job=job_id, said=said)
        entries.append(made)

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
        number, now = next(self._of_keys.numbers), datetime.now(UTC)
        key = Key(
            id=number,
            name=name,
            scope=scope,
            apps=tuple(apps),
            reads=tuple(reads),
            created_at=now,
            expires_at=expires_at,
        )
        self._of_keys.by_secret[secret] = key
        self.note(by, Action.CREATE_KEY, said=f"key {key.id}, {key.what}")
        return key

    def keys(self) -> list[Key]:
        return sorted(self._of_keys.by_secret.values(), key=lambda key: key.id)

    def revoke_key(self, number: int, *, by: str) -> Key:
        for secret, key in self._of_keys.by_secret.items():
            if key.id == number:
                del self._of_keys.by_secret[secret]
                self.note(by, Action.REVOKE_KEY, said=f"key {key.id}, {key.name}")
                return key
        raise NotFound(f"there is no key {number}")

    def key_of(self, secret: str) -> Key | None:
        return _lasting(self._of_keys.by_secret.get(secret))

    def key(self, number: int) -> Key | None:
        return _lasting(next((key for key in self.keys() if key.id == number), None))

    def cookie_secret(self) -> str:
        return self._of_keys.cookie_secret

    def write_audit(self, by: str | None, action: Action, said: str = "") -> None:
        self.note(by, action, said=said)

    def audit(self, after: int | None, limit: int) -> list[AuditEntry]:
        found = [e for e in reversed(self._of_keys.entries) if after is None or e.id < after]
        return found[:limit]


def _lasting(key: Key | None) -> Key | None:
    is_over = key is not None and key.expires_at and key.expires_at <= datetime.now(UTC)
    return None if is_over else key
