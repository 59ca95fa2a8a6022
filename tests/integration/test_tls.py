"""An API with a certificate, and one behind a proxy, each in a process of its own."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from tests.postgres import fresh_database
from tests.running_api import KEY, Running, running_api
from tuner.client import Client
from tuner.nouns.errors import InvalidInput

WRONG_KEY = {"X-API-Key": "another"}


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def api(
    database_url: str, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("api")
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(home / "key.pem")
    for pem in certificate.cert_chain_pems:
        pem.write_to_path(home / "cert.pem", append=True)
    files: Any = {"TUNER_TLS_CERT": str(home / "cert.pem"), "TUNER_TLS_KEY": str(home / "key.pem")}
    with running_api(database_url, home, **files) as running:
        yield running


def test_a_client_that_trusts_the_authority_speaks_https(
    api: Running, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with Client(f"https://localhost:{api.port}", KEY, retries=0) as client:
        assert list(client.jobs()) == []
    with (
        Client(f"https://127.0.0.1:{api.port}", KEY) as client,
        pytest.raises(InvalidInput, match="is not trusted: IP address mismatch"),
    ):
        list(client.jobs())


def test_a_client_that_does_not_know_the_authority_says_so_and_that_something_answers(
    api: Running,
) -> None:
    with Client(f"https://localhost:{api.port}", KEY) as client:
        assert client.answers()
        with pytest.raises(InvalidInput, match="is not trusted: unable to get local issuer"):
            list(client.jobs())


def test_a_file_of_authorities_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ca.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(InvalidInput, match=r"SSL_CERT_FILE: .*ca\.pem: No such file"):
        Client("https://localhost:1", KEY)
    file.write_text("no certificate")
    with pytest.raises(InvalidInput, match=r"SSL_CERT_FILE: .*ca\.pem: "):
        Client("https://localhost:1", KEY)


def test_the_cookie_of_a_session_is_for_https_only(api: Running, authority: trustme.CA) -> None:
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    url = f"https://localhost:{api.port}"
    with httpx.Client(base_url=url, verify=trusting, headers={"Origin": url}) as browser:
        answer = browser.post("/sign-in", data={"key": KEY})
    assert answer.status_code == 303, answer.text
    assert "; secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    ("proxies", "logged"),
    [("127.0.0.1,10.0.0.0/8", "192.0.2.7"), ("10.0.0.0/8", "127.0.0.1")],
)
def test_an_address_that_is_forwarded_counts_if_a_proxy_of_ours_says_it(
    database_url: str, tmp_path: Path, proxies: str, logged: str
) -> None:
    with running_api(database_url, tmp_path, TUNER_PROXIES=proxies) as running:
        headers = {**WRONG_KEY, "X-Forwarded-For": "192.0.2.7"}
        assert httpx.get(f"{running.url}/v1/jobs", headers=headers).status_code == 401
        assert f"a wrong key from {logged} for GET" in running.log()
