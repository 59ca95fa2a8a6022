"""Debian packages, installed only by root and only what a step names."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

from tuner.provision.commands import Commands

_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
# Never take a package away, and wait for an unattended upgrade that is running.
_OPTIONS = ("-y", "--no-install-recommends", "--no-remove", "-o", "DPkg::Lock::Timeout=120")


class Apt:
    """The package lists are refreshed once per run, and only when something has to be installed."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._refreshed = False
        self._alone = threading.RLock()  # apt-get itself does not wait for every lock

    def install(self, packages: Sequence[str], *, what: str) -> None:
        """Install the packages.

        Raises StepFailed with apt's last lines.
        """
        with self._alone:
            self.refresh()
            self._commands.must(
                ["apt-get", "install", *_OPTIONS, *packages],
                what=what,
                todo=f"make `apt-get install {' '.join(packages)}` succeed,"
                " then run the same command again",
                timeout_s=900,
                env=_QUIET,
            )

    def refresh(self) -> None:
        """A third party's broken source may fail here; `install` says whether ours can be had."""
        with self._alone:
            if not self._refreshed:
                self._commands.run(["apt-get", "update"], timeout_s=300, env=_QUIET)
                self._refreshed = True

    def candidate(self, package: str) -> tuple[int, int] | None:
        """Major and minor version that would be installed, None when there is no such package."""
        self.refresh()
        policy = self._commands.run(["apt-cache", "policy", package]).output
        found = re.search(r"Candidate: (?:\d+:)?(\d+)\.(\d+)", policy)
        return (int(found[1]), int(found[2])) if found else None
