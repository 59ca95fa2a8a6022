"""The commands of `make check` and `make test`: the one place where they are written down."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.provision.steps import StepFailed, Steps

LEVELS = ("unit", "contract", "integration", "acceptance", "recovery")


@dataclass(frozen=True)
class Check:
    """A program of `.venv/bin` with its arguments, run in the checkout."""

    name: str
    argv: tuple[str, ...]


_STATIC = (
    Check("format", ("ruff", "format", "--check", "--quiet")),
    Check("lint", ("ruff", "check", "--quiet")),
    Check("imports", ("lint-imports",)),
    Check("types", ("mypy",)),
)
# Under a minute, and no Docker.
FAST = (
    *_STATIC,
    Check(
        "unit and contract tests", ("pytest", "-m", "not docker", "tests/unit", "tests/contract")
    ),
)
# One pytest run, so that its closing line counts every level. Modules run side by side, for most of
# them wait most of the time; tests/conftest.py has what measures run when all others have ended.
SIDE_BY_SIDE = ("-n", "4", "--no-loadscope-reorder")
FULL = (*_STATIC, Check("all test levels", ("pytest", *SIDE_BY_SIDE, "tests")))


def run(steps: Steps, checkout: Path, checks: Sequence[Check]) -> list[str]:
    """Run every check, whatever the ones before it said; the names of those that failed."""
    failed = []
    for check in checks:
        steps.working(f"{check.name}: {' '.join(check.argv)}")
        program = checkout / ".venv" / "bin" / check.argv[0]
        code = subprocess.run([str(program), *check.argv[1:]], cwd=checkout, check=False).returncode
        if code:
            failed.append(check.name)
    return failed


def require_every_level(checkout: Path) -> None:
    """Raises StepFailed when a level has no tests: an empty folder would pass in silence."""
    for level in LEVELS:
        if not any((checkout / "tests" / level).rglob("test_*.py")):
            raise StepFailed(f"tests/{level}", "it holds no test", "check out the whole repository")
