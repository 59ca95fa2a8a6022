"""Sessions of browsers: a signed cookie that holds all of a session, so nothing is stored.

The key that signs comes from the API key: with another API key all sessions have ended.
"""

import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass, field
from functools import cache

from itsdangerous import BadData, URLSafeTimedSerializer

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
