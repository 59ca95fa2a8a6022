from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import FAILED, OK, Answer, ScriptedMachine, debian
from tuner.provision import k6
from tuner.provision.host import Host
from tuner.provision.machine import Finished, StepFailed

NEW_GO = Finished(0, "go version go1.25.0 linux/amd64")
OLD_GO = Finished(0, "go version go1.24.9 linux/amd64")


def ensure(
    machine: ScriptedMachine,
    host: Host,
    *,
    image: str | None = None,
    registry_answers: bool = False,
) -> Path:
    named = {"TUNER_K6_IMAGE": image} if image else {}
    return k6.ensure(scripted.machine(machine, host, environment=named), lambda: registry_answers)


def go_install(host: Host) -> Answer:
    """What `go install` leaves in GOBIN, which is a folder beside the cached binary."""

    def install(argv: Sequence[str]) -> Finished:
        (folder,) = k6.cached_path(host.cache).parent.iterdir()
        (folder / "k6").write_text(f"compiled by {argv[0]}")
        return OK

    return install


def copy_out(argv: Sequence[str]) -> Finished:
    if not argv[-2].endswith(":/usr/bin/k6"):
        return FAILED
    Path(argv[-1]).write_text(f"taken from {argv[-2]}")
    return OK


def test_a_cached_binary_needs_no_program_at_all(tmp_path: Path) -> None:
    cached = k6.cached_path(tmp_path)
    cached.parent.mkdir()
    cached.write_text("cached")
    machine = ScriptedMachine()

    assert ensure(machine, debian(tmp_path), image="mine", registry_answers=True) == cached
    assert machine.ran == []


def test_an_image_named_by_the_user_comes_first(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "docker pull mine": OK,
        "docker create mine": Finished(0, "f00"),
        "docker cp": copy_out,
        "docker rm": OK,
    }
    machine = ScriptedMachine({"go"}, answers)

    made = ensure(machine, debian(tmp_path), image="mine", registry_answers=True)

    assert made.read_text() == "taken from f00:/usr/bin/k6"
    assert made.stat().st_mode & 0o111
    assert machine.did("docker rm --force f00")


@pytest.mark.parametrize("pulled", [OK, FAILED])
def test_a_named_image_without_k6_is_an_error_not_a_reason_to_compile(
    tmp_path: Path, pulled: Finished
) -> None:
    answers: dict[str, Answer] = {
        "docker pull mine": pulled,
        "docker create": Finished(0, "f00"),
        "docker rm": OK,
        "/usr/bin/go version": NEW_GO,
    }
    machine = ScriptedMachine({"go"}, answers)

    with pytest.raises(StepFailed, match="TUNER_K6_IMAGE=mine"):
        ensure(machine, debian(tmp_path), image="mine", registry_answers=True)
    assert not machine.did("/usr/bin/go install")


def test_where_a_registry_answers_the_official_image_is_taken(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        f"docker pull grafana/k6:{k6.VERSION}": OK,
        f"docker create grafana/k6:{k6.VERSION}": Finished(0, "f00"),
        "docker cp": copy_out,
        "docker rm": OK,
    }

    made = ensure(ScriptedMachine(set(), answers), debian(tmp_path), registry_answers=True)

    assert made == k6.cached_path(tmp_path)
    assert made.read_text().startswith("taken from")


@pytest.mark.parametrize("registry_answers", [True, False])
def test_without_the_image_go_compiles_it_without_c(tmp_path: Path, registry_answers: bool) -> None:
    host = debian(tmp_path, is_root=False)
    answers: dict[str, Answer] = {
        "docker pull": FAILED,
        "/usr/bin/go version": NEW_GO,
        "/usr/bin/go install": go_install(host),
    }
    machine = ScriptedMachine({"go"}, answers)

    made = ensure(machine, host, registry_answers=registry_answers)

    assert made.read_text() == "compiled by /usr/bin/go"
    assert machine.did("docker pull") == registry_answers
    assert machine.ran[-1].endswith(f"go.k6.io/k6@v{k6.VERSION}")


def test_an_old_go_is_passed_over_for_the_package_that_is_new_enough(tmp_path: Path) -> None:
    host = debian(tmp_path)
    answers: dict[str, Answer] = {
        "/usr/bin/go version": OLD_GO,
        "/usr/bin/go install": go_install(host),
        "apt-get": OK,
        "apt-cache policy golang-go": Finished(0, "golang-go:\n  Candidate: 2:1.26~1\n"),
    }
    machine = ScriptedMachine({"go"}, answers)

    ensure(machine, host)

    assert any("apt-get install" in line and "golang-go" in line for line in machine.ran)


def test_a_release_without_a_new_go_says_what_to_do(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "apt-get": OK,
        "apt-cache policy golang-go": Finished(0, "golang-go:\n  Candidate: 2:1.19~1\n"),
    }

    with pytest.raises(StepFailed, match="no Go that is new enough") as caught:
        ensure(ScriptedMachine(set(), answers), debian(tmp_path))
    assert "Go 1.25" in caught.value.todo
    assert "TUNER_K6_IMAGE" in caught.value.todo


def test_without_root_nothing_is_installed(tmp_path: Path) -> None:
    machine = ScriptedMachine()

    with pytest.raises(StepFailed, match="no Go that is new enough"):
        ensure(machine, debian(tmp_path, is_root=False))
    assert not machine.did("apt-get")


def test_a_failed_compilation_leaves_no_binary_behind(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "/usr/bin/go version": NEW_GO,
        "/usr/bin/go install": Finished(1, "go: dial tcp: lookup failed"),
    }

    with pytest.raises(StepFailed) as caught:
        ensure(ScriptedMachine({"go"}, answers), debian(tmp_path))

    assert "module proxy reachable" in caught.value.todo
    assert list(k6.cached_path(tmp_path).parent.iterdir()) == []
