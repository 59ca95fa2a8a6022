"""The load generator's binary: from an image, or compiled once and kept outside the checkout."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tuner.provision import programs
from tuner.provision.apt import Apt
from tuner.provision.commands import Commands, Finished, evidence, must
from tuner.provision.host import Host
from tuner.provision.steps import StepFailed, Steps

VERSION = "1.16.0"

_RUST = (1, 88)  # what oha 1.16 asks for
_RUST_IMAGE = "rust:1-slim-bookworm"  # the same C library as the images it has to run in
_COMPILES_WITHIN_S = 1800.0
_WHAT = f"load generator oha {VERSION}"
_TODO = (
    f"install Rust {_RUST[0]}.{_RUST[1]} or later with cmake, make and a C compiler, or name an"
    f" image that holds oha {VERSION} with TUNER_OHA_IMAGE; then run the same command again"
)


def cached_path(cache: Path) -> Path:
    return cache / f"oha-{VERSION}" / "oha"


def ensure(
    steps: Steps,
    commands: Commands,
    host: Host,
    apt: Apt,
    *,
    image: str | None,
    registry_answers: bool,
) -> Path:
    """The binary's path.

    Sources, in order: `image`, a Rust container, this machine's cargo, Debian's packages. Raises
    StepFailed when none of them is there, or when compiling fails.
    """

    def make(folder: Path) -> Path:
        if image:
            return programs.taken_from(
                steps, commands, folder, program="oha", image=image, variable="TUNER_OHA_IMAGE"
            )
        if registry_answers and programs.pull(commands, _RUST_IMAGE):
            return _compiled_in_container(steps, commands, host, folder)
        return _compiled_here(steps, commands, host, apt, folder)

    return programs.kept(cached_path(host.cache), make)


def _compiled_in_container(steps: Steps, commands: Commands, host: Host, folder: Path) -> Path:
    trust: list[str] = []
    if host.ca_bundle is not None:
        trust = [
            f"--volume={host.ca_bundle}:/ca.crt:ro",
            "--env=CARGO_HTTP_CAINFO=/ca.crt",
            "--env=SSL_CERT_FILE=/ca.crt",
        ]
    script = (
        "apt-get update && apt-get install -y --no-install-recommends cmake make gcc libc6-dev"
        f" && cargo install oha --version {VERSION} --locked --root /out"
    )
    with steps.slow(
        f"compiling oha {VERSION} in a container (about 4 minutes, once)", f"oha {VERSION} compiled"
    ):
        must(
            commands,
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


def _compiled_here(steps: Steps, commands: Commands, host: Host, apt: Apt, folder: Path) -> Path:
    cargo = _cargo(steps, commands, apt)
    _have_c_tools(steps, commands, apt)
    argv = [cargo, "install", "oha", "--version", VERSION, "--locked", "--root", str(folder)]
    with steps.slow(f"compiling oha {VERSION} (about 4 minutes, once)", f"oha {VERSION} compiled"):
        finished = commands.run(
            argv,
            timeout_s=_COMPILES_WITHIN_S,
            cwd=folder,
            env={
                **host.trust,
                "CARGO_PROFILE_RELEASE_STRIP": "symbols",
                "CARGO_TARGET_DIR": str(folder / "target"),
                **_rustc_beside(cargo),
            },
        )
    if not finished.ok:
        raise StepFailed(
            _WHAT, evidence(commands, argv, finished, _COMPILES_WITHIN_S), _compile_advice(finished)
        )
    return folder / "bin" / "oha"


def _compile_advice(finished: Finished) -> str:
    if "failed to download" in finished.output or "download of" in finished.output:
        return "make crates.io reachable for cargo, then run the same command again"
    return _TODO


def _rustc_beside(cargo: str) -> dict[str, str]:
    """A compiler from Debian must not be shadowed by an older one that comes first on PATH."""
    return {"RUSTC": "/usr/bin/rustc"} if cargo == "/usr/bin/cargo" else {}


def _cargo(steps: Steps, commands: Commands, apt: Apt) -> str:
    for candidate in (commands.which("cargo"), "/usr/bin/cargo"):
        if candidate and _rust_version(commands, candidate) >= _RUST:
            return candidate
    if not apt.usable:
        raise StepFailed(
            _WHAT, "no registry answers and this machine has no cargo that is new enough", _TODO
        )
    # Newer Rust reaches a stable Debian as rustc-web, which it needs for its browsers.
    for suffix in ("", "-web"):
        if (apt.candidate(f"cargo{suffix}") or (0, 0)) >= _RUST:
            with steps.slow(f"installing rustc{suffix} with apt", f"rustc{suffix} installed"):
                apt.install(
                    [f"rustc{suffix}", f"cargo{suffix}", "cmake", "make", "gcc", "libc6-dev"],
                    what=_WHAT,
                )
            return "/usr/bin/cargo"
    raise StepFailed(
        _WHAT,
        "no registry answers and this release of Debian has no Rust that is new enough",
        _TODO,
    )


def _have_c_tools(steps: Steps, commands: Commands, apt: Apt) -> None:
    """oha compiles a C library for TLS."""
    missing = [
        package
        for program, package in (("cmake", "cmake"), ("make", "make"), ("cc", "gcc"))
        if not commands.which(program)
    ]
    if not missing:
        return
    if not apt.usable:
        raise StepFailed(_WHAT, f"compiling it needs {', '.join(missing)}", _TODO)
    with steps.slow(f"installing {', '.join(missing)} with apt", f"{', '.join(missing)} installed"):
        apt.install([*missing, "libc6-dev"], what=_WHAT)


def _rust_version(commands: Commands, cargo: str) -> tuple[int, int]:
    finished = commands.run([cargo, "--version"])
    found = re.search(r"cargo (\d+)\.(\d+)", finished.output) if finished.ok else None
    return (int(found[1]), int(found[2])) if found else (0, 0)


def forget(cache: Path) -> None:
    """Drop the cached binary, so that the next run makes another."""
    shutil.rmtree(cached_path(cache).parent, ignore_errors=True)
