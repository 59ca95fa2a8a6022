"""The commands of `make check`, `make test` and `make test-all`: the one place that lists them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tuner.provision.machine import StepFailed, Steps

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
FULL: Argv = ("pytest", "--tier", "full", *_WAITING, "tests")


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
