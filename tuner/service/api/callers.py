"""Who sends a request, and which scope it needs: the one place that decides."""

import hmac
import re
from dataclasses import dataclass, field
from typing import Protocol

from tuner.nouns.model import Caller, Key, Scope
from tuner.service.api.sessions import Session

FIRST_KEY = "TUNER_API_KEY"
"""The name of the key in the settings, which needs no database."""

SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
CHANGE_NOTHING = ("GET", "HEAD", "OPTIONS")
_POSTS_THAT_CHANGE_NOTHING = ("/v1/lint", "/lint", SIGN_IN, SIGN_OUT)
_OF_ADMINS = ("/v1/audit",)
_ONE_JOB = re.compile(r"/v1/jobs/[^/]*")
_OF_SUBMITTERS = ("/new",)


def is_key(offered: str, key: str) -> bool:
    """Whether it is the key; how long this takes says nothing about the key."""
    # Header text is latin-1; compare_digest takes only bytes where it is not ASCII.
    return hmac.compare_digest(offered.encode(), key.encode())


def scope_needed(method: str, path: str) -> Scope:
    """The least scope for a request; `path` is below the base path."""
    if path in _OF_ADMINS or (method == "DELETE" and _ONE_JOB.fullmatch(path)):
        return Scope.ADMIN
    if path in _OF_SUBMITTERS:
        return Scope.SUBMIT
    looks = method in CHANGE_NOTHING or path in _POSTS_THAT_CHANGE_NOTHING
    return Scope.READ if looks else Scope.SUBMIT


class KeyStore(Protocol):
    """Where keys are. Both raise `Unavailable`."""

    def key_of(self, secret: str) -> Key | None:
        """The key that has this secret and lasts."""

    def key(self, number: int) -> Key | None:
        """The key of that number, if it lasts."""


@dataclass(frozen=True, slots=True)
class Callers:
    """The first key, and those in the store."""

    first_key: str = field(repr=False)
    store: KeyStore

    def of_key(self, offered: str) -> Caller | None:
        """Who has this key; the first one works without a database. Raises `Unavailable`."""
        if is_key(offered, self.first_key):
            return Caller(name=FIRST_KEY, scope=Scope.ADMIN)
        return _caller(self.store.key_of(offered))

    def of_session(self, session: Session) -> Caller | None:
        """Who has signed in, if the key still lasts. Raises `Unavailable`."""
        if session.key is None:
            return Caller(name=FIRST_KEY, scope=Scope.ADMIN).seen_as(session.name)
        found = _caller(self.store.key(session.key))
        return found.seen_as(session.name) if found else None


def _caller(key: Key | None) -> Caller | None:
    if key is None:
        return None
    return Caller(name=key.name, scope=key.scope, key=key.id, apps=key.apps)
