"""The benchmark host as the engine sees it, and the CPUs of target and load generator."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tuner.bench.measurement import Placement, target_failed
from tuner.nouns.model import BYTES_PER_MB, FailureCode, HostFingerprint, Limits, Target, cpus_in

FACTS_COMMAND = ("cat", "/proc/self/limits", "/proc/self/status", "/proc/cpuinfo")
"""Run in a container without limits, so a remote engine gives its own facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What a container gets on this host without any limit."""

    cpu_ids: tuple[int, ...]
    cpu_model: str
    nofile: int  # hard limit; a container that asks for more does not start
    bounds_disk: bool = False  # whether the storage driver bounds what a container writes

    @classmethod
    def parse(cls, text: str) -> "HostFacts":
        """Read the output of `FACTS_COMMAND`. Raises `ValueError` if a line is missing."""
        nofile = re.search(r"^Max open files\s+\S+\s+(\S+)", text, re.MULTILINE)
        cpus = re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.MULTILINE)
        model = re.search(r"^(?:model name|Model|CPU part)\s*:\s*(.+)$", text, re.MULTILINE)
        if nofile is None or cpus is None:
            raise ValueError(f"no limits or CPUs in {text[:200]!r}")
        limit = nofile.group(1)
        return cls(
            cpu_ids=cpus_in(cpus.group(1)),
            cpu_model=model.group(1).strip() if model else "unknown",
            nofile=1 << 30 if limit == "unlimited" else int(limit),
        )

    def fingerprint(self, info: dict[str, Any]) -> HostFingerprint:
        """The facts of this host, with those of the engine (`docker info`)."""
        return HostFingerprint(
            cpu_model=self.cpu_model,
            cpus=len(self.cpu_ids),
            memory_mb=int(info["MemTotal"]) // BYTES_PER_MB,
            kernel=str(info["KernelVersion"]),
            cgroup_version=int(info.get("CgroupVersion") or 1),
            docker_version=str(info["ServerVersion"]),
        )


def place(
    cpu_ids: Sequence[int], limits: Limits, elsewhere: float = 0.0, *, has_beside: bool = False
) -> Placement:
    """Keep target, services and load generator apart where the CPUs suffice.

    The target comes first, with its `cpuset`, or as many as its quota of `cpus`. The load generator
    gets `client_cpus`, or what is left, but no more than the target: some apps answer with less
    work than a request costs to send. Services get the CPUs between both, up to `elsewhere`, and
    share those of the load generator where there are none. They never get the target's, unless the
    user says so: `has_beside`. Then all that share a limit in production share as many CPUs here.
    """
    own, quota, wanted = limits.cpu_ids, math.ceil(limits.cpus), math.ceil(elsewhere)
    others = [cpu for cpu in cpu_ids if cpu not in own]
    left = len(others) - (0 if own else quota)
    client = limits.client_cpus or max(1, min(quota, left - wanted))
    spare = left - client
    generator = (others or list(cpu_ids))[-client:]
    rest = [cpu for cpu in others if cpu not in generator]
    apart = rest[len(rest) - min(wanted, max(0, spare)) :]
    unused = [cpu for cpu in rest if cpu not in apart]
    target = own or (unused if spare >= 0 else cpu_ids)
    if has_beside and not own:
        target = target[:quota]
    return Placement(
        target=_cpu_list(target),
        generator=_cpu_list(generator),
        elsewhere=_cpu_list(apart or generator) if wanted else None,
        has_beside=has_beside,
    )


def place_arm(facts: HostFacts, limits: Limits, target: Target) -> Placement:
    """The CPUs of an arm on this host."""
    cpus = target.elsewhere_cpus
    return place(facts.cpu_ids, limits, cpus, has_beside=bool(target.beside))


def check_memory(
    host_mb: int,
    limits_mb: Sequence[int],
    *,
    services_mb: Sequence[int] = (),
    working_mb: int,
    waiting_mb: int,
) -> None:
    """Refuse targets that do not fit into the host's memory together. Raises `TargetFailed`.

    Each has a load generator, and one of these works at a time.
    """
    count, waiting = len(limits_mb), len(limits_mb) - 1
    needed_mb = sum(limits_mb) + sum(services_mb) + working_mb + waiting * waiting_mb
    if needed_mb > host_mb:
        beside = f", {count} x {services_mb[0]} MB for services" if any(services_mb) else ""
        raise target_failed(
            FailureCode.WORKLOAD_REFUSED,
            f"{count} containers start at once, and this host has {host_mb} MB of memory; they may"
            f" need {needed_mb} MB: {count} x {limits_mb[0]} MB (limits.memory_mb){beside},"
            f" {working_mb} MB for the load generator and {waiting} x {waiting_mb} MB for those"
            " that wait; lower limits.memory_mb, compare fewer files, or lower budget.race and"
            " budget.ablate_runs",
        )


def check_cpus(facts: HostFacts, limits: Limits, target: Target | None = None) -> None:
    """Refuse CPUs that this host does not have. Raises `TargetFailed`.

    Also a `target` whose services would run on its own CPUs: no figure of it would hold where they
    have others.
    """
    missing = sorted({*limits.cpu_ids} - {*facts.cpu_ids})
    has = f"this host has {len(facts.cpu_ids)} CPUs: {_cpu_list(facts.cpu_ids)}"
    if missing:
        message = f"limits.cpuset = {limits.cpuset} names CPU {_cpu_list(missing)}, and {has}"
        raise target_failed(FailureCode.WORKLOAD_REFUSED, message)
    if (limits.client_cpus or 0) > len(facts.cpu_ids):
        message = f"limits.client_cpus = {limits.client_cpus}, and {has}"
        raise target_failed(FailureCode.WORKLOAD_REFUSED, message)
    if target is not None and target.elsewhere_cpus:
        _check_elsewhere(place_arm(facts, limits, target), limits, target, has)


def _check_elsewhere(placement: Placement, limits: Limits, target: Target, has: str) -> None:
    if placement.shares_cpus:
        app = len(limits.cpu_ids) or math.ceil(limits.cpus)
        client = limits.client_cpus or 1
        apart = app + client + math.ceil(target.elsewhere_cpus)
        raise target_failed(
            FailureCode.WORKLOAD_REFUSED,
            f"the services would run on the app's CPUs, and an answer would not hold where they"
            f" have CPUs of their own: the app takes {app}, and {has}. {app + client} CPUs would"
            f" do, {apart} give each service its own. Lower limits.cpus, or set `runs: beside` for"
            " a service that shares the app's CPUs in production",
        )


def check_open_files(facts: HostFacts, limits: Limits) -> None:
    """Refuse more open files than the engine can give a container. Raises `TargetFailed`."""
    if limits.nofile is not None and limits.nofile > facts.nofile:
        raise target_failed(
            FailureCode.WORKLOAD_REFUSED,
            f"limits.nofile = {limits.nofile} is above the hard limit of this host's Docker daemon,"
            f" {facts.nofile}: ask for at most that, or raise LimitNOFILE of the daemon",
        )


def _cpu_list(ids: Sequence[int]) -> str:
    return ",".join(str(cpu) for cpu in ids)
