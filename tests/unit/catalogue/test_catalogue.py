import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tuner.nouns.errors import InvalidInput, NotFound
from tuner.targets.catalogue import HostCatalogue, own_data, search_space_schema

SPACE = {"name": "mine", "parameters": {"processes": {"type": "int", "low": 1, "high": 4}}}


def _write_app(parent: Path, folder: str, **changes: Any) -> Path:
    app = parent / folder
    app.mkdir(parents=True)
    described = {"name": folder, "description": "an app", "build": ".", **changes}
    (app / "target.yaml").write_text(yaml.safe_dump(described))
    (app / "uwsgi.ini").write_text("[uwsgi]\n")
    (app / "Dockerfile").write_text("FROM scratch\n")
    return app


def _load(apps: list[Path], spaces: list[Path] | None = None) -> HostCatalogue:
    return HostCatalogue.load(apps, spaces or [], with_own=False)


def _mistakes(apps: list[Path], spaces: list[Path] | None = None) -> list[str]:
    with pytest.raises(InvalidInput) as error:
        _load(apps, spaces)
    return [str(mistake) for mistake in error.value.mistakes]


def test_the_products_own_data_is_sound() -> None:
    catalogue = HostCatalogue.load()
    assert {"mixed", "flask-json", "cpu-bound", "io-bound"} <= set(catalogue.apps)
    assert {"default", "cpu-bound", "io-bound"} <= set(catalogue.spaces)
    assert "_base" not in catalogue.apps


def test_an_app_comes_with_its_file_and_its_folder(tmp_path: Path) -> None:
    folder = _write_app(tmp_path, "shop")
    catalogue = _load([tmp_path])
    known = catalogue.apps.get("shop")
    assert known is not None
    assert known.baseline_ini == "[uwsgi]\n"
    assert catalogue.build_dir("shop") == folder
    assert "other" not in catalogue.apps


def test_secrets_in_files_are_read_apart_from_their_apps(tmp_path: Path) -> None:
    service = {"image": "db", "secrets": {"root": {"file": "root"}, "bad": {"file": "bad"}}}
    secrets = {"db_password": {"file": "secrets/db.txt"}, "gone": {"file": "gone"}}
    folder = _write_app(tmp_path, "shop", secrets=secrets, services={"db": service})
    (folder / "secrets").mkdir()
    (folder / "secrets" / "db.txt").write_bytes(b"one\r\ntwo\n")
    (folder / "root").write_text("three")
    (folder / "bad").write_bytes(b"\xff")
    catalogue = _load([tmp_path])
    assert catalogue.secret_files() == {"shop/secrets/db.txt": "one\r\ntwo\n", "shop/root": "three"}
    known = catalogue.apps["shop"].app.model_dump_json()
    assert not {"one", "two", "three"} & {*re.findall(r"\w+", known)}


def test_given_folders_add_to_the_products_own(tmp_path: Path) -> None:
    _write_app(tmp_path, "shop")
    assert {"mixed", "shop"} <= set(HostCatalogue.load([tmp_path]).apps)


def test_only_what_is_built_has_a_folder_to_build(tmp_path: Path) -> None:
    _write_app(tmp_path, "shop", build=None, image="registry/shop:1")
    for name in ("shop", "other"):
        with pytest.raises(NotFound):
            _load([tmp_path]).build_dir(name)


def test_folders_to_copy_are_beside_the_description_of_the_app(tmp_path: Path) -> None:
    copy = {"source": "./data", "target": "/data", "copy": True}
    service = {"image": "postgres:17", "volumes": [copy]}
    _write_app(tmp_path, "shop", build=None, image="registry/shop:1", services={"db": service})
    (told,) = _mistakes([tmp_path])
    home = tmp_path / "shop"
    assert told == (f"{home}/target.yaml: services.db.volumes.0: there is no folder {home}/data")
    (home / "data").mkdir()
    known = _load([tmp_path])
    assert known.app_dir("shop") == home
    with pytest.raises(NotFound):
        known.app_dir("other")


def test_folders_with_an_underscore_are_skipped(tmp_path: Path) -> None:
    _write_app(tmp_path, "_base")
    assert not _load([tmp_path]).apps


def test_all_mistakes_of_all_files_are_said_at_once(tmp_path: Path) -> None:
    apps, spaces = tmp_path / "apps", tmp_path / "spaces"
    _write_app(apps, "a", name="b", port=0, colour="blue", requests=[{"path": "/"}], cpus=2)
    (_write_app(apps, "c") / "uwsgi.ini").unlink()
    (_write_app(apps, "d") / "target.yaml").write_text("name: [")
    (_write_app(apps, "e") / "uwsgi.ini").write_bytes(b"\xff")
    (_write_app(apps, "f") / "Dockerfile").unlink()
    _write_app(apps, "g", name="h")
    spaces.mkdir()
    (spaces / "odd.yaml").write_text(yaml.safe_dump({"name": "odd", "parameters": {}}))
    (spaces / "empty.yaml").write_text("")
    text = "\n".join(_mistakes([apps], [spaces]))
    for expected in (
        "a/target.yaml: port: ",
        "a/target.yaml: colour: unknown field\n",
        "a/target.yaml: requests: unknown field; did you mean workload.requests?",
        "a/target.yaml: cpus: unknown field; did you mean limits.cpus?",
        "c/uwsgi.ini: No such file",
        "d/target.yaml: not YAML: ",
        "e/uwsgi.ini: is not UTF-8 text",
        "f/target.yaml: build: there is no Dockerfile",
        "g/target.yaml: name: 'h' is not the folder's name 'g'",
        "odd.yaml: parameters: ",
        "empty.yaml: ",
    ):
        assert expected in text


def test_a_name_defined_twice_is_an_error_with_both_places(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for parent in (first, second):
        _write_app(parent, "shop")
        (parent / "mine.yaml").write_text(yaml.safe_dump(SPACE))
    found = _mistakes([first, second], [first, second])
    assert len(found) == 2
    assert str(first) in found[0]
    assert str(second) in found[0]


def test_the_schema_beside_the_spaces_is_up_to_date() -> None:
    written = json.loads((own_data("search_spaces") / "schema.json").read_text())
    assert written == search_space_schema(), (
        "python -m tuner.targets.catalogue > search_spaces/schema.json"
    )


@pytest.mark.parametrize("file", sorted(own_data("search_spaces").glob("*.yaml")), ids=str)
def test_every_space_fits_the_schema_and_names_it(file: Path) -> None:
    text = file.read_text()
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    jsonschema.validate(yaml.safe_load(text), search_space_schema())


def test_a_file_of_urls_is_looked_for_beside_the_description(tmp_path: Path) -> None:
    workload = {"kind": "closed_loop", "requests": {"file": "urls.txt"}}
    (_write_app(tmp_path, "shop", workload=workload) / "urls.txt").write_text("/a\nPOST /b\n")

    known = _load([tmp_path]).apps.get("shop")

    assert known is not None
    assert [request.path for request in known.app.workload.requests] == ["/a", "/b"]


def test_a_file_of_urls_that_is_missing_or_wrong_is_a_mistake_of_its_app(tmp_path: Path) -> None:
    workload = {"kind": "closed_loop", "requests": {"file": "urls.txt"}}
    _write_app(tmp_path, "a", workload=workload)
    (_write_app(tmp_path, "b", workload=workload) / "urls.txt").write_text("/a b c\n")

    first, second = _mistakes([tmp_path])

    assert "a/target.yaml: urls.txt: No such file" in first
    assert "b/target.yaml: urls.txt: line 1" in second
