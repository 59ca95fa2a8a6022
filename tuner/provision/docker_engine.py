"""A Docker Engine that answers: found, started, or installed."""

from __future__ import annotations

import time
from pathlib import Path

from tuner.provision.apt import Apt
from tuner.provision.commands import Commands
from tuner.provision.host import Host
from tuner.provision.steps import StepFailed, Steps

_WHAT = "Docker Engine"
_STARTS_WITHIN_S = 30.0
_POLL_S = 0.5
_LOG_LINES = 15


def ensure(
    steps: Steps,
    commands: Commands,
    host: Host,
    apt: Apt,
    *,
    starts_within_s: float = _STARTS_WITHIN_S,
) -> None:
    """Have an engine that answers when this returns.

    A stopped engine is only started; one is installed by root on Debian or Ubuntu only. An engine
    named by DOCKER_HOST is its owner's affair. Raises StepFailed with exactly what to install or
    start otherwise.
    """
    version = _version(commands)
    if version is None:
        _refuse_what_is_not_ours(commands, host)
        _install_if_missing(steps, commands, host, apt)
        version = _start(steps, commands, host, starts_within_s)
    steps.ok(f"Docker Engine {version} answers")


def _version(commands: Commands) -> str | None:
    """None without an engine; `docker info` exits 0 then in some releases, this does not."""
    finished = commands.run(["docker", "version", "--format", "{{.Server.Version}}"], timeout_s=20)
    return (
        finished.output.strip().splitlines()[-1]
        if finished.ok and finished.output.strip()
        else None
    )


def _refuse_what_is_not_ours(commands: Commands, host: Host) -> None:
    if host.docker_host:
        raise StepFailed(
            _WHAT,
            f"the one named by DOCKER_HOST={host.docker_host} does not answer",
            "start it, or unset DOCKER_HOST to use an engine of this machine",
        )
    if host.system != "Linux":
        raise StepFailed(
            _WHAT,
            f"none answers on this {host.system}",
            "install and start Docker Desktop (or Colima)",
        )
    if "permission denied" in commands.run(["docker", "version"], timeout_s=20).output.lower():
        raise StepFailed(
            _WHAT,
            "it runs, but this user may not talk to it",
            'run `sudo usermod -aG docker "$USER"`, log in again, and run the same command again',
        )


def _install_if_missing(steps: Steps, commands: Commands, host: Host, apt: Apt) -> None:
    if commands.which("dockerd"):
        return
    client = (
        "only the docker client is installed"
        if commands.which("docker")
        else "Docker is not installed"
    )
    if not apt.usable:
        raise StepFailed(_WHAT, f"{client}, {_why_not_apt(host)}", _how_to_install(host))
    with steps.slow(
        f"{client}: installing docker.io with apt (about 20 seconds, once)",
        "docker.io and iptables installed",
    ):
        apt.install(["docker.io", "iptables"], what=_WHAT)
        if not commands.which("docker"):  # newer suites have the client in a package of its own
            apt.install(["docker-cli"], what=_WHAT)


def _why_not_apt(host: Host) -> str:
    return "and we are not root" if host.is_debian else "and this is not Debian or Ubuntu"


def _how_to_install(host: Host) -> str:
    if host.is_debian:
        return (
            "run `sudo apt-get install -y docker.io iptables` (or this command as root),"
            " then run the same command again"
        )
    return (
        "install Docker Engine 20.10 or later with your system's package manager, start it,"
        " then run the same command again"
    )


def _start(steps: Steps, commands: Commands, host: Host, within_s: float) -> str:
    """By the machine's own service manager where it has one, else as a process that outlives us."""
    command = (
        ["systemctl", "start", "docker"] if host.has_systemd else ["service", "docker", "start"]
    )
    if not host.is_root:
        raise StepFailed(
            _WHAT,
            "it is installed but not running, and we are not root",
            f"run `sudo {' '.join(command)}`, then run the same command again",
        )
    steps.working("starting Docker Engine")
    if commands.run(command, timeout_s=90).ok:
        version = _await_answer(commands, within_s)
        if version is not None:
            return version
    log = host.cache / "dockerd.log"
    commands.start_daemon(["dockerd"], log)
    version = _await_answer(commands, within_s)
    if version is not None:
        return version
    raise StepFailed(
        _WHAT,
        f"it was started but did not answer within {within_s:.0f} s\n{_tail(log)}",
        f"see {log} for the reason; when `docker info` answers, run the same command again",
    )


def _await_answer(commands: Commands, within_s: float) -> str | None:
    deadline = time.monotonic() + within_s
    while (version := _version(commands)) is None and time.monotonic() < deadline:
        time.sleep(min(_POLL_S, within_s))
    return version


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return "\n".join(lines[-_LOG_LINES:]) or "(it wrote no log)"
