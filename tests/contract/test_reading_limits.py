"""A key that may read some apps only: every call and every page, over both stores."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests import finished_jobs
from tests.sites import BROWSER, Site
from tests.stores import STORES, store_of
from tuner.nouns.model import JobId, Scope
from tuner.service.api.limited import _OF_A_JOB, _OF_AN_APP, _OF_NO_APP, LimitedStore, is_among
from tuner.store.db import Store

KEY = "the first key"
OF_SHOP = {"x-api-key": "of shop"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A service with a job of `shop-web` and one of `bank`."""

    site: Site
    shop: JobId
    bank: JobId

    def status(self, path: str, method: str = "GET") -> int:
        """With the key that reads `shop*`."""
        headers = {**OF_SHOP, "content-type": "application/json"}
        return self.site.send(method, path, b"{}", headers).status_code


@pytest.fixture(scope="module", params=STORES)
def shown(request: pytest.FixtureRequest) -> Iterator[Shown]:
    with store_of(request.param) as store:
        found: Any = store
        store.create_key("shop", Scope.ADMIN, "of shop", None, by="operator", reads=["shop*"])
        jobs = [
            finished_jobs.stored(found, finished_jobs.recommendation(), app=app)
            for app in ("shop-web", "bank")
        ]
        yield Shown(Site(store, api_key=KEY), *jobs)


def paths(shown: Shown) -> list[tuple[str, str]]:
    """All calls of one job or one app: method and path, with `JOB` and `APP`."""
    found = []
    for path, operations in shown.site.app.openapi()["paths"].items():
        for method in operations:
            place = path.replace("/jobs/{id}", "/jobs/JOB").replace("/apps/{app}", "/apps/APP")
            if place != path and not path.endswith("/events"):
                found.append((method.upper(), re.sub(r"\{\w+\}", "1", place)))
    return sorted(found, key=lambda each: each[0] == "DELETE")


def test_another_app_is_not_there(shown: Shown) -> None:
    for method, path in paths(shown):
        theirs = path.replace("JOB", str(shown.bank)).replace("APP", "bank")
        assert shown.status(theirs, method) in (404, 422), (method, theirs)
        if method == "GET":
            own = path.replace("JOB", str(shown.shop)).replace("APP", "shop-web")
            assert shown.status(own) in (200, 404, 406, 409, 422), own
    assert shown.status(f"/v1/jobs/{shown.shop}") == 200
    assert shown.status(f"/v1/jobs/{shown.bank}/uwsgi.ini") == 404
    assert shown.status("/v1/apps/shop-web/uwsgi.ini") == 200
    assert shown.site.send("GET", f"/v1/jobs/{shown.bank}", headers={"x-api-key": KEY}).is_success


def test_lists_and_pages_have_these_apps_only(shown: Shown) -> None:
    jobs = shown.site.send("GET", "/v1/jobs", headers=OF_SHOP).json()["jobs"]
    assert {job["app"] for job in jobs} == {"shop-web"}
    apps = shown.site.send("GET", "/v1/apps", headers=OF_SHOP).json()["apps"]
    assert [app["app"] for app in apps] == ["shop-web"]
    assert shown.site.send("GET", "/v1/jobs?app=bank", headers=OF_SHOP).json()["jobs"] == []
    assert shown.site.send("GET", "/v1/target-apps", headers=OF_SHOP).json()["target_apps"] == []
    for path in ("/", "/jobs", "/hosts", "/new", f"/jobs/{shown.shop}", "/apps/shop-web"):
        page = shown.site.get(path, **OF_SHOP)
        assert page.status_code == 200, path
        assert "bank" not in page.text, path
    for path in (f"/jobs/{shown.bank}", "/apps/bank"):
        assert shown.site.send("GET", path, headers={**BROWSER, **OF_SHOP}).status_code == 404


OF_OPERATORS = {"audit_since", "close", "compact", "create_key", "drain", "keys", "prune_jobs"} | {
    *("prune_windows", "resume", "revoke_key", "size_mb")
}
OF_WORKERS = {"advance", "claim", "complete", "fail", "is_current", "open_jobs", "recommended"} | {
    *("recover", "release", "see_host")
}


def test_each_call_of_the_store_is_decided() -> None:
    """A new call is closed to such keys until it is named."""
    calls = {name for name in dir(Store) if not name.startswith("_")}
    own = {name for name in vars(LimitedStore) if not name.startswith("_")}
    undecided = calls - own - _OF_A_JOB - _OF_AN_APP - _OF_NO_APP
    assert undecided == {"audit"} | OF_OPERATORS | OF_WORKERS  # the audit names all apps


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        *(("shop*", True), ("shop", False), ("sho?-web", True), ("[r-t]hop-web", True)),
        *(("[!s]hop-web", False), ("shop.web", False), ("*", True), ("*-web*", True)),
    ],
)
def test_globs_mean_the_same_in_both(shown: Shown, glob: str, fits: bool) -> None:
    store = shown.site.app.state.services.store
    found = {job.app for job in store.jobs(None, None, None, 50, kind=None, among=[glob])}
    assert ("shop-web" in found) is fits is is_among("shop-web", [glob])
    assert ("shop-web" in {each.app for each in store.apps(limit=50, among=[glob])}) is fits
