"""`tuner app init`: the folder of a target app from a compose file."""

import shutil
from pathlib import Path

import pytest

from tests.unit.cli.conftest import run

FILES = Path(__file__).parents[1] / "compose" / "files"


@pytest.fixture
def maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(FILES / "maps", tmp_path / "maps")
    monkeypatch.chdir(tmp_path / "maps")
    return tmp_path / "maps"


def test_the_files_are_the_answer_and_the_notes_are_remarks(
    maps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("app", "init") == 0
    told = capsys.readouterr()
    assert told.out == "target.yaml\n"
    assert "left out:\n" in told.err
    assert "  - service geoserver: it starts after the app" in told.err
    assert (maps / "target.yaml").read_text().startswith("# From service django of ")


def test_a_second_time_nothing_is_replaced(maps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("app", "init") == 0
    before = (maps / "target.yaml").read_text()
    assert run("app", "init") == 4
    assert "target.yaml: is there already" in capsys.readouterr().err
    assert (maps / "target.yaml").read_text() == before


def test_mistakes_have_the_lines_of_the_compose_file(
    maps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = maps / "docker-compose.yml"
    file.write_text(file.read_text().replace("    command: memcached -vv", "    privileged: true"))
    assert run("app", "init", "--service", "django") == 2
    assert "docker-compose.yml:36: services.memcached.privileged: " in capsys.readouterr().err
    assert not (maps / "target.yaml").exists()


def test_errors_in_the_present_file_are_told(
    maps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (maps / "uwsgi.ini").write_text("[uwsgi]\nhttp-socket = :8001\nprocesses = 0\n")
    assert run("app", "init", "--service", "django") == 0
    told = capsys.readouterr().err
    assert "error: uwsgi.ini:3: " in told
    assert "[U075]" in told


def test_a_command_takes_the_place_of_a_file(
    maps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--command", "uwsgi --http :8001 -p 3"]
    assert run("app", "init", "tuned", "--service", "django", *command) == 0
    text = (maps / "tuned" / "uwsgi.ini").read_text()
    assert text == "[uwsgi]\nhttp = :8001\nprocesses = 3\n"
    assert "error:" not in capsys.readouterr().err


def test_data_are_copied_on_demand(maps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = maps / "docker-compose.yml"
    file.write_text(file.read_text().replace('"geodata:/geodata"', '"./geodata:/geodata"'))
    (maps / "geodata").mkdir()
    (maps / "geodata" / "tiles.db").write_bytes(b"\0" * 9)
    assert run("app", "init", "tuned/maps", "--service", "django", "--copy-data") == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == "tuned/maps/geodata"
    assert (
        "  - django.volumes ./geodata:/geodata: a volume of the arm's own that starts" in told.err
    )
    text = (maps / "tuned" / "maps" / "target.yaml").read_text()
    entry = "  - source: ./geodata\n    target: /geodata\n    copy: true\n"
    assert entry in text
    assert (maps / "tuned" / "maps" / "geodata" / "tiles.db").read_bytes() == b"\0" * 9


def test_another_folder_another_image_and_another_file(maps: Path) -> None:
    options = ("--image", "registry.example/maps:5", "--ini", "uwsgi.ini")
    assert run("app", "init", "tuned/maps-5", "--compose", "docker-compose.yml", *options) == 0
    text = (maps / "tuned/maps-5/target.yaml").read_text()
    assert "name: maps-5\n" in text
    assert "image: registry.example/maps:5\n" in text
    assert (maps / "tuned/maps-5/uwsgi.ini").read_text() == (maps / "uwsgi.ini").read_text()
