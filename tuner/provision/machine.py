"""The machine that is set up: what every step works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tuner.provision.apt import Apt
from tuner.provision.commands import Commands
from tuner.provision.host import Host
from tuner.provision.steps import Steps


@dataclass
class Machine:
    """Facts, programs, packages, and where progress is reported."""

    steps: Steps
    commands: Commands
    host: Host
    checkout: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    apt: Apt = field(init=False)

    def __post_init__(self) -> None:
        self.apt = Apt(self.commands)
        # The two that every step calls.
        self.run, self.which = self.commands.run, self.commands.which
