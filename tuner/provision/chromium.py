"""Chromium, for the tests that look at pages as a reader does."""

from __future__ import annotations

from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed

PROGRAM = "chromium"


def ensure(machine: Machine) -> None:
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
