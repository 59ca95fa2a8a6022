"""Who sends a request, and which scope it needs: the one place that decides."""

import hashlib
import hmac
import re
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer
from pydantic import TypeAdapter

from tuner.nouns.model import Caller, Key, Scope
from tuner.service.api.provider import Flow, Person, Rights
from tuner.store.db import Store

# ---- Sessions of browsers: a signed cookie that holds all of a session, so nothing is stored
#
# What signs is a random secret of the store together with the first key. Nobody can guess the key
# from a cookie, a copy of the store makes no cookie, and with another key all sessions have ended.

COOKIE = "tuner_session"
LASTS_S = 12 * 3600
FLOW_COOKIE = "tuner_flow"
FLOW_LASTS_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who has signed in. Only pages of the session know its token: forms send it back."""

    name: str
    token: str = field(repr=False)
    key: int | None = None  # the number of the stored key; None: the key in the settings
    # Of somebody whom the identity provider has let in:
    scope: Scope | None = None
    apps: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    until: float | None = None  # seconds since 1970

    def owns(self, token: str) -> bool:
        """Whether this is its token."""
        return hmac.compare_digest(token.encode(), self.token.encode())


_SESSION: TypeAdapter[Session] = TypeAdapter(Session)


def new_session(name: str, key: int | None = None) -> Session:
    """A session with a token of its own."""
    return Session(name=name, token=secrets.token_urlsafe(32), key=key)


def session_of_person(person: Person, rights: Rights) -> Session:
    """The session of somebody whom the identity provider has let in; it ends with the ID token."""
    return Session(
        name=person.name,
        token=secrets.token_urlsafe(32),
        scope=rights.scope,
        apps=rights.apps,
        reads=rights.reads,
        until=person.until,
    )


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


MOST_WRONG_KEYS = 60
"""A minute from one address. Then it waits, so that nobody guesses a weak key."""

_MINUTE_S = 60.0
_MOST_ADDRESSES = 10_000


@dataclass(slots=True)
class WrongKeys:
    """Wrong keys of the last minute by address.

    An address with too many of them has to wait, but with a key that was right before: the others
    behind the same proxy may go on.
    """

    most: int = MOST_WRONG_KEYS
    now: Callable[[], float] = time.monotonic
    _wrong: dict[str, deque[float]] = field(default_factory=dict)
    _right: dict[bytes, None] = field(default_factory=dict)

    def must_wait(self, address: str, offered: str) -> bool:
        """Whether this key is not looked at."""
        times = self._wrong.get(address, deque())
        while times and self.now() - times[0] > _MINUTE_S:
            times.popleft()
        return len(times) >= self.most and _digest(offered) not in self._right

    def add(self, address: str) -> bool:
        """Count a wrong key. Whether it is the first of a minute, or the last before a wait."""
        times = self._wrong.pop(address, None) or deque(maxlen=self.most)
        is_first = not times or self.now() - times[-1] > _MINUTE_S
        times.append(self.now())
        self._wrong[address] = times
        _forget_oldest(self._wrong)
        return is_first or len(times) == self.most

    def is_worth_a_row(self, name: str) -> bool:
        """Count a denial; whether the audit gets it: it may not grow with each request."""
        is_few = not self.must_wait(name, "")
        self.add(name)
        return is_few

    def was_right(self, offered: str) -> None:
        """Remember a key, or rather its hash."""
        self._right[_digest(offered)] = None
        _forget_oldest(self._right)


def _digest(offered: str) -> bytes:
    return hashlib.sha256(offered.encode()).digest()


def _forget_oldest(kept: dict[Any, Any]) -> None:
    while len(kept) > _MOST_ADDRESSES:
        del kept[next(iter(kept))]


@dataclass(frozen=True)
class Callers:
    """The first key, and those in the store."""

    first_key: str = field(repr=False)
    store: Store

    def signed(self, session: Session) -> str:
        """The value of its cookie. Raises `Unavailable`."""
        return self._signer.dumps(asdict(session))

    def session_in(self, cookie: str) -> Session | None:
        """None where the cookie was changed, is too old, or was signed with another first key.

        Raises `Unavailable`.
        """
        found = self._opened(cookie, LASTS_S) if cookie else None
        if found is None or "flow" in found:
            return None
        session = _SESSION.validate_python(found)
        return None if session.until is not None and session.until <= time.time() else session

    def signed_flow(self, flow: Flow) -> str:
        """The value of the cookie of a sign-in that has begun. Raises `Unavailable`."""
        return self._signer.dumps({"flow": asdict(flow)})

    def flow_in(self, cookie: str) -> Flow | None:
        """None where it was changed, or is too old. Raises `Unavailable`."""
        found = self._opened(cookie, FLOW_LASTS_S) or {}
        return Flow(**found["flow"]) if "flow" in found else None

    def _opened(self, cookie: str, lasts_s: float) -> Any:
        try:
            return self._signer.loads(cookie, max_age=int(lasts_s))
        except BadData:
            return None

    @cached_property
    def _signer(self) -> URLSafeTimedSerializer:
        secret = hmac.digest(self.store.cookie_secret().encode(), self.first_key.encode(), "sha256")
        options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        return URLSafeTimedSerializer(secret, salt="session 2", signer_kwargs=options)

    def of_key(self, offered: str) -> Caller | None:
        """Who has this key; the first one works without a database. Raises `Unavailable`."""
        if is_key(offered, self.first_key):
            return FIRST_CALLER
        return _caller(self.store.key_of(offered))

    def of_session(self, session: Session) -> Caller | None:
        """Who has signed in, if the key still lasts. Raises `Unavailable`."""
        if session.until is not None and session.until <= time.time():
            return None
        if session.scope is not None:
            return Caller(
                name=session.name,
                scope=session.scope,
                key_name=session.name,
                apps=session.apps,
                reads=session.reads,
            )
        if session.key is None:
            return FIRST_CALLER.seen_as(session.name)
        found = _caller(self.store.key(session.key))
        return found.seen_as(session.name) if found else None


def _caller(key: Key | None) -> Caller | None:
    if key is None:
        return None
    return Caller(
        name=key.name,
        scope=key.scope,
        key=key.id,
        key_name=key.name,
        apps=key.apps,
        reads=key.reads,
    )
