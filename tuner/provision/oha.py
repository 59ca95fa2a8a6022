"""The load generator's binary: from an image, or compiled once and kept outside the checkout."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tuner.provision import programs
from tuner.provision.commands import Finished, evidence, must
from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed

VERSION = "1.16.0"

_RUST = (1, 88)  # what oha 1.16 asks for
_VARIABLE = "TUNER_OHA_IMAGE"
_SUITE = "bookworm"  # of Debian: what the images are made of
_RUST_IMAGE = "rust:1-slim-bookworm"  # the same C library as the images it has to run in
_COMPILES_WITHIN_S = 1800.0
_WHAT = f"load generator oha {VERSION}"
_TODO = (
    f"install Rust {_RUST[0]}.{_RUST[1]} or later with cmake, make and a C compiler, or name an"
    f" image that holds oha {VERSION} with TUNER_OHA_IMAGE; then run the same command again"
)


def cached_path(cache: Path) -> Path:
    return cache / f"oha-{VERSION}" / "oha"


def ensure(machine: Machine, registry_answers: Callable[[], bool]) -> Path:
    """The binary's path.

    `registry_answers` waits for the engine. Sources, in order: TUNER_OHA_IMAGE, a compiler of this
    machine where its C library is the one of the images, a Rust container, a compiler of this
    machine. Raises StepFailed when there is none of them, or when compiling fails.
    """

    def make(folder: Path) -> Path:
        image = machine.environment.get(_VARIABLE)
        if image:
            registry_answers()
            return programs.taken_from(
                machine, folder, program="oha", image=image, variable=_VARIABLE
            )
        if _may_start_here(machine):  # while the engine and the other images are made ready
            return _compiled_here(machine, folder)
        if registry_answers() and programs.pull(machine, _RUST_IMAGE):
            return _compiled_in_container(machine, folder)
        return _compiled_here(machine, folder)

    return programs.kept(cached_path(machine.host.cache), make)


def _may_start_here(machine: Machine) -> bool:
    """Whether a binary made here runs in the images, and a new enough Rust is at hand."""
    return machine.host.suite == _SUITE and _own_cargo(machine) is not None


def _compiled_in_container(machine: Machine, folder: Path) -> Path:
    trust: list[str] = []
    if machine.host.ca_bundle is not None:
        trust = [
            f"--volume={machine.host.ca_bundle}:/ca.crt:ro",
            "--env=CARGO_HTTP_CAINFO=/ca.crt",
            "--env=SSL_CERT_FILE=/ca.crt",
        ]
    script = (
        "apt-get update && apt-get install -y --no-install-recommends cmake make gcc libc6-dev"
        f" && cargo install oha --version {VERSION} --locked --root /out"
    )
    with machine.steps.slow(
        f"compiling oha {VERSION} in a container (about 4 minutes, once)", f"oha {VERSION} compiled"
    ):
        must(
            machine,
            [
                "docker",
                "run",
                "--rm",
                "--network=host",
                f"--volume={folder}:/out",
                *trust,
                "--env=CARGO_PROFILE_RELEASE_STRIP=symbols",
                _RUST_IMAGE,
                "sh",
                "-c",
                script,
            ],
            what=_WHAT,
            todo="make crates.io reachable from a container; then run the same command again",
            timeout_s=_COMPILES_WITHIN_S,
        )
    return folder / "bin" / "oha"


def _compiled_here(machine: Machine, folder: Path) -> Path:
    cargo = _cargo(machine)
    _have_c_tools(machine)
    argv = [cargo, "install", "oha", "--version", VERSION, "--locked", "--root", str(folder)]
    with machine.steps.slow(
        f"compiling oha {VERSION} (about 4 minutes, once)", f"oha {VERSION} compiled"
    ):
        finished = machine.run(
            argv,
            timeout_s=_COMPILES_WITHIN_S,
            cwd=folder,
            env={
                **machine.host.trust,
                "CARGO_PROFILE_RELEASE_STRIP": "symbols",
                "CARGO_TARGET_DIR": str(folder / "target"),
                **_rustc_beside(cargo),
            },
        )
    if not finished.ok:
        raise StepFailed(
            _WHAT, evidence(machine, argv, finished, _COMPILES_WITHIN_S), _compile_advice(finished)
        )
    return folder / "bin" / "oha"


def _compile_advice(finished: Finished) -> str:
    if "failed to download" in finished.output or "download of" in finished.output:
        return "make crates.io reachable for cargo, then run the same command again"
    return _TODO


def _rustc_beside(cargo: str) -> dict[str, str]:
    """A compiler from Debian must not be shadowed by an older one that comes first on PATH."""
    return {"RUSTC": "/usr/bin/rustc"} if cargo == "/usr/bin/cargo" else {}


def _own_cargo(machine: Machine) -> str | None:
    """A cargo of this machine that is new enough."""
    candidates = (machine.which("cargo"), "/usr/bin/cargo")
    return next((c for c in candidates if c and _rust_version(machine, c) >= _RUST), None)


def _cargo(machine: Machine) -> str:
    own = _own_cargo(machine)
    if own:
        return own
    if not machine.apt.usable:
        raise StepFailed(
            _WHAT, "no registry answers and this machine has no cargo that is new enough", _TODO
        )
    # Newer Rust reaches a stable Debian as rustc-web, which it needs for its browsers.
    for suffix in ("", "-web"):
        if (machine.apt.candidate(f"cargo{suffix}") or (0, 0)) >= _RUST:
            with machine.steps.slow(
                f"installing rustc{suffix} with apt", f"rustc{suffix} installed"
            ):
                machine.apt.install(
                    [f"rustc{suffix}", f"cargo{suffix}", "cmake", "make", "gcc", "libc6-dev"],
                    what=_WHAT,
                )
            return "/usr/bin/cargo"
    raise StepFailed(
        _WHAT,
        "no registry answers and this release of Debian has no Rust that is new enough",
        _TODO,
    )


def _have_c_tools(machine: Machine) -> None:
    """oha compiles a C library for TLS."""
    missing = [
        package
        for program, package in (("cmake", "cmake"), ("make", "make"), ("cc", "gcc"))
        if not machine.which(program)
    ]
    if not missing:
        return
    if not machine.apt.usable:
        raise StepFailed(_WHAT, f"compiling it needs {', '.join(missing)}", _TODO)
    with machine.steps.slow(
        f"installing {', '.join(missing)} with apt", f"{', '.join(missing)} installed"
    ):
        machine.apt.install([*missing, "libc6-dev"], what=_WHAT)


def _rust_version(machine: Machine, cargo: str) -> tuple[int, int]:
    finished = machine.run([cargo, "--version"])
    found = re.search(r"cargo (\d+)\.(\d+)", finished.output) if finished.ok else None
    return (int(found[1]), int(found[2])) if found else (0, 0)


def forget(cache: Path) -> None:
    """Drop the cached binary, so that the next run makes another."""
    shutil.rmtree(cached_path(cache).parent, ignore_errors=True)
