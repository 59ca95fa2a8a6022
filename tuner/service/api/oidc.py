"""Sign-in by the company's identity provider: OpenID Connect, authorization code with PKCE."""

import logging
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import yaml
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from pydantic import ValidationError
from requests.exceptions import RequestException

from tuner.nouns.errors import InvalidInput, Mistake, Unavailable
from tuner.nouns.model import mistakes_of, printable
from tuner.service.api.provider import Flow, NotLetIn, Person, ProviderFile

ANSWERS_WITHIN_S = 10.0
KNOWN_FOR_S = 3600.0
_SIGNED_WITH = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Never `none`, and no secret that the client shares."""

_SETTING = "TUNER_OIDC_FILE"
_MOST_SAID = 200
log = logging.getLogger(__name__)


class Provider:
    """One identity provider. Threads may share it."""

    def __init__(self, file: ProviderFile) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._known: tuple[float, Mapping[str, Any], KeySet] | None = None

    @classmethod
    def of_file(cls, file: Path) -> Self:
        """The provider that a YAML file describes. Raises `InvalidInput`."""
        try:
            document = yaml.safe_load(file.read_text(encoding="utf-8"))
            return cls(ProviderFile.model_validate(document))
        except OSError as error:
            raise InvalidInput.at(_SETTING, f"{file}: {error.strerror}") from error
        except yaml.YAMLError as error:
            raise InvalidInput.at(_SETTING, f"{file} is no YAML") from error
        except ValidationError as error:
            wrong = [Mistake(f"{file}: {path}", said) for path, said in mistakes_of(error)]
            raise InvalidInput(wrong) from None

    def begin(self, back: str, then: str) -> tuple[str, Flow]:
        """The address at the provider, and what to keep until it leads `back`.

        Raises `Unavailable`.
        """
        metadata, _ = self._metadata()
        flow = Flow(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            then=then,
        )
        with self._session(back) as session:
            address, _ = session.create_authorization_url(
                metadata["authorization_endpoint"],
                state=flow.state,
                nonce=flow.nonce,
                code_verifier=flow.verifier,
            )
        return str(address), flow

    def finish(self, flow: Flow, back: str, query: Mapping[str, str]) -> Person:
        """Who comes back with this query. Raises `NotLetIn` or `Unavailable`."""
        if not secrets.compare_digest(query.get("state", ""), flow.state):
            raise NotLetIn("this sign-in was not begun in this browser: begin again")
        if "error" in query:
            said = query.get("error_description") or query["error"]
            raise NotLetIn(f"{self.file.issuer} says: {printable(said)[:_MOST_SAID]}")
        metadata, keys = self._metadata()
        with self._session(back) as session:
            try:
                token = session.fetch_token(
                    metadata["token_endpoint"],
                    grant_type="authorization_code",
                    code=query.get("code", ""),
                    code_verifier=flow.verifier,
                )
            except AuthlibBaseError as error:
                raise NotLetIn(f"{self.file.issuer} refuses the code: {error}") from error
            except RequestException as error:
                raise self._away(error) from error
        return self._person(self._claims(token, flow, keys))

    def _claims(self, token: Mapping[str, Any], flow: Flow, keys: KeySet) -> Mapping[str, Any]:
        """Those of the ID token, with signature, issuer, audience, times and nonce checked."""
        wanted = {
            "iss": {"essential": True, "value": self.file.issuer},
            "aud": {"essential": True, "value": self.file.client_id},
        }
        known = {
            "nonce": flow.nonce,
            "client_id": self.file.client_id,
            "access_token": token.get("access_token"),
        }
        try:
            found = jwt.decode(str(token.get("id_token", "")), keys, algorithms=_SIGNED_WITH)
            claims = CodeIDToken(found.claims, found.header, wanted, known)
            claims.validate(leeway=30)
        except (JoseError, AuthlibBaseError, ValueError) as error:
            log.warning("an ID token of %s is refused: %s", self.file.issuer, error)
            self._known = None  # the provider may have new keys
            raise NotLetIn(f"the answer of {self.file.issuer} cannot be trusted") from error
        return dict(claims)

    def _person(self, claims: Mapping[str, Any]) -> Person:
        given = claims.get(self.file.groups_claim, ())
        groups = tuple(map(str, [given] if isinstance(given, str) else given))
        rights = [own for name, own in self.file.groups.items() if name in groups]
        joined = rights[0] if rights else None
        for own in rights[1:]:
            joined = own.joined(joined) if joined else own
        names = (claims.get(name) for name in ("email", "preferred_username", "name", "sub"))
        name = next(str(name) for name in names if name)
        return Person(
            name=printable(name)[:_MOST_SAID],
            groups=groups,
            rights=joined,
            until=float(claims["exp"]),
        )

    def _metadata(self) -> tuple[Mapping[str, Any], KeySet]:
        with self._lock:
            if self._known is None or time.monotonic() - self._known[0] > KNOWN_FOR_S:
                self._known = (time.monotonic(), *self._asked())
            return self._known[1], self._known[2]

    def _asked(self) -> tuple[Mapping[str, Any], KeySet]:
        address = f"{self.file.issuer.rstrip('/')}/.well-known/openid-configuration"
        with self._session() as session:
            try:
                metadata = _json(session, address)
                if metadata.get("issuer") != self.file.issuer:
                    raise ValueError(f"it calls itself {metadata.get('issuer')!r}")
                return metadata, KeySet.import_key_set(_json(session, metadata["jwks_uri"]))
            except (RequestException, ValueError, KeyError, JoseError) as error:
                raise self._away(error) from error

    def _session(self, back: str | None = None) -> OAuth2Session:
        return OAuth2Session(
            self.file.client_id,
            self.file.client_secret,
            scope=" ".join(self.file.scopes),
            redirect_uri=back,
            code_challenge_method="S256",
            default_timeout=ANSWERS_WITHIN_S,
        )

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable("the identity provider", f"{self.file.issuer}: {error}")


def _json(session: OAuth2Session, address: str) -> Any:
    answer = session.get(address, withhold_token=True)
    answer.raise_for_status()
    return answer.json()
