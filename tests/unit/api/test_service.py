"""Health, the key, what is away, and the catalogue."""

from datetime import timedelta
from typing import Any

import pytest

from tests import builders, finished_jobs
from tests.fake_store import FakeStore as MemoryStore
from tests.unit.api.fakes import Api, FakeHost, FakeStore
from tuner.nouns.errors import Unavailable
from tuner.nouns.model import Key

KEY = "0123456789abcdef"
LONG_AGO = builders.NOON - timedelta(minutes=5)


def test_a_living_process_is_healthy_whatever_is_away() -> None:
    assert Api(FakeStore(away=True)).get("/healthz").json() == {"status": "ok"}


def test_a_service_with_a_live_host_is_ready() -> None:
    assert Api(FakeStore(machines=[FakeHost()])).get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("store", "system", "words"),
    [
        (FakeStore(away=True), "postgresql", "connection refused"),
        (FakeStore(), "worker", "no worker is live"),
        (FakeStore(machines=[FakeHost(last_seen=LONG_AGO)]), "worker", "no worker is live"),
        (
            FakeStore(machines=[FakeHost(problem="docker is away: no socket")]),
            "host",
            "bench-1: docker is away: no socket",
        ),
    ],
)
def test_what_is_away_makes_it_not_ready(store: FakeStore, system: str, words: str) -> None:
    answer = Api(store).get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["system"] == system
    assert words in answer.json()["detail"]


def test_a_full_disk_makes_it_not_ready() -> None:
    def full() -> None:
        raise Unavailable("postgresql", "3 MB are left on the disk of /data")

    answer = Api(FakeStore(machines=[FakeHost()]), require_room=full).get("/readyz")
    assert (answer.status_code, answer.json()["system"]) == (503, "postgresql")
    assert "3 MB are left" in answer.json()["detail"]


def test_one_host_that_can_measure_is_enough() -> None:
    machines = [FakeHost(problem="docker is away"), FakeHost(name="bench-2")]
    assert Api(FakeStore(machines=machines)).get("/readyz").status_code == 200


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/1", "/v1/apps/shop/uwsgi.ini", "/v1/pools"])
def test_every_answer_from_the_store_is_503_while_postgresql_is_away(path: str) -> None:
    answer = Api(FakeStore(away=True)).get(path)
    assert answer.status_code == 503
    assert answer.json()["system"] == "postgresql"
    assert answer.headers["retry-after"]


def test_submitting_while_postgresql_is_away_is_503() -> None:
    assert Api(FakeStore(away=True)).submit().status_code == 503


@pytest.mark.parametrize(
    "path", ["/v1/jobs", "/v1/pools", "/docs", "/openapi.json", "/nowhere", "/healthz/x"]
)
@pytest.mark.parametrize(
    "headers",
    [{}, {"X-API-Key": "wrong"}, {"Authorization": f"Basic {KEY}"}, {"X-API-Key": b"\xff"}],
)
def test_without_the_key_everything_is_refused(path: str, headers: dict[str, str]) -> None:
    answer = Api(api_key=KEY).get(path, **headers)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("headers", [{"X-API-Key": KEY}, {"Authorization": f"Bearer {KEY}"}])
@pytest.mark.parametrize("path", ["/v1/jobs", "/docs", "/openapi.json"])
def test_with_the_key_everything_is_answered(path: str, headers: dict[str, str]) -> None:
    assert Api(api_key=KEY).get(path, **headers).status_code == 200


def test_health_needs_no_key() -> None:
    api = Api(FakeStore(machines=[FakeHost()]), api_key=KEY)
    assert api.get("/healthz").status_code == api.get("/readyz").status_code == 200


def test_a_fault_of_ours_is_a_problem_without_details() -> None:
    def broken(request: object) -> None:
        raise RuntimeError("secret")

    answer = Api(resolve=broken).submit()
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text


def test_search_spaces_are_listed_and_shown() -> None:
    api = Api()
    listed = api.get("/v1/search-spaces").json()["search_spaces"]
    assert [space["name"] for space in listed] == ["default"]
    assert api.get("/v1/search-spaces/default").json()["parameters"]["processes"]["high"] == 8
    assert api.get("/v1/search-spaces/other").status_code == 404


def test_target_apps_are_listed_with_their_own_file() -> None:
    listed = Api().get("/v1/target-apps").json()["target_apps"]
    assert [(app["name"], app["uwsgi_ini"]) for app in listed] == [("mixed", builders.INI)]


def test_pools_show_their_hosts_and_what_ails_them() -> None:
    machines = [
        FakeHost(name="b", pool="big"),
        FakeHost(name="a", last_seen=LONG_AGO),
        FakeHost(name="c", problem="docker is away"),
    ]
    pools = Api(FakeStore(machines=machines)).get("/v1/pools").json()["pools"]
    assert [pool["name"] for pool in pools] == ["big", "default"]
    hosts = {host["name"]: host for pool in pools for host in pool["hosts"]}
    assert [hosts[name]["live"] for name in "abc"] == [False, True, True]
    assert hosts["c"]["problem"] == "docker is away"
    assert hosts["b"]["fingerprint"]["cpus"] == 2


KEYS = pytest.mark.parametrize("key", [None, KEY])


@KEYS
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "tuner.example:8321"},
        {"Host": "[::1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},  # another program of the user
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://tuner.our.example:3000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_no_web_page_of_others_is_answered(headers: dict[str, str], key: str | None) -> None:
    api = Api(FakeStore(), api_key=key)
    headers = {**headers, "X-API-Key": KEY}
    assert api.send("POST", "/v1/jobs/1/cancel", headers=headers).status_code == 403
    assert api.send("GET", "/v1/jobs", headers=headers).status_code == 403


@KEYS
@pytest.mark.parametrize(
    "host", ["localhost:8321", "127.0.0.1", "[::1]:8321", "10.0.0.7:8321", "Tuner.our.example"]
)
def test_its_own_names_and_addresses_are_answered(host: str, key: str | None) -> None:
    api = Api(FakeStore(), api_key=key)
    same_site = {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    headers = {"Host": host, "X-API-Key": KEY, **same_site}
    assert api.send("GET", "/v1/jobs", headers=headers).status_code == 200


def test_a_proxy_may_send_another_host_than_the_browser() -> None:
    api = Api(FakeStore())
    headers = {"Host": "127.0.0.1:8321", "Origin": "https://tuner.our.example"}
    assert api.send("GET", "/v1/jobs", headers=headers).status_code == 200


def test_a_link_on_another_site_opens() -> None:
    link = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    api = Api(FakeStore())
    assert api.send("GET", "/v1/jobs", headers=link).status_code == 200
    assert api.send("POST", "/v1/jobs/1/cancel", headers=link).status_code == 403


def test_a_stranger_does_not_get_the_address_of_the_database() -> None:
    class Away(FakeStore):
        def ping(self) -> None:
            raise Unavailable("postgresql", 'connection to server at "10.1.2.3", port 5432 failed')

        def key_of(self, secret: str) -> Key | None:
            raise Unavailable("postgresql", 'connection to server at "10.1.2.3", port 5432 failed')

    api = Api(Away(), api_key=KEY)
    for path, headers in (("/readyz", {}), ("/v1/jobs", {"X-API-Key": "wrong"})):
        answer = api.send("GET", path, headers=headers)
        assert answer.status_code == 503
        assert answer.json()["detail"] == "postgresql is away"
        assert "10.1.2.3" not in answer.text


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/999", "/healthz", "/nowhere"])
def test_every_answer_says_what_a_browser_may_do_with_it(path: str) -> None:
    api = Api(FakeStore())
    headers = api.send("GET", path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert "strict-transport-security" not in headers
    secured = api.send("GET", f"https://localhost{path}").headers
    assert secured["strict-transport-security"] == "max-age=31536000"


def test_what_a_checker_said_holds_nothing_that_a_terminal_obeys() -> None:
    store: Any = MemoryStore()
    finished_jobs.stored(store, finished_jobs.recommendation(), app="checkout")
    said = {"checker": "gate", "job": 1, "holds": False, "said": "a\x00b\x1b[31mc\u202ed"}
    made = Api(store).send("POST", "/v1/apps/checkout/checks", json=said)
    assert made.status_code == 201
    assert made.json()["said"] == "a\ufffdb\ufffd[31mc\ufffdd"
