"""What an identity provider may say, and what of it is believed."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tests.fake_store import FakeStore
from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.nouns.model import Scope
from tuner.service.api.callers import Callers, new_session, session_of_person
from tuner.service.api.oidc import Provider
from tuner.service.api.provider import Flow, NotLetIn, Person, ProviderFile, Rights

OWN, ANOTHER = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
FLOW = Flow(state="s", nonce="n", verifier="v" * 43, then="/jobs")
BACK = "http://localhost/sign-in/back"
GROUPS = {
    "ops": Rights(scope=Scope.ADMIN),
    "shop": Rights(scope=Scope.SUBMIT, apps=("shop*",)),
    "till": Rights(scope=Scope.SUBMIT, apps=("till",), reads=("till",)),
    "board": Rights(scope=Scope.READ, reads=("shop*",)),
}


@dataclass
class Signer:
    """The tokens of a provider on loopback; a test changes them."""

    claims: dict[str, Any] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: OWN)
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256"})
    issuer: str = ""
    asked: dict[str, str] = field(default_factory=dict)
    provider: Provider = field(init=False)

    def token(self) -> str:
        """The ID token."""
        now = int(time.time())
        usual = {
            "iss": self.issuer,
            "aud": "tuner",
            "sub": "7",
            "email": "ada@example.com",
            "exp": now + 600,
            "iat": now,
            "nonce": FLOW.nonce,
        }
        claims = {name: own for name, own in {**usual, **self.claims}.items() if own is not None}
        if self.header["alg"] == "none":
            parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
            return ".".join([*(_encoded(part) for part in parts), ""])
        return jwt.encode(self.header, claims, self.key, algorithms=[self.header["alg"]])

    def person(self, **query: str) -> Person:
        """Who comes back."""
        return self.provider.finish(FLOW, BACK, {"state": "s", "code": "c", **query})


def _encoded(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()


@pytest.fixture
def signer() -> Iterator[Signer]:
    made = Signer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys = {"keys": [OWN.as_dict(private=False)]}
            self._send(keys if self.path == "/keys" else metadata(made.issuer))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            made.asked = dict(part.split("=") for part in body.split("&"))
            self._send({"id_token": made.token(), "access_token": "a", "token_type": "Bearer"})

        def _send(self, document: Mapping[str, Any]) -> None:
            content = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.issuer = f"http://127.0.0.1:{server.server_port}"
        made.provider = Provider(file_of(made.issuer))
        yield made
        server.shutdown()


def file_of(issuer: str) -> ProviderFile:
    own = {"issuer": issuer, "client_id": "tuner", "client_secret": "s", "groups": GROUPS}
    return ProviderFile.model_validate(own)


def metadata(issuer: str) -> dict[str, str]:
    ends = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
    return {"issuer": issuer, **{name: f"{issuer}/{end}" for name, end in ends.items()}}


def test_a_sign_in_begins_with_a_challenge_and_ends_with_its_verifier(signer: Signer) -> None:
    address, flow = signer.provider.begin(BACK, "/jobs")
    assert address.startswith(f"{signer.issuer}/auth?")
    for part in ("response_type=code", "code_challenge_method=S256", f"state={flow.state}"):
        assert part in address
    assert flow.verifier not in address
    assert signer.person().name == "ada@example.com"
    assert signer.asked["code_verifier"] == FLOW.verifier


@pytest.mark.parametrize(
    ("claims", "header", "key"),
    [
        ({}, {"alg": "RS256"}, ANOTHER),
        ({}, {"alg": "none"}, OWN),
        ({}, {"alg": "HS256"}, OctKey.import_key("the secret of the client, long enough for it")),
        ({"iss": "http://elsewhere.example"}, {"alg": "RS256"}, OWN),
        ({"aud": "another client"}, {"alg": "RS256"}, OWN),
        ({"aud": ["tuner", "other"], "azp": "other"}, {"alg": "RS256"}, OWN),
        ({"exp": 1_000_000_000}, {"alg": "RS256"}, OWN),
        ({"exp": None}, {"alg": "RS256"}, OWN),
        ({"nonce": "of another sign-in"}, {"alg": "RS256"}, OWN),
        ({"nonce": None}, {"alg": "RS256"}, OWN),
        ({"at_hash": "of another token"}, {"alg": "RS256"}, OWN),
    ],
)
def test_a_token_that_cannot_be_trusted_lets_nobody_in(
    signer: Signer, claims: dict[str, Any], header: dict[str, Any], key: Any
) -> None:
    signer.claims, signer.header, signer.key = claims, header, key
    with pytest.raises(NotLetIn, match="cannot be trusted"):
        signer.person()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"state": "of another browser"}, "not begun in this browser"),
        ({"error": "access_denied", "error_description": "no\x1b[2J"}, "no\ufffd"),
    ],
)
def test_a_refusal_says_why(signer: Signer, query: dict[str, str], words: str) -> None:
    with pytest.raises(NotLetIn, match=words):
        signer.person(**query)


def test_a_provider_that_is_away_or_another_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="the identity provider"):
        Provider(file_of("http://127.0.0.1:1")).begin(BACK, "/")


@pytest.mark.parametrize(
    ("groups", "rights"),
    [
        (["others"], None),
        ("ops", Rights(scope=Scope.ADMIN)),
        (["shop"], Rights(scope=Scope.SUBMIT, apps=("shop*",))),
        (["shop", "till"], Rights(scope=Scope.SUBMIT, apps=("shop*", "till"))),
        (["shop", "board"], Rights(scope=Scope.SUBMIT, apps=("shop*",))),
        (["till", "board"], Rights(scope=Scope.SUBMIT, apps=("till",), reads=("till", "shop*"))),
        (["shop", "ops"], Rights(scope=Scope.ADMIN)),
    ],
)
def test_groups_open_what_the_file_says(signer: Signer, groups: Any, rights: Rights | None) -> None:
    signer.claims = {"groups": groups}
    assert in_any_order(signer.person().rights) == in_any_order(rights)


def in_any_order(rights: Rights | None) -> object:
    return rights and (rights.scope, {*rights.apps}, {*rights.reads})


def test_the_session_ends_with_the_token_and_has_the_rights_of_the_groups() -> None:
    callers = Callers("the first key", FakeStore())
    rights = Rights(scope=Scope.SUBMIT, apps=("shop*",), reads=("shop*",))
    for seconds, lasts in ((600, True), (-1, False)):
        person = Person(name="ada", groups=(), rights=rights, until=time.time() + seconds)
        session = callers.session_in(callers.signed(session_of_person(person, rights)))
        assert (session is not None) is lasts
        if session is not None:
            caller = callers.of_session(session)
            assert caller is not None
            assert (caller.name, caller.scope, caller.apps) == ("ada", Scope.SUBMIT, ("shop*",))
            assert caller.reads == ("shop*",)


def test_the_cookie_of_a_sign_in_that_has_begun_is_no_session() -> None:
    callers = Callers("the first key", FakeStore())
    assert callers.session_in(callers.signed_flow(FLOW)) is None
    assert callers.flow_in(callers.signed_flow(FLOW)) == FLOW
    assert callers.flow_in(callers.signed(new_session("ada"))) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("issuer: [", "is no YAML"),
        ("issuer: https://id.example\n", "client_id"),
        ("no: provider", "groups"),
    ],
)
def test_a_file_with_mistakes_names_them(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "oidc.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=words):
        Provider.of_file(file)
