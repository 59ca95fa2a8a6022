from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import FAILED, OK, Answer, ScriptedMachine, debian
from tuner.provision import oha
from tuner.provision.host import Host
from tuner.provision.machine import Finished, StepFailed

NEW_CARGO = Finished(0, "cargo 1.95.0 (f2d3ce0bd 2026-03-21)")
OLD_CARGO = Finished(0, "cargo 1.63.0")
TOOLS = {"cargo"}
C_TOOLS: dict[str, Answer] = {"make": OK, "cc": OK, "pkg-config": OK, "test -e": OK}


def ensure(
    machine: ScriptedMachine,
    host: Host,
    *,
    image: str | None = None,
    registry_answers: bool = False,
) -> Path:
    named = {"TUNER_OHA_IMAGE": image} if image else {}
    return oha.ensure(scripted.machine(machine, host, environment=named), lambda: registry_answers)


def cargo_install(argv: Sequence[str]) -> Finished:
    """What `cargo install --root` leaves behind."""
    binary = Path(argv[-1]) / "bin" / "oha"
    binary.parent.mkdir()
    binary.write_text(f"compiled by {argv[0]}")
    return OK


def cargo_in_container(argv: Sequence[str]) -> Finished:
    volume = next(word for word in argv if word.endswith(":/out"))
    binary = Path(volume.removeprefix("--volume=").removesuffix(":/out")) / "bin" / "oha"
    binary.parent.mkdir()
    binary.write_text("compiled in a container")
    return OK


def copy_out(argv: Sequence[str]) -> Finished:
    if not argv[-2].endswith(":/bin/oha"):
        return FAILED
    Path(argv[-1]).write_text("taken from an image")
    return OK


def policy(rust: str, rust_web: str) -> dict[str, Finished]:
    return {
        "apt-cache policy cargo": Finished(0, f"cargo:\n  Candidate: {rust}\n"),
        "apt-cache policy cargo-web": Finished(0, f"cargo-web:\n  Candidate: {rust_web}\n"),
    }


def test_a_cached_binary_needs_no_program_at_all(tmp_path: Path) -> None:
    cached = oha.cached_path(tmp_path)
    cached.parent.mkdir()
    cached.write_text("cached")
    machine = ScriptedMachine()

    assert ensure(machine, debian(tmp_path), registry_answers=True) == cached
    assert machine.ran == []


def test_an_image_named_by_the_user_comes_first(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "docker pull mine": OK,
        "docker create mine": Finished(0, "f00"),
        "docker cp": copy_out,
        "docker rm": OK,
        **C_TOOLS,
        "/usr/bin/cargo --version": NEW_CARGO,
    }
    machine = ScriptedMachine(TOOLS, answers)

    made = ensure(machine, debian(tmp_path), image="mine", registry_answers=True)

    assert made.read_text() == "taken from an image"
    assert machine.did("docker rm --force f00")


def test_a_named_image_without_oha_is_an_error_not_a_reason_to_compile(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "docker pull": OK,
        "docker create": Finished(0, "f00"),
        "docker rm": OK,
    }
    machine = ScriptedMachine(TOOLS, answers)

    with pytest.raises(StepFailed, match="there is no oha in TUNER_OHA_IMAGE=mine"):
        ensure(machine, debian(tmp_path), image="mine")
    assert machine.did("docker rm --force f00")


def test_a_registry_that_answers_means_compiling_in_a_container(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"docker pull rust": OK, "docker run": cargo_in_container}
    machine = ScriptedMachine(TOOLS, answers)

    made = ensure(machine, debian(tmp_path), registry_answers=True)

    assert made.read_text() == "compiled in a container"


@pytest.mark.parametrize(("suite", "compiler"), [("bookworm", "/usr/bin/cargo"), ("sid", "docker")])
def test_compiling_starts_at_once_where_the_c_library_is_the_one_of_the_images(
    tmp_path: Path, suite: str, compiler: str
) -> None:
    answers: dict[str, Answer] = {
        **C_TOOLS,
        "/usr/bin/cargo --version": NEW_CARGO,
        "/usr/bin/cargo install": cargo_install,
        "docker pull rust": OK,
        "docker run": cargo_in_container,
    }
    machine = ScriptedMachine(TOOLS, answers)

    ensure(machine, replace(debian(tmp_path), suite=suite), registry_answers=True)

    compiled = [line for line in machine.ran if line.split()[1] in ("install", "run")]
    assert [line.split()[0] for line in compiled] == [compiler]


def test_without_a_registry_a_new_enough_cargo_is_used(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        **C_TOOLS,
        "/usr/bin/cargo --version": NEW_CARGO,
        "/usr/bin/cargo install": cargo_install,
    }
    machine = ScriptedMachine(TOOLS, answers)

    made = ensure(machine, debian(tmp_path, is_root=False))

    assert made.read_text() == "compiled by /usr/bin/cargo"
    assert not machine.did("docker pull")


def test_an_old_cargo_is_passed_over_for_the_package_that_is_new_enough(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        **C_TOOLS,
        "/usr/bin/cargo --version": OLD_CARGO,
        "/usr/bin/cargo install": cargo_install,
        "apt-get": OK,
        **policy("0.66.0+ds1-1", "1.96.0+dfsg1-1~deb12u2"),
    }
    machine = ScriptedMachine(TOOLS, answers)

    ensure(machine, debian(tmp_path))

    installed = next(line for line in machine.ran if line.startswith("apt-get install"))
    assert "rustc-web cargo-web make" in installed
    assert "--no-remove" in installed


def test_missing_c_tools_are_installed_beside_a_cargo_of_the_users_own(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        **C_TOOLS,
        "/usr/bin/cargo --version": NEW_CARGO,
        "/usr/bin/cargo install": cargo_install,
        "apt-get": OK,
    }
    del answers["make"]
    answers["pkg-config --exists"] = FAILED
    machine = ScriptedMachine(TOOLS, answers)

    ensure(machine, debian(tmp_path))

    assert any(line.endswith("make libssl-dev") for line in machine.ran)


def test_no_source_at_all_names_every_way_out(tmp_path: Path) -> None:
    with pytest.raises(StepFailed) as caught:
        ensure(ScriptedMachine(), debian(tmp_path, is_root=False))

    assert "Rust 1.88" in caught.value.todo
    assert "TUNER_OHA_IMAGE" in caught.value.todo


def test_a_release_without_a_new_rust_says_so(tmp_path: Path) -> None:
    machine = ScriptedMachine(set(), {"apt-get": OK, **policy("0.66.0", "1.85.0+dfsg3")})

    with pytest.raises(StepFailed, match="no Rust that is new enough"):
        ensure(machine, debian(tmp_path))


def test_a_failed_compilation_leaves_no_binary_behind(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        **C_TOOLS,
        "/usr/bin/cargo --version": NEW_CARGO,
        "/usr/bin/cargo install": Finished(101, "error: failed to download crates"),
    }
    machine = ScriptedMachine(TOOLS, answers)

    with pytest.raises(StepFailed) as caught:
        ensure(machine, debian(tmp_path))

    assert "make crates.io reachable" in caught.value.todo
    assert list(oha.cached_path(tmp_path).parent.iterdir()) == []
