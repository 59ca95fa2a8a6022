"""A Docker Engine that answers: found, started, or installed."""

from __future__ import annotations

import time
from pathlib import Path

from tuner.provision.machine import Commands, Machine, StepFailed

_WHAT = "Docker Engine"
_STARTS_WITHIN_S = 30.0
_POLL_S = 0.5
_LOG_LINES = 15


def ensure(machine: Machine, *, starts_within_s: float = _STARTS_WITHIN_S) -> None:
    """Have an engine that answers when this returns.

    A stopped engine is only started; one is installed by root on Debian or Ubuntu only. An engine
    named by DOCKER_HOST is its owner's affair. Raises StepFailed with exactly what to install or
    start otherwise.
    """
    version = version_of(machine.commands)
    if version is None:
        _refuse_what_is_not_ours(machine)
        _install_if_missing(machine)
        version = _start(machine, starts_within_s)
    machine.steps.ok(f"Docker Engine {version} answers")


def version_of(commands: Commands) -> str | None:
    """None without an engine; `docker info` exits 0 then in some releases, this does not."""
    finished = commands.run(["docker", "version", "--format", "{{.Server.Version}}"], timeout_s=20)
    lines = finished.output.strip().splitlines() if finished.ok else []
    return lines[-1] if lines else None


def _refuse_what_is_not_ours(machine: Machine) -> None:
    if machine.host.docker_host:
        raise StepFailed(
            _WHAT,
            f"the one named by DOCKER_HOST={machine.host.docker_host} does not answer",
            "start it, or unset DOCKER_HOST to use an engine of this machine",
        )
    if machine.host.system != "Linux":
        raise StepFailed(
            _WHAT,
            f"none answers on this {machine.host.system}",
            "install and start Docker Desktop (or Colima)",
        )
    if "permission denied" in machine.run(["docker", "version"], timeout_s=20).output.lower():
        raise StepFailed(
            _WHAT,
            "it runs, but this user may not talk to it",
            'run `sudo usermod -aG docker "$USER"`, log in again, and run the same command again',
        )


def _install_if_missing(machine: Machine) -> None:
    if machine.which("dockerd"):
        return
    client = (
        "only the docker client is installed"
        if machine.which("docker")
        else "Docker is not installed"
    )
    if not machine.host.can_apt:
        why = "we are not root" if machine.host.is_debian else "this is not Debian or Ubuntu"
        raise StepFailed(_WHAT, f"{client}, and {why}", _how_to_install(machine))
    with machine.steps.slow(
        f"{client}: installing docker.io with apt (about 20 seconds, once)",
        "docker.io and iptables installed",
    ):
        machine.apt.install(["docker.io", "iptables"], what=_WHAT)
        if not machine.which("docker"):  # newer suites have the client in a package of its own
            machine.apt.install(["docker-cli"], what=_WHAT)


def _how_to_install(machine: Machine) -> str:
    if machine.host.is_debian:
        return (
            "run `sudo apt-get install -y docker.io iptables` (or this command as root),"
            " then run the same command again"
        )
    return (
        "install Docker Engine 20.10 or later with your system's package manager, start it,"
        " then run the same command again"
    )


def _start(machine: Machine, within_s: float) -> str:
    """By the machine's own service manager where it has one, else as a process that outlives us."""
    command = (
        ["systemctl", "start", "docker"]
        if machine.host.has_systemd
        else ["service", "docker", "start"]
    )
    if not machine.host.is_root:
        raise StepFailed(
            _WHAT,
            "it is installed but not running, and we are not root",
            f"run `sudo {' '.join(command)}`, then run the same command again",
        )
    machine.steps.working("starting Docker Engine")
    if machine.run(command, timeout_s=90).ok:
        version = _await_answer(machine, within_s)
        if version is not None:
            return version
    log = machine.host.cache / "dockerd.log"
    machine.commands.start_daemon(["dockerd"], log)
    version = _await_answer(machine, within_s)
    if version is not None:
        return version
    raise StepFailed(
        _WHAT,
        f"it was started but did not answer within {within_s:.0f} s\n{_tail(log)}",
        f"see {log} for the reason; when `docker info` answers, run the same command again",
    )


def _await_answer(machine: Machine, within_s: float) -> str | None:
    deadline = time.monotonic() + within_s
    while (version := version_of(machine.commands)) is None and time.monotonic() < deadline:
        time.sleep(min(_POLL_S, within_s))
    return version


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return "\n".join(lines[-_LOG_LINES:]) or "(it wrote no log)"
