"""The load generator's binary: from an image, or compiled once and kept outside the checkout."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from tuner.provision import programs
from tuner.provision.machine import Machine, StepFailed

VERSION = "1.16.0"

_RUST = (1, 88)  # what oha 1.16 asks for
_VARIABLE = "TUNER_OHA_IMAGE"
_SUITE = "bookworm"  # of Debian: what the images are made of
_RUST_IMAGE = "rust:1-slim-bookworm"  # the same C library as the images it has to run in
_COMPILES_WITHIN_S = 1800.0
_WHAT = f"load generator oha {VERSION}"
_COMPILING = f"compiling oha {VERSION}"
_TAKES = "(minutes, once)"
_COMPILED = f"oha {VERSION} compiled"
# Only what runs for each request or each row is optimised in full: the rest costs the compiler time
# and gains nothing. TLS is never used, but oha does not compile without; the system's OpenSSL is
# the quickest to have. Measured: the client's CPU for 1 000 requests is within 3 % of a full build.
_HOT = (
    *("oha", "tokio", "mio", "hyper", "hyper-util", "http", "httparse", "http-body-util", "bytes"),
    *("futures-util", "kanal", "rusqlite", "libsqlite3-sys", "tikv-jemalloc-sys"),
)
_INSTALL = (
    *("install", "oha", "--version", VERSION, "--locked"),
    *("--no-default-features", "--features", "native-tls"),
    *(f"--config=profile.release.package.{crate}.opt-level=3" for crate in _HOT),
)
_PROFILE = {
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_PANIC": "abort",
    "CARGO_PROFILE_RELEASE_STRIP": "symbols",
}
_C_TOOLS = {  # Debian's package: a command that succeeds where it is installed
    "make": ("make", "--version"),
    "gcc": ("cc", "--version"),
    "pkg-config": ("pkg-config", "--version"),
    "libssl-dev": ("pkg-config", "--exists", "openssl"),
    "libc6-dev": ("test", "-e", "/usr/include/stdlib.h"),
}
_TODO = (
    f"install Rust {_RUST[0]}.{_RUST[1]} or later with make, pkg-config, a C compiler and OpenSSL's"
    f" headers, or name an image that holds oha {VERSION} with {_VARIABLE};"
    " then run the same command again"
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
        if machine.environment.get(_VARIABLE):
            registry_answers()
            return programs.taken_from(machine, folder, "oha", _VARIABLE)
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
        trust = [f"--volume={machine.host.ca_bundle}:/ca.crt:ro"]
        trust += [f"--env={name}=/ca.crt" for name in ("CARGO_HTTP_CAINFO", "SSL_CERT_FILE")]
    profile = [f"--env={name}={value}" for name, value in _PROFILE.items()]
    script = (
        f"apt-get update && apt-get install -y --no-install-recommends {' '.join(_C_TOOLS)}"
        f" && cargo {shlex.join(_INSTALL)} --root /out"
    )
    container = ("docker", "run", "--rm", "--network=host", f"--volume={folder}:/out")
    with machine.steps.slow(f"{_COMPILING} in a container {_TAKES}", _COMPILED):
        machine.commands.must(
            [*container, *trust, *profile, _RUST_IMAGE, "sh", "-c", script],
            what=_WHAT,
            todo="make crates.io reachable from a container; then run the same command again",
            timeout_s=_COMPILES_WITHIN_S,
        )
    return folder / "bin" / "oha"


def _compiled_here(machine: Machine, folder: Path) -> Path:
    cargo = _cargo(machine)
    _have_c_tools(machine)
    argv = [cargo, *_INSTALL, "--root", str(folder)]
    own = {"CARGO_TARGET_DIR": str(folder / "target"), **_rustc_beside(cargo)}
    env = {**machine.host.trust, **_PROFILE, **own}
    with machine.steps.slow(f"{_COMPILING} {_TAKES}", _COMPILED):
        finished = machine.run(argv, timeout_s=_COMPILES_WITHIN_S, cwd=folder, env=env)
    if not finished.ok:
        is_download = re.search("failed to download|download of", finished.output)
        todo = "make crates.io reachable for cargo, then run the same command again"
        why = machine.commands.evidence(argv, finished, _COMPILES_WITHIN_S)
        raise StepFailed(_WHAT, why, todo if is_download else _TODO)
    return folder / "bin" / "oha"


def _rustc_beside(cargo: str) -> dict[str, str]:
    """A compiler from Debian must not be shadowed by an older one that comes first on PATH."""
    return {"RUSTC": "/usr/bin/rustc"} if cargo == "/usr/bin/cargo" else {}


def _own_cargo(machine: Machine) -> str | None:
    """A cargo of this machine that is new enough."""
    candidates = (machine.which("cargo"), "/usr/bin/cargo")
    return next(
        (c for c in candidates if c and programs.version(machine, c, "--version") >= _RUST), None
    )


def _cargo(machine: Machine) -> str:
    own = _own_cargo(machine)
    if own:
        return own
    if not machine.host.can_apt:
        raise programs.none_new_enough("this machine", "cargo", what=_WHAT, todo=_TODO)
    # Newer Rust reaches a stable Debian as rustc-web, which it needs for its browsers.
    for suffix in ("", "-web"):
        if (machine.apt.candidate(f"cargo{suffix}") or (0, 0)) >= _RUST:
            rustc = f"rustc{suffix}"
            with machine.steps.slow(f"installing {rustc} with apt", f"{rustc} installed"):
                machine.apt.install([rustc, f"cargo{suffix}", *_C_TOOLS], what=_WHAT)
            return "/usr/bin/cargo"
    raise programs.none_new_enough("this release of Debian", "Rust", what=_WHAT, todo=_TODO)


def _have_c_tools(machine: Machine) -> None:
    """oha needs a memory allocator and a database in C, and the headers of OpenSSL."""
    missing = [package for package, test in _C_TOOLS.items() if not machine.run(test).ok]
    if not missing:
        return
    listed = ", ".join(missing)
    if not machine.host.can_apt:
        raise StepFailed(_WHAT, f"compiling it needs {listed}", _TODO)
    with machine.steps.slow(f"installing {listed} with apt", f"{listed} installed"):
        machine.apt.install(missing, what=_WHAT)
