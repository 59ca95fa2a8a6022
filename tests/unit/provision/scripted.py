"""A machine that answers as a test says."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuner.provision.host import Host
from tuner.provision.machine import Commands, Finished, Machine, Steps

OK = Finished(0, "")
FAILED = Finished(1, "")

Answer = Finished | Callable[[Sequence[str]], Finished]


@dataclass
class ScriptedMachine(Commands):
    """Programs by their first words: the longest match answers, what is not scripted is missing.

    `programs` is what `which` finds. `ran` and `daemons` are what the steps did, in order.
    """

    programs: set[str] = field(default_factory=set)
    answers: dict[str, Answer] = field(default_factory=dict)
    log: Path = Path("provision.log")
    ran: list[str] = field(default_factory=list)
    daemons: list[str] = field(default_factory=list)
    on_daemon: Callable[[], None] = lambda: None

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name in self.programs else None

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 60.0,
        answer_within_s: float | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        line = " ".join(argv)
        self.ran.append(line)
        matching = [words for words in self.answers if line.startswith(words)]
        if not matching:
            return Finished(127, f"{argv[0]}: No such file or directory")
        answer = self.answers[max(matching, key=len)]
        return answer if isinstance(answer, Finished) else answer(argv)

    def start_daemon(self, argv: Sequence[str], log: Path) -> None:
        self.daemons.append(" ".join(argv))
        self.on_daemon()

    def stop(self) -> None:
        self.ran.append("stop")

    def did(self, words: str) -> bool:
        return any(line.startswith(words) for line in self.ran)


def machine(
    scripted: ScriptedMachine,
    host: Host,
    checkout: Path | None = None,
    *,
    printed: io.StringIO | None = None,
    environment: Mapping[str, str] | None = None,
) -> Machine:
    """The scripted programs with a host's facts, and where progress is printed."""
    steps = Steps(printed or io.StringIO())
    return Machine(steps, scripted, host, checkout or host.cache, environment or {})


def debian(cache: Path, *, is_root: bool = True, docker_host: str | None = None) -> Host:
    return Host(
        system="Linux",
        distribution=frozenset({"debian"}),
        suite="bookworm",
        is_root=is_root,
        has_systemd=False,
        docker_host=docker_host,
        cache=cache,
        ca_bundle=None,
        apt_sources=None,
    )


def fedora(cache: Path) -> Host:
    return replace(debian(cache), distribution=frozenset({"fedora"}), suite="", has_systemd=True)
