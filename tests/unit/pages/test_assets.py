"""The files that pages load: those of others as published, and all within the package."""

import gzip
import hashlib
import json
import re
from pathlib import Path

from tests.fake_store import FakeStore
from tests.sites import Site
from tuner.service import pages
from tuner.service.pages.answering import address_of, assets
from tuner.show import charts

STATIC = Path(pages.__file__).parent / "static"
VENDOR = STATIC / "vendor"
MANIFEST = json.loads((VENDOR / "manifest.json").read_text())


def test_each_file_of_others_is_the_one_that_the_manifest_names() -> None:
    named: dict[str, str] = {}
    for package in MANIFEST["packages"]:
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
        assert package["licence"]
        assert package["licence_file"] in package["files"]
        named |= package["files"]
    there = {path.name for path in VENDOR.iterdir()} - {"manifest.json"}
    assert there == set(named)
    for name, sha256 in named.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == sha256, name


def test_nothing_of_ours_loads_from_elsewhere() -> None:
    for path in [*STATIC.glob("*.*"), *(STATIC.parent / "templates").iterdir()]:
        found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+|url\(|@import|eval\(", path.read_text())
        assert set(found) <= {"http://www.w3.org"}, path


def test_the_one_style_sheet_has_the_styles_of_charts_and_reports_too() -> None:
    sheet = assets()["page.css"].plain.decode()
    assert charts.style() in sheet
    assert ".hero{" in sheet
    assert ".uplot" in sheet
    assert ".skip{" in sheet


def test_a_file_is_kept_for_good_under_the_address_of_its_version_only() -> None:
    site = Site(FakeStore())
    for name, asset in assets().items():
        answer = site.get(address_of(name))
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.content == asset.plain
        plain = site.send("GET", f"/static/{name}")
        assert plain.headers["cache-control"] == "no-cache"
        assert plain.content == gzip.decompress(asset.packed) == asset.plain


def test_files_need_no_key_and_all_else_does() -> None:
    site = Site(FakeStore(), api_key="k")
    assert site.get(address_of("page.css")).status_code == 200
    for path in ("/", "/jobs", "/jobs/1", "/lint", "/staticx"):
        page = site.get(path)
        assert page.status_code == 401
        assert "Programs send the key" in page.text
    assert site.send("GET", "/").headers["content-type"] == "application/problem+json"
    assert site.get("/", **{"x-api-key": "k"}).status_code == 200


def test_health_below_a_base_path_needs_no_key_either() -> None:
    site = Site(FakeStore(), api_key="k", root_path="/tuner")
    assert site.send("GET", "/healthz").status_code == 200
    assert site.get(address_of("page.css")).status_code == 200
    assert site.get("/jobs").status_code == 401
