"""The keys of a service: which ones an arm can have, which ones are left out, what is refused."""

from collections.abc import Iterator

from tuner.nouns.errors import Mistake
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings

_TAKEN = frozenset(
    {
        *("build", "image", "command", "entrypoint", "environment", "env_file", "depends_on"),
        *("healthcheck", "volumes", "tmpfs", "configs", "secrets", "links", "hostname"),
        *("container_name", "networks", "profiles", "extends", "mem_limit", "cpus", "deploy"),
        *("working_dir", "user", "shm_size"),
    }
)
"""Keys that other modules read."""

_TAKEN_OF_APP = frozenset({"ports", "expose", "sysctls"})
_TAKEN_OF_SERVICE = frozenset({"ulimits"})

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
    "ulimits": "the app may open as many files as the host allows, at most 65536",
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
    taken = _TAKEN | (_TAKEN_OF_APP if is_app else _TAKEN_OF_SERVICE)
    for key in service.items():
        if key.startswith("x-") or key in taken:
            continue
        why = _LEFT_OUT.get(key, "target.yaml has nothing like it")
        findings.left_out(f"{name}.{key}", why)
    for key in _HEALTH:
        if service.get("healthcheck", key) and not is_app:
            findings.left_out(f"{name}.healthcheck.{key}", _HEALTH[key])
    for node in service.get("deploy").walk():
        path = node.path.partition(".deploy.")[2]
        if not node.items() and path not in _LIMITS:
            findings.left_out(f"{name}.deploy.{path}", "an arm has one container of each service")
