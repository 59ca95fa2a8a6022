"""Who sends a request, and which scope it needs: the one place that decides."""

import hashlib
import hmac
import re
import secrets
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Protocol

from itsdangerous import BadData, URLSafeTimedSerializer

from tuner.nouns.model import Caller, Key, Scope

# ---- Sessions of browsers: a signed cookie that holds all of a session, so nothing is stored
#
# The key that signs comes from the API key: with another API key all sessions have ended.

COOKIE = "tuner_session"
LASTS_S = 12 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who has signed in. Only pages of the session know its token: forms send it back."""

    name: str
    token: str = field(repr=False)
    key: int | None = None  # the number of the stored key; None: the key in the settings

    def owns(self, token: str) -> bool:
        """Whether this is its token."""
        return hmac.compare_digest(token.encode(), self.token.encode())


def new_session(name: str, key: int | None = None) -> Session:
    """A session with a token of its own."""
    return Session(name=name, token=secrets.token_urlsafe(32), key=key)


def signed(session: Session, api_key: str) -> str:
    """The value of its cookie."""
    return _signer(api_key).dumps(asdict(session))


def session_in(cookie: str, api_key: str) -> Session | None:
    """None where the cookie was changed, is too old, or comes from another key."""
    try:
        return Session(**_signer(api_key).loads(cookie, max_age=LASTS_S))
    except BadData:
        return None


@cache
def _signer(api_key: str) -> URLSafeTimedSerializer:
    """Its key is slow to derive, so that a cookie is no quick way to guess the API key."""
    secret = hashlib.scrypt(api_key.encode(), salt=b"uwsgi-tuner session", n=2**14, r=8, p=1)
    options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    return URLSafeTimedSerializer(secret, salt="session 1", signer_kwargs=options)


FIRST_KEY = "TUNER_API_KEY"
"""The name of the key in the settings, which needs no database."""

FIRST_CALLER = Caller(name=FIRST_KEY, scope=Scope.ADMIN, key_name=FIRST_KEY)

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
            return FIRST_CALLER
        return _caller(self.store.key_of(offered))

    def of_session(self, session: Session) -> Caller | None:
        """Who has signed in, if the key still lasts. Raises `Unavailable`."""
        if session.key is None:
            return FIRST_CALLER.seen_as(session.name)
        found = _caller(self.store.key(session.key))
        return found.seen_as(session.name) if found else None


def _caller(key: Key | None) -> Caller | None:
    if key is None:
        return None
    return Caller(name=key.name, scope=key.scope, key=key.id, key_name=key.name, apps=key.apps)
