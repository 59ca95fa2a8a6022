"""Problems as pages: what goes wrong has a page in the same design, with the same status."""

import pytest

from tests.sites import Site
from tests.unit.api.fakes import FakeStore
from tuner.service.pages import jobs


def test_while_postgresql_is_away_the_page_says_so_and_tries_again() -> None:
    site = Site(FakeStore(away=True))
    for path in ("/", "/jobs", "/jobs/1", "/hosts", "/apps/checkout"):
        page = site.get(path)
        assert page.status_code == 503
        assert page.headers["retry-after"] == "5"
        assert "Postgresql is away: connection refused" in page.text
        assert '<body data-retry-s="5">' in page.text
        assert page.headers["cache-control"] == "no-store"


def test_a_fault_of_ours_is_a_page_without_details(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FakeStore()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(store, "hosts", broken)
    page = Site(store).get("/hosts")
    assert page.status_code == 500
    assert "its log has the details" in page.text
    assert "secret" not in page.text
    problem = Site(store).send("GET", "/hosts")
    assert problem.headers["content-type"] == "application/problem+json"


def test_a_browser_gets_a_page_for_a_call_that_fails_too() -> None:
    site = Site(FakeStore())
    page = site.get("/v1/jobs/7")
    assert page.headers["content-type"].startswith("text/html")
    assert "There is no job 7." in page.text
    assert site.send("GET", "/v1/jobs/7").json()["detail"] == "there is no job 7"


def test_other_methods_and_forms_that_are_too_large_are_refused_with_a_page() -> None:
    site = Site(FakeStore())
    assert site.send("DELETE", "/jobs", headers={"accept": "text/html"}).status_code == 405
    large = site.post("/lint", {"ini": "x" * 1_100_000})
    assert large.status_code == 413
    assert "larger than 1 MB" in large.text
    kind = site.post("/lint", {"ini": ""}, **{"content-type": "multipart/form-data"})
    assert kind.status_code == 415
    many = site.post("/lint", {f"field{n}": "" for n in range(30)})
    assert many.status_code == 422


@pytest.mark.parametrize(
    ("text", "is_formula"),
    [
        ("=1+1", True),
        ("@SUM(A1)", True),
        ("-2+3+cmd|' /C calc'!A0", True),
        ("+1+HYPERLINK(A1)", True),
        ("\t=1+1", True),
        (" =1+1", True),
        ("-", False),
        ("+6.8 % (+1.2 .. +9.8)", False),
        ("-12 ms", False),
        ("-0.5", False),
        ("processes = 2", False),
    ],
)
def test_a_spreadsheet_takes_no_cell_for_a_formula(text: str, is_formula: bool) -> None:
    assert jobs._plain(text) == (f"'{text}" if is_formula else text)
