"""The machine that is set up: what every step works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuner.provision.apt import Apt
from tuner.provision.commands import Commands, Finished
from tuner.provision.host import Host
from tuner.provision.steps import Steps


@dataclass
class Machine:
    """Facts, programs, and where progress is reported. A `Commands` itself."""

    steps: Steps
    commands: Commands
    host: Host
    checkout: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    apt: Apt = field(init=False)

    def __post_init__(self) -> None:
        self.apt = Apt(self.commands, self.host)

    @property
    def log(self) -> Path:
        return self.commands.log

    def which(self, name: str) -> str | None:
        return self.commands.which(name)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 60.0,
        answer_within_s: float | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        return self.commands.run(
            argv, timeout_s=timeout_s, answer_within_s=answer_within_s, cwd=cwd, env=env
        )

    def start_daemon(self, argv: Sequence[str], log: Path) -> None:
        self.commands.start_daemon(argv, log)

    def stop(self) -> None:
        self.commands.stop()
