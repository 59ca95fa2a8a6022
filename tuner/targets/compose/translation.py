"""A service of a compose file as a service of a target app."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.nouns.errors import Mistake
from tuner.nouns.model.base import megabytes, seconds
from tuner.nouns.model.services import APP, Runs, Service
from tuner.targets.compose.document import Node, missing
from tuner.targets.compose.environment import (
    env_of,
    name_empty,
    name_missing,
    refuse_secret,
    refuse_secrets,
    secrets_of,
)
from tuner.targets.compose.findings import Findings, Weight
from tuner.targets.compose.images import port_of, program_of
from tuner.targets.compose.interpolation import Source
from tuner.targets.compose.mounts import Mount, Mounted, mounted, mounts_of, refuse
from tuner.targets.compose.project import ComposeFile
from tuner.targets.compose.selection import Selection
from tuner.targets.compose.starting import dockerfile_for, source_of, words_of

# ---- The keys of a service: which ones an arm can have, which ones are left out, what is refused

_TAKEN = frozenset(
    {
        *("build", "image", "command", "entrypoint", "environment", "env_file", "depends_on"),
        *("healthcheck", "volumes", "tmpfs", "configs", "secrets", "links", "hostname"),
        *("container_name", "networks", "profiles", "extends", "mem_limit", "cpus", "deploy"),
        *("working_dir", "user", "shm_size", "ulimits"),
    }
)
"""Keys that other modules read."""

_TAKEN_OF_APP = frozenset({"ports", "expose", "sysctls"})

_ORDER = "a service starts once for each arm, and its logs and its end are ours"
_NETWORK = "an arm has a network of its own, where the services have their names"
_RIGHTS = "an arm has few rights: no capability but CHOWN, DAC_OVERRIDE, SETGID and SETUID"
_LEFT_OUT = {
    **dict.fromkeys(("restart", "stop_grace_period", "stop_signal", "logging"), _ORDER),
    **dict.fromkeys(("scale", "labels", "annotations", "attach"), _ORDER),
    **dict.fromkeys(("ports", "expose"), "the services of an arm reach all ports of each other"),
    **dict.fromkeys(("dns", "dns_search", "dns_opt", "domainname", "extra_hosts"), _NETWORK),
    **dict.fromkeys(("external_links", "mac_address"), _NETWORK),
    **dict.fromkeys(("cap_add", "cap_drop", "security_opt", "privileged", "group_add"), _RIGHTS),
    **dict.fromkeys(("network_mode", "pid", "ipc", "uts", "userns_mode", "cgroup"), _RIGHTS),
    **dict.fromkeys(("sysctls", "read_only", "init", "pids_limit"), _RIGHTS),
    **dict.fromkeys(("stdin_open", "tty"), "nobody types in an arm"),
    **dict.fromkeys(
        ("platform", "pull_policy"), "the benchmark host has the image that it can run"
    ),
    **dict.fromkeys(
        ("mem_reservation", "memswap_limit", "mem_swappiness", "cpu_shares", "cpuset"),
        "an arm has hard limits only: mem_limit and cpus, and CPUs that the tuner chooses",
    ),
    **dict.fromkeys(("volumes_from", "external"), "give each container its volumes itself"),
    "develop": "it is for editing code",
    "post_start": "make it a step of `prepare` if it fills data",
}
_HEALTH = {
    "interval": "the test runs as often as it takes, so that no arm waits for the next turn",
    "start_interval": "the test runs as often as it takes, so that no arm waits for the next turn",
    "retries": "the test runs until it passes, or until the start of the arm has taken too long",
    "start_period": "the test may fail until the start of the arm has taken too long",
}

_TRUE = ("true", "yes", "on")
_LIMITS = ("", "resources.limits.cpus", "resources.limits.memory")

_HOST = (
    "it gives a container rights on the host: remove it, or the whole service if that cannot run"
    " without it"
)
_NAMES = "An arm has a network of its own: call the services there by their names"
_HOST_MODES = frozenset({"network_mode", "pid", "ipc", "uts", "userns_mode", "cgroup"})
_DEVICES = frozenset({"devices", "device_cgroup_rules", "gpus", "cgroup_parent"})
_RISKY = frozenset(
    {
        *("ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "SYS_PTRACE", "SYS_BOOT", "SYS_TIME"),
        *("SYSLOG", "NET_ADMIN", "BPF", "PERFMON", "DAC_READ_SEARCH", "MAC_ADMIN", "MAC_OVERRIDE"),
    }
)


def refused(service: Node) -> Iterator[Mistake]:
    """Each key that would give an arm the host."""
    for key, node in service.items().items():
        if key in _DEVICES or (key == "privileged" and node.text.lower() in _TRUE):
            yield node.mistake(_HOST)
        elif key == "network_mode" and node.text == "host":
            yield node.mistake(
                f"host: it gives a container the network of the host: remove it. {_NAMES}"
            )
        elif key in _HOST_MODES and node.text == "host":
            yield node.mistake(f"host: {_HOST}")
        elif key in _HOST_MODES and node.text.startswith(("service:", "container:")):
            yield node.mistake(f"{node.text}: remove it. {_NAMES}")
        elif key == "cap_add":
            risky = (each for each in node.each() if each.text.removeprefix("CAP_") in _RISKY)
            yield from (each.mistake(f"{each.text}: {_HOST}") for each in risky)
    devices = service.get("deploy", "resources", "reservations", "devices")
    if devices:
        yield devices.mistake(_HOST)


def leave_out(name: str, service: Node, findings: Findings, *, is_app: bool) -> None:
    """Name each key that has no place in a target app."""
    taken = _TAKEN | _TAKEN_OF_APP if is_app else _TAKEN
    for key in service.items():
        if key.startswith("x-") or key in taken:
            continue
        why = _LEFT_OUT.get(key, "target.yaml has nothing like it")
        findings.left_out(f"{name}.{key}", why)
    if is_app:
        for key in {*service.get("ulimits").items()} - {*nofile_of(service)}:
            findings.left_out(f"{name}.ulimits.{key}", "limits has nofile only, as a number")
    for key in _HEALTH:
        if service.get("healthcheck", key) and not is_app:
            findings.left_out(f"{name}.healthcheck.{key}", _HEALTH[key])
    for node in service.get("deploy").walk():
        path = node.path.partition(".deploy.")[2]
        if not node.items() and path not in _LIMITS:
            findings.left_out(f"{name}.deploy.{path}", "an arm has one container of each service")


_MOST_S = 60.0
_LEAST_MB = 16
_DEFAULT_MB = Service.model_fields["memory_mb"].default
_OWN_CPUS = (
    "a database has CPUs of its own in nearly every production: `beside` if it shares the app's"
)
_SAME_CPUS = "the compose file pins the app and the service to the same `cpuset`"


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates the services of one selection."""

    compose: ComposeFile
    selection: Selection
    findings: Findings
    app_folder: Path | None  # from which the app is built; None: it is an image
    place: Callable[[Path], str]  # the name of a file in target.yaml

    def service(self, name: str) -> tuple[dict[str, Any], Mounted]:
        """The fields of a service in target.yaml, without `files`, and what it gets."""
        node = self.selection.services[name]
        project = self.compose.project
        found: dict[str, Any] = source_of(name, node, project, self._inside, self.findings)
        found |= self.needs(name, node)
        for key in ("entrypoint", "command"):
            if node.get(key):
                found[key] = words_of(node.get(key))
        if check := self._healthcheck(name, node):
            found["healthcheck"] = check
        if waits := self._waits(name):
            found["depends_on"] = waits
        found |= limits_of(node)
        if "memory_mb" not in found:
            self._name_memory(name, node)
        found["runs"] = self._runs(name, node).value
        if ulimits := node.get("ulimits").items():
            found["ulimits"] = {key: _ulimit(each) for key, each in ulimits.items()}
        mounts = mounts_of(node, self.compose.root)
        return found, mounted(name, mounts, dockerfile_for(node), self.findings)

    def needs(self, name: str, node: Node, *, is_app: bool = False) -> dict[str, Any]:
        """What an app and a service have in common. Collects all mistakes of the service."""
        self.findings.mistakes += refused(node)
        mounts = mounts_of(node, self.compose.root)
        refuse(mounts, self.findings)
        refuse_secrets(node, self.findings)
        self._check_contents(mounts)
        leave_out(name, node, self.findings, is_app=is_app)
        name_missing(name, node, self.findings)
        for key in ("image", "command", "entrypoint", "volumes", "ports", "user"):
            for each in node.get(key).walk():
                name_empty(f"{name}.{key}", each, self.findings)
        found: dict[str, Any] = {}
        if env := env_of(name, node, self.findings):
            found["env"] = env
        if secrets := secrets_of(name, node, self.compose.root, self.place, self.findings):
            found["secrets"] = secrets
        for key in ("user", "working_dir"):
            given = node.get(key)
            if given.text and not any(use.source is Source.MISSING for use in given.used):
                found[key] = given.text  # else it is a to do: part of it would be lacking
        if size := node.text_of("shm_size"):
            found["shm_mb"] = max(1, megabytes(size) or 0)
        return found

    def steps(self, name: str) -> list[dict[str, Any]]:
        """The step of `prepare` for a service that runs once; none if its command is unknown."""
        node, app = (self.selection.services[key] for key in (name, self.selection.app))
        words = [*words_of(node.get("entrypoint")), *words_of(node.get("command"))]
        if not words:
            self.findings.todo(f"service {name}", "its command is that of its image: add a step")
            return []
        why = "a step of `prepare`: it runs once in the app's container, with the app's environment"
        self.findings.changed(f"service {name}", why)
        for key in ("user", "working_dir"):
            if node.text_of(key) != app.text_of(key):
                self.findings.todo(f"{name}.{key}", "a step runs as the app does: look at it")
        theirs, ours = (
            env_of(key, self.selection.services[key], Findings())
            for key in (name, self.selection.app)
        )
        own = {key: value for key, value in theirs.items() if ours.get(key) != value}
        texts = [f"{key}={value}" for key, value in own.items() if isinstance(value, str)]
        for key in own:
            if not isinstance(own[key], str):
                why = "a step has the app's secrets only: give it to the app too, if it needs it"
                self.findings.todo(f"{name}.env.{key}", why)
        return [{"in": APP, "run": ["env", *texts, *words] if texts else words}]

    def _check_contents(self, mounts: list[Mount]) -> None:
        """The variables in the texts of configs."""
        for content in (mount.content for mount in mounts if mount.content is not None):
            self.findings.mistakes += missing(content)
            refuse_secret(content, self.findings)
            name_empty(content.path.removeprefix("."), content, self.findings)

    def _inside(self, folder: Path) -> str | None:
        """A folder inside the one that the app is built from."""
        if self.app_folder is None or folder == self.app_folder:
            return None
        is_inside = folder.is_relative_to(self.app_folder)
        return folder.relative_to(self.app_folder).as_posix() if is_inside else None

    def _healthcheck(self, name: str, node: Node) -> dict[str, Any] | None:
        found, own = self._health_of(name), node.get("healthcheck", "test").each()
        if found is None and not own:
            why = "without one the app starts as soon as the service is started"
            self.findings.todo(f"{name}.healthcheck", why)
        elif not own:
            why = "the file has none: this is the usual one for the image"
            self.findings.changed(f"{name}.healthcheck", why)
        return found

    def _health_of(self, name: str) -> dict[str, Any] | None:
        """The health check of a service: its own, or the usual one of its image."""
        node = self.selection.services[name]
        check, test = node.get("healthcheck"), node.get("healthcheck", "test")
        words = [each.text for each in test.each()]
        if check.text_of("disable").lower() == "true" or words[:1] == ["NONE"]:
            return None
        if not words:
            program = program_of(node)
            if program is None or not program.test:
                return None
            return {"test": program.test_on(port_of(node, name, self.selection.addresses))}
        found: dict[str, Any] = {"test": test.text or words}
        if timeout := seconds(check.text_of("timeout")):
            found["timeout"] = min(timeout, _MOST_S)
        return found

    def _name_memory(self, name: str, node: Node) -> None:
        program, what = program_of(node), f"{name}.memory_mb"
        if program is not None and program.is_large:
            why = f"the file has no limit, and {_DEFAULT_MB} MB may be too few: give it"
            self.findings.todo(what, why, Weight.FIGURES)
        else:
            why = f"{_DEFAULT_MB}, as the file has no limit"
            self.findings.changed(what, why, Weight.FIGURES)

    def _runs(self, name: str, node: Node) -> Runs:
        """Where it runs in production, as far as the compose file shows it."""
        cpus = node.text_of("cpuset")
        runs, why = Runs.ELSEWHERE, _OWN_CPUS
        if cpus and cpus == self.selection.services[self.selection.app].text_of("cpuset"):
            runs, why = Runs.BESIDE, _SAME_CPUS
        self.findings.changed(f"{name}.runs: {runs}", why, Weight.FIGURES)
        return runs

    def _waits(self, name: str) -> dict[str, str]:
        """The taken services that it waits for, and how."""
        found: dict[str, str] = {}
        for other, node in self.selection.edges(name).items():
            condition = node.text_of("condition") or "service_started"
            if other not in self.selection.taken:
                why = "the arm does not run it beside the app"
                self.findings.left_out(f"{name}.depends_on.{other}", why)
                continue
            if condition == "service_healthy" and self._health_of(other) is None:
                condition = "service_started"
                why = f"{condition}: that service has no health check here"
                self.findings.changed(f"{name}.depends_on.{other}", why)
            found[other] = condition
        return found


def limits_of(node: Node) -> dict[str, Any]:
    """`cpus` and `memory_mb`, where the compose file has a limit."""
    found: dict[str, Any] = {}
    in_deploy = ("deploy", "resources", "limits")
    cpus = node.text_of("cpus") or node.text_of(*in_deploy, "cpus")
    if re.fullmatch(r"\d*\.?\d+", cpus) and float(cpus) > 0:
        found["cpus"] = float(cpus)
    memory = megabytes(node.text_of("mem_limit") or node.text_of(*in_deploy, "memory"))
    if memory:
        found["memory_mb"] = max(_LEAST_MB, memory)
    return found


def nofile_of(app: Node) -> dict[str, int]:
    """`nofile` of the app's box: the soft limit."""
    given = app.get("ulimits", "nofile")
    text = given.text or given.text_of("soft")
    return {"nofile": int(text)} if text.isdecimal() else {}


def _ulimit(node: Node) -> Any:
    """A number, or a soft and a hard one; what is no number is told as a mistake later."""
    if node.items():
        return {key: _ulimit(each) for key, each in node.items().items()}
    return int(node.text) if re.fullmatch(r"-?\d+", node.text) else node.text
