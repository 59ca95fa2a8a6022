"""The answer of a job as a second compose file, in the form that the options of a service have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tuner.targets.answers import Answer, Recommended
from tuner.targets.compose.asking import Wanted
from tuner.targets.compose.overriding import override
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.places import Change

CHANGES = (Change("processes", "6", "2"), Change("lazy-apps", None, "true"))
BOX = {"cpus": 1}


def overridden(folder: Path, service: str, environ: Mapping[str, str] | None = None) -> Answer:
    file = folder / "compose.yaml"
    file.write_text(f"services: {{db: {{image: postgres}}, web: {{image: shop, {service}}}}}\n")
    wanted = Wanted(folder=folder, compose=(file,), service="web", environ=environ or {})
    name, answer = override(wanted, Recommended(IniFile.parse("[uwsgi]\n"), CHANGES), BOX)
    assert name == "web"
    return answer


def part(answer: Answer) -> dict[str, Any]:
    document = yaml.safe_load(answer.text)
    assert list(document["services"]) == ["web"]
    found: dict[str, Any] = document["services"]["web"]
    assert found.pop("cpus") == 1
    return found


def test_a_command_is_whole_because_compose_does_not_merge_it(tmp_path: Path) -> None:
    command = "command: [uwsgi, --http, ':$$PORT', -p2, --lazy-apps, --master]"
    found = part(overridden(tmp_path, command))
    assert found == {"command": ["uwsgi", "--http", ":$$PORT", "--processes", "6", "--master"]}


def test_the_options_behind_an_entrypoint_stay_behind_it(tmp_path: Path) -> None:
    found = part(overridden(tmp_path, "entrypoint: uwsgi, command: --master -p 2"))
    assert found == {"command": ["--master", "--processes", "6"]}


def test_a_value_of_the_shell_is_not_written_into_the_file(tmp_path: Path) -> None:
    command = "command: 'uwsgi --env KEY=${SECRET} -p 2'"
    answer = overridden(tmp_path, command, {"SECRET": "s3cret"})
    assert "s3cret" not in answer.text
    assert len(answer.homeless) == len(CHANGES)


def test_variables_are_set_and_what_comes_out_is_named(tmp_path: Path) -> None:
    answer = overridden(tmp_path, "environment: {UWSGI_WORKERS: 2, UWSGI_LAZY_APPS: 1}")
    assert part(answer) == {"environment": {"UWSGI_WORKERS": "6"}}
    assert answer.remarks == ["take UWSGI_LAZY_APPS out of the environment of web"]


def test_a_file_of_the_host_is_written_by_its_user(tmp_path: Path) -> None:
    (tmp_path / "uwsgi.ini").write_text("[uwsgi]\n")
    mounted = "command: [uwsgi, /srv/uwsgi.ini], volumes: ['./uwsgi.ini:/srv/uwsgi.ini']"
    answer = overridden(tmp_path, mounted)
    assert part(answer) == {}
    assert answer.remarks == [f"write the file into {tmp_path}/uwsgi.ini: take --form ini"]
    assert not answer.homeless


@pytest.mark.parametrize("service", ["command: [uwsgi, /in/image.ini]", "environment: {A: b}"])
def test_options_in_the_image_need_a_new_one(tmp_path: Path, service: str) -> None:
    answer = overridden(tmp_path, service)
    assert part(answer) == {}
    assert answer.homeless == ["processes = 6", "lazy-apps: take it out"]
