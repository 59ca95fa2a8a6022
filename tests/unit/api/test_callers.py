"""Which key opens what: every call of the document with every scope, and the pages."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests import builders
from tests.scopes import needed
from tests.sites import Site, Visitor
from tests.unit.api.fakes import Api, finished
from tuner.nouns.model import JobId, Scope
from tuner.service.api.callers import MOST_WRONG_KEYS
from tuner.service.api.security import OPEN_PATHS

FIRST = "the first key"
SECRETS = {scope: f"the secret of {scope}" for scope in Scope}
CALLS = [
    (method.upper(), path)
    for path, operations in Api(api_key=FIRST).app.openapi()["paths"].items()
    for method in operations
]


def keyed() -> Api:
    found = Api(api_key=FIRST)
    for scope, secret in SECRETS.items():
        found.store.create_key(f"team {scope}", scope, secret, None, by="operator")
    return found


@pytest.fixture
def api() -> Api:
    return keyed()


@pytest.fixture(scope="module")
def shared() -> Api:
    """For tests that change nothing."""
    return keyed()


def address(path: str) -> str:
    return re.sub(r"\{\w+\}", "1", path)


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize(("method", "path"), [call for call in CALLS if "events" not in call[1]])
def test_a_call_is_open_to_its_scope_and_those_above(
    shared: Api, method: str, path: str, scope: Scope
) -> None:
    answer = shared.send(method, address(path), headers={"X-API-Key": SECRETS[scope]}, json={})
    if scope.includes(needed(method, path)):
        assert answer.status_code not in (401, 403)
    elif path not in OPEN_PATHS:
        assert answer.status_code == 403
        assert f"needs a key of scope {needed(method, path)}" in answer.json()["detail"]


@pytest.mark.parametrize("number", ["+2", "%202", "2/", "2%2F", "x", "9" * 20])
def test_an_odd_number_opens_nothing_more(api: Api, number: str) -> None:
    headers = {"X-API-Key": SECRETS[Scope.SUBMIT]}
    answer = api.send("DELETE", f"/v1/jobs/{number}", headers=headers)
    assert answer.status_code in (307, 403, 404, 405)


def test_the_method_head_needs_what_get_needs(api: Api) -> None:
    headers = {"X-API-Key": SECRETS[Scope.SUBMIT]}
    assert api.send("HEAD", "/v1/audit", headers=headers).status_code == 403


def test_a_job_and_the_audit_say_whose_key_it_was(api: Api) -> None:
    made = api.submit(**{"X-API-Key": SECRETS[Scope.SUBMIT]})
    assert made.json()["submitted_by"] == "team submit"
    assert api.submit(**{"X-API-Key": FIRST}).json()["submitted_by"] == "TUNER_API_KEY"
    entries = api.get("/v1/audit", **{"X-API-Key": SECRETS[Scope.ADMIN]}).json()["entries"]
    assert {entry["action"] for entry in entries} >= {"create_key"}


def test_a_key_of_certain_apps_reads_all_and_changes_only_those(api: Api) -> None:
    api.store.create_key("shops", Scope.ADMIN, "s", None, by="operator", apps=("shop*", "till"))
    headers = {"X-API-Key": "s"}
    mixed = {"target_app": "mixed"}
    own, other = (
        api.submit({"app": app, "target": mixed}, **{"X-API-Key": FIRST}).json()
        for app in ("shop-eu", "bank")
    )
    assert {job["id"] for job in api.get("/v1/jobs", **headers).json()["jobs"]} == {
        own["id"],
        other["id"],
    }
    changes = [
        ("POST", "/v1/jobs/{}/links"),
        ("DELETE", "/v1/jobs/{}/links/1"),
        ("POST", "/v1/jobs/{}/cancel"),
        ("DELETE", "/v1/jobs/{}"),
    ]
    for method, path in changes:
        refused = api.send(method, path.format(other["id"]), headers=headers)
        assert refused.status_code == 403, path
        assert refused.json()["detail"] == "this key may change shop*, till, and not bank"
        assert api.send(method, path.format(own["id"]), headers=headers).status_code < 300, path
    assert api.get(f"/v1/jobs/{other['id']}", **headers).json()["state"] == "queued"
    image = {"target": {"image": "till:1"}, "baseline": {"ini": builders.INI}}
    for app, status in (("till", 201), ("tills", 403), ("bank", 403)):
        answer = api.submit({"app": app, **image}, **headers)
        assert answer.status_code == status, app
    refused = api.send("POST", "/v1/apps/bank/checks", headers=headers, json={})
    assert refused.status_code == 403
    assert api.send("POST", "/v1/jobs/99/cancel", headers=headers).status_code == 404


def test_a_key_of_certain_apps_uses_no_other_target_app_under_their_names(api: Api) -> None:
    api.store.create_key("tills", Scope.SUBMIT, "s", None, by="operator", apps=("till*",))
    arms = [
        {"name": "a", "ini": builders.INI},
        {"name": "b", "ini": builders.INI, "target_app": "mixed"},
    ]
    for request in (
        {"app": "till-x", "target": {"target_app": "mixed"}, "allow": ["commands"]},
        {"kind": "compare", "app": "till-x", "target": {"image": "till:1"}, "arms": arms},
    ):
        refused = api.submit(request, **{"X-API-Key": "s"})
        assert refused.status_code == 403, request
        assert refused.json()["detail"] == "this key may change till*, and not mixed"
    assert not api.store.kept


def test_a_revoked_or_expired_key_is_refused_at_once(api: Api) -> None:
    headers = {"X-API-Key": SECRETS[Scope.READ]}
    assert api.get("/v1/jobs", **headers).status_code == 200
    api.store.revoke_key(1, by="operator")
    assert api.get("/v1/jobs", **headers).status_code == 401
    over = datetime.now(UTC) - timedelta(seconds=1)
    api.store.create_key("old", Scope.READ, "old", over, by="operator")
    assert api.get("/v1/jobs", **{"X-API-Key": "old"}).status_code == 401


def test_without_its_database_a_service_knows_the_first_key_and_says_so_of_others(
    api: Api,
) -> None:
    api.store.away = True
    assert api.get("/v1/target-apps", **{"X-API-Key": FIRST}).status_code == 200
    stored = api.get("/v1/target-apps", **{"X-API-Key": SECRETS[Scope.READ]})
    assert (stored.status_code, stored.json()["system"]) == (503, "postgresql")
    assert stored.headers["retry-after"]
    assert api.get("/v1/target-apps").status_code == 401
    assert api.get("/healthz").status_code == 200


def test_wrong_keys_are_logged_without_the_key(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    assert api.get("/v1/jobs", **{"X-API-Key": "guessed"}).status_code == 401
    assert (
        api.send(
            "POST", "/v1/jobs", headers={"X-API-Key": SECRETS[Scope.READ]}, json={}
        ).status_code
        == 403
    )
    said = caplog.text
    assert "a wrong key from" in said
    assert "team read may not POST '/v1/jobs'" in said
    assert "guessed" not in said
    assert SECRETS[Scope.READ] not in said


# ---- pages


@pytest.fixture
def site(api: Api) -> Site:
    api.store.kept[1] = finished(1)
    return Site(api.store, api_key=FIRST)


def signed_in(site: Site, scope: Scope, **fields: str) -> Visitor:
    found = Visitor(site)
    assert found.sign_in(SECRETS[scope], **fields).status_code == 303
    return found


def test_a_reader_is_not_offered_what_the_key_does_not_open(site: Site) -> None:
    reader, submitter = (signed_in(site, scope) for scope in (Scope.READ, Scope.SUBMIT))
    for path in ("/", "/jobs", "/jobs/1", "/hosts", "/lint"):
        for visitor, offers in ((reader, False), (submitter, True)):
            page = visitor.get(path)
            assert page.status_code == 200, path
            assert ('href="/new"' in page.text) == offers, path
    assert "Make a link" not in reader.get("/jobs/1").text
    assert "Make a link" in submitter.get("/jobs/1").text
    refused = reader.get("/new")
    assert refused.status_code == 403
    assert "needs a key of scope submit" in refused.text
    assert submitter.get("/new").status_code == 200


def test_who_may_change_other_apps_only_is_not_offered_it(api: Api, site: Site) -> None:
    app = api.store.job(JobId(1)).spec.app
    for glob, offers in ((app, True), ("bank", False)):
        api.store.create_key("team", Scope.SUBMIT, glob, None, by="operator", apps=(glob,))
        visitor = Visitor(site)
        assert visitor.sign_in(glob).status_code == 303
        assert ("Make a link" in visitor.get("/jobs/1").text) == offers
        answer = visitor.post("/jobs/1/links", {"token": visitor.token})
        assert answer.status_code == (201 if offers else 403)


def test_a_reader_cannot_send_the_forms_either(site: Site) -> None:
    reader = signed_in(site, Scope.READ)
    for path in ("/jobs/1/cancel", "/jobs/1/links", "/jobs/1/links/1/revoke", "/new"):
        answer = reader.post(path, {"token": reader.token})
        assert answer.status_code == 403, path
    assert reader.post("/lint", {"token": reader.token, "ini": "[uwsgi]\n"}).status_code == 200


def test_a_session_ends_with_its_key(site: Site, api: Api) -> None:
    visitor, first = signed_in(site, Scope.SUBMIT), Visitor(site)
    assert first.sign_in(FIRST).status_code == 303
    assert visitor.get("/jobs").status_code == first.get("/jobs").status_code == 200
    api.store.revoke_key(2, by="operator")
    assert visitor.get("/jobs").status_code == 401
    assert first.get("/jobs").status_code == 200


def test_who_has_signed_in_is_named_with_the_key(site: Site, api: Api) -> None:
    ada = signed_in(site, Scope.SUBMIT, name="Ada")
    made = ada.post("/jobs/1/links", {"token": ada.token, "days": "7"})
    assert made.status_code == 201
    newest = api.store.audit(None, 1)[0]
    assert (newest.who, newest.action) == ("Ada (team submit)", "share")


def test_the_audit_has_denials_sign_ins_and_checks(api: Api) -> None:
    read = {"X-API-Key": SECRETS[Scope.READ]}
    api.send("POST", "/v1/jobs/1/cancel", headers=read)
    for _ in range(3):
        api.send("GET", "/v1/jobs", headers={"X-API-Key": "wrong"})
    api.store.create_key("till", Scope.SUBMIT, "of till", None, by="operator", apps=["till*"])
    check = {"checker": "gate", "job": 1, "holds": True}
    api.send("POST", "/v1/apps/bank/checks", headers={"X-API-Key": "of till"}, json=check)
    audit = api.send("GET", "/v1/audit", headers={"X-API-Key": FIRST}).json()["entries"]
    assert [(each["who"], each["said"]) for each in audit if each["action"] == "deny"] == [
        ("till", "to change app bank"),
        (None, "a wrong key from 127.0.0.1 for GET '/v1/jobs'"),  # once a minute
        ("team read", "POST '/v1/jobs/1/cancel'"),
    ]
    site = Site(api.store, api_key=FIRST)
    Visitor(site).sign_in(SECRETS[Scope.SUBMIT], name="Ada")
    newest = site.send("GET", "/v1/audit", headers={"X-API-Key": FIRST}).json()["entries"][0]
    assert (newest["who"], newest["action"]) == ("Ada (team submit)", "sign_in")


def test_the_audit_does_not_grow_with_each_denial(api: Api) -> None:
    for _ in range(MOST_WRONG_KEYS + 20):
        api.send("POST", "/v1/jobs/1/cancel", headers={"X-API-Key": SECRETS[Scope.READ]})
    assert len(api.store.audit(None, 1_000)) == MOST_WRONG_KEYS + len(Scope)  # and the keys
