"""What an arm has of bind mounts: texts, scripts that run, settings, and never the code."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made

Project = Callable[..., Path]

WEB = "services:\n  web:\n    image: shop\n    command: uwsgi --http :8000 -p 2\n"


def put(folder: Path, mode: int = 0o644, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(mode)


@pytest.mark.parametrize(
    "start",
    [
        "command: bash /own/start",
        "entrypoint: [/own/start]",
        "healthcheck: {test: /own/start}",
    ],
)
def test_a_folder_from_which_a_file_runs_is_files(project: Project, start: str) -> None:
    web = WEB + "    depends_on: [db]\n"
    folder = project(compose=f"{web}  db: {{image: a, {start}, volumes: ['./db:/own']}}\n")
    put(folder / "db", 0o755, start="#!/bin/sh\nexec a\n")
    put(folder / "db", more="x\n")
    db = made(service="web").app.services["db"]
    assert db.files == {"/own/start": "#!/bin/sh\nexec a\n", "/own/more": "x\n"}
    assert db.executables == ("/own/start",)
    assert db.volumes == ()


@pytest.mark.parametrize("target", ["/srv/settings", "/srv/scripts"])
def test_a_folder_under_a_name_for_settings_is_files(project: Project, target: str) -> None:
    folder = project(compose=f"{WEB}    volumes: ['./own:{target}']\n")
    put(folder / "own", a="1\n")
    assert made().app.files == {f"{target}/a": "1\n"}


def test_a_folder_that_runs_and_is_too_large_is_to_do(project: Project) -> None:
    folder = project(compose=f"{WEB}    entrypoint: /own/start\n    volumes: ['./own:/own']\n")
    put(folder / "own", start="x" * 200_001)
    (folder / "u.ini").write_text("[uwsgi]\nhttp = :80\n")
    found = made(Path("app"), ini=Path("u.ini"))
    texts = [each.why for each in found.draft.findings.notes if each.what.endswith("./own:/own")]
    assert texts[0].startswith("the container runs a file of it")


def test_the_mode_of_a_config_counts(project: Project) -> None:
    configs = "configs: {a: {content: x}, b: {content: y}}\n"
    use = "    configs: [{source: a, mode: 0555}, b]\n"
    project(compose=WEB + use + configs)
    assert made().app.executables == ("/a",)


@pytest.mark.parametrize(
    ("copy", "target", "is_code"),
    [
        (". /usr/src/conf", "/etc/shop", False),
        (". /etc/shop", "/etc/shop", True),
        (". .", "/srv", True),
        (". /srv/app", "/srv", True),
    ],
)
def test_a_folder_is_the_code_where_the_image_has_it(
    project: Project, copy: str, target: str, *, is_code: bool
) -> None:
    web = WEB.replace("image: shop", "build: ./conf")
    folder = project(compose=f"{web}    volumes: ['./conf:{target}:ro']\n")
    put(folder / "conf", Dockerfile=f"FROM a\nWORKDIR /srv\nCOPY {copy}\n")
    put(folder / "conf", 0o644, **{"settings.py": "DB = 'db'\n"})
    found = made(Path("app"))
    assert found.app.files == ({} if is_code else {f"{target}/settings.py": "DB = 'db'\n"})
    told = found.notes.get(f"web.volumes ./conf:{target}", "")
    assert told.startswith("left out: the source code") is is_code


def test_a_part_of_the_code_is_code_too(project: Project) -> None:
    web = WEB.replace("image: shop", "build: .")
    folder = project(
        compose=f"{web}    volumes: ['./src:/srv/src']\n", docker="FROM a\nCOPY src /srv/src\n"
    )
    put(folder / "src", a="1")
    found = made(Path("app"))
    assert (found.app.volumes, found.app.files) == ((), {})


def test_the_code_of_an_image_without_it_is_to_do(project: Project) -> None:
    project(compose=f"{WEB}    volumes: ['.:/app']\n    working_dir: /app\n")
    found = made(Path("app"))
    assert found.notes["web.volumes .:/app"].startswith("to do: the source code")
    assert found.app.volumes == ()
