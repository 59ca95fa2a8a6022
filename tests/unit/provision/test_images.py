from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import OK, Answer, ScriptedMachine, debian
from tuner.provision import images, k6, oha
from tuner.provision.machine import Finished, StepFailed

INSPECT_ID = "docker image inspect --format {{.Id}}"
INSPECT_RECIPE = "docker image inspect --format {{index"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    base = tmp_path / "target_apps" / "_base"
    load = tmp_path / "tuner" / "bench" / "load" / "image"
    for folder in (base, load):
        folder.mkdir(parents=True)
        (folder / "Dockerfile").write_text("FROM scratch")
    (base / "requirements.txt").write_text("uwsgi==2.0.31")
    (load / "journeys.Dockerfile").write_text("FROM scratch")
    for binary in (oha.cached_path(tmp_path), k6.cached_path(tmp_path)):
        binary.parent.mkdir()
        binary.write_text(binary.name)
    return tmp_path


def built_recipe(machine: ScriptedMachine) -> str:
    build = next(line for line in machine.ran if line.startswith("docker build"))
    return build.split("--label ")[1].split()[0].split("=", 1)[1]


def ensure_base(machine: ScriptedMachine, checkout: Path) -> None:
    images.ensure_base(scripted.machine(machine, debian(checkout)))


def ensure_load(machine: ScriptedMachine, checkout: Path) -> None:
    images.ensure_load(scripted.machine(machine, debian(checkout)), oha.cached_path(checkout))


def ensure_journeys(machine: ScriptedMachine, checkout: Path) -> None:
    images.ensure_journeys(scripted.machine(machine, debian(checkout)), k6.cached_path(checkout))


def machine_that_builds(version: str) -> ScriptedMachine:
    answers: dict[str, Answer] = {
        INSPECT_ID: Finished(0, "sha256:1"),
        "docker build": OK,
        "docker rmi": OK,
    }
    return ScriptedMachine(set(), {**answers, "docker run": Finished(0, version)})


def test_an_image_is_built_once_and_again_when_its_dockerfile_changes(checkout: Path) -> None:
    first = machine_that_builds("2.0.31")
    ensure_base(first, checkout)

    second = machine_that_builds("2.0.31")
    second.answers[INSPECT_RECIPE] = Finished(0, built_recipe(first))
    ensure_base(second, checkout)
    assert not second.did("docker build")

    (checkout / "target_apps" / "_base" / "Dockerfile").write_text("FROM other")
    ensure_base(second, checkout)
    assert second.did("docker build")


def test_a_new_parent_makes_a_new_recipe(checkout: Path) -> None:
    dockerfile = {"Dockerfile": checkout / "target_apps" / "_base" / "Dockerfile"}
    one = images.Recipe(tag="t", files=dockerfile, arguments={}, parent_id="sha256:1")
    other = images.Recipe(tag="t", files=dockerfile, arguments={}, parent_id="sha256:2")

    assert one.digest != other.digest


def test_another_uwsgi_than_the_pinned_one_is_refused(checkout: Path) -> None:
    with pytest.raises(StepFailed, match=r"its uWSGI says '2\.0\.30'"):
        ensure_base(machine_that_builds("2.0.30"), checkout)


def test_a_failed_build_shows_the_last_lines_and_the_log(checkout: Path) -> None:
    machine = machine_that_builds("2.0.31")
    machine.answers["docker build"] = Finished(1, "\n".join(f"line {n}" for n in range(40)))

    with pytest.raises(StepFailed) as caught:
        ensure_base(machine, checkout)

    assert "line 39" in caught.value.why
    assert "line 24\n" not in caught.value.why
    assert str(machine.log) in caught.value.why


def test_a_binary_for_a_newer_c_library_is_explained_and_forgotten(checkout: Path) -> None:
    machine = machine_that_builds("oha 1.16.0")
    machine.answers["docker run"] = Finished(1, "oha: version `GLIBC_2.39' not found")

    with pytest.raises(StepFailed, match="newer C library"):
        ensure_load(machine, checkout)

    assert not oha.cached_path(checkout).exists()
    assert machine.did(f"docker rmi --force {images.LOAD_TAG}")


def test_the_generator_that_says_its_version_is_accepted(checkout: Path) -> None:
    machine = machine_that_builds("oha 1.16.0")

    ensure_load(machine, checkout)

    assert oha.cached_path(checkout).exists()


def test_the_image_for_journeys_is_the_generators_with_k6_on_top(checkout: Path) -> None:
    machine = machine_that_builds("k6 v1.8.1 (go1.26.8, linux/amd64)")

    ensure_journeys(machine, checkout)

    build = next(line for line in machine.ran if line.startswith("docker build"))
    assert f"--build-arg=LOAD_IMAGE={images.LOAD_TAG}" in build
    assert f"-t {images.JOURNEY_TAG}" in build
    assert k6.cached_path(checkout).exists()


@pytest.mark.parametrize(
    "answer",
    [Finished(0, "k6 v1.8.10 (go1.26.8, linux/amd64)"), Finished(126, "exec format error")],
)
def test_another_k6_than_the_pinned_one_is_explained_and_forgotten(
    checkout: Path, answer: Finished
) -> None:
    machine = machine_that_builds("")
    machine.answers["docker run"] = answer

    with pytest.raises(StepFailed, match="`k6 version` says"):
        ensure_journeys(machine, checkout)

    assert not k6.cached_path(checkout).exists()
    assert machine.did(f"docker rmi --force {images.JOURNEY_TAG}")
