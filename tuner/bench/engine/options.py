"""What the engine gives a container: its limits, its network, its CPUs, and no capability."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docker.types import LogConfig, Mount, Ulimit

from tuner.bench.engine import nginx, stubs
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.host import HostFacts
from tuner.bench.measurement import Placement
from tuner.nouns.model import Limits, Needs, Service, Target

_ROOT_APP_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "SETGID", "SETUID"]
"""An image that starts as root and drops it in its ini (`uid = www-data`) needs these.

A process that is not root cannot use them: no-new-privileges is set.
"""

_UNTRACED = "AUDIT_WRITE"
"""Of no use to the load generator. But no target has it, and the kernel lets nobody trace a process
that has more capabilities. That holds root's processes; those of its other user cannot be read, see
`load/image/Dockerfile`.
"""

_ROOT_PROXY_CAPABILITIES = ["DAC_OVERRIDE", "SETGID"]
"""With these nginx connects to a socket of any mode, as root."""

_FOR_THE_CLIENT = {
    # It closes tens of thousands of connections a minute in the target's namespace.
    "net.ipv4.tcp_tw_reuse": "1",
    "net.ipv4.ip_local_port_range": "1024 65535",
}

TUN = "/dev/net/tun"
_ANY_WAY_BACK = {
    # Packets come back by another interface than the one that they left by.
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.eth0.rp_filter": "0",
}
_DELAY_MB = 64

CONFINED: Mapping[str, Any] = {
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    # uWSGI logs each request: frequent rotation would load the disk during a window.
    "log_config": LogConfig(type="json-file", config={"max-size": "64m", "max-file": "1"}),
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of containers on this host, each for `create_host_config`."""

    config: EngineConfig
    facts: HostFacts
    placement: Placement

    def target(self, target: Target, limits: Limits, volumes: Mapping[str, str]) -> dict[str, Any]:
        """Production's limits, in a network namespace of its own without any network.

        `volumes` maps a folder in the container to its volume, also one that is in memory.
        """
        memory = target.in_memory
        return {
            **self._within(target, limits.memory_mb, self.config.disk_mb),
            "tmpfs": {folder: how for folder, how in memory.items() if folder not in volumes},
            # An empty volume gets the folder's content, owner and mode from the image.
            "binds": {
                volume: {"bind": folder, "mode": "nocopy" if folder in memory else "rw"}
                for folder, volume in volumes.items()
            },
            "network_mode": "none",
            "nano_cpus": round(limits.cpus * 1e9),
            "cpuset_cpus": self.placement.target,
            "sysctls": {
                **_FOR_THE_CLIENT,
                **self._kept_free(target),
                **{name: str(value) for name, value in limits.kernel_settings.items()},
                **self.config.extra_sysctls,
            },
            "ulimits": _open_files(self.nofile_of(limits)),
        }

    def _kept_free(self, target: Target) -> dict[str, str]:
        """No client gets these ports for its own end.

        The kernel would connect one that asks for the port of a server that is not there yet with
        itself, and the server would find its port taken.
        """
        stats = self.config.stats_address.rpartition(":")[2]
        return {"net.ipv4.ip_local_reserved_ports": f"{target.port},{stats}"}

    def service(self, service: Service) -> dict[str, Any]:
        """A service's own limits."""
        found = self._within(service, service.memory_mb, self.config.service_disk_mb)
        quota = {"nano_cpus": round(service.cpus * 1e9)} if service.cpus is not None else {}
        own = [Ulimit(name=name, **its.model_dump()) for name, its in service.ulimits.items()]
        kept = [each for each in found["ulimits"] if each.name not in service.ulimits]
        return {
            **found,
            **quota,
            "ulimits": [*kept, *own],
            "cpuset_cpus": self.placement.of_service(service),
            "sysctls": {} if service.stub is None else {**stubs.SYSCTLS},
        }

    def _within(self, needs: Needs, memory_mb: int, disk_mb: int) -> dict[str, Any]:
        """What a container of the app or of a service has in common."""
        shm = {"shm_size": f"{needs.shm_mb}m"} if needs.shm_mb is not None else {}
        return {
            **shm,
            "tmpfs": needs.in_memory,
            "mem_limit": f"{memory_mb}m",
            "memswap_limit": f"{memory_mb}m",
            "pids_limit": self.config.pids_limit,
            "cap_add": _ROOT_APP_CAPABILITIES,
            **self._common(disk_mb),
        }

    def generator(
        self, target: str, socket_volume: str | None, mounts: Mapping[str, str]
    ) -> dict[str, Any]:
        """In the target's network and process namespaces, on a CPU of its own if possible.

        It can read each uWSGI process's usage, and it ends with the target. `mounts` maps folders
        in the container to folders of the host.
        """
        memory = f"{self.config.generator_memory_mb}m"
        binds = {}
        if socket_volume is not None:
            binds[socket_volume] = {"bind": nginx.SOCKET_MOUNT, "mode": "nocopy"}
        return {
            "network_mode": f"container:{target}",
            "pid_mode": f"container:{target}",
            "cpuset_cpus": self.placement.generator,
            "mem_limit": memory,
            "memswap_limit": memory,
            "shm_size": f"{self.config.generator_shm_mb}m",
            "pids_limit": 512,
            "binds": binds,
            # Unlike a bind, a mount does not make a folder that is missing.
            "mounts": [
                Mount(folder, source, type="bind", read_only=True)
                for folder, source in mounts.items()
            ],
            "cap_add": [_UNTRACED, *(_ROOT_PROXY_CAPABILITIES if socket_volume else [])],
            **self._common(self.config.disk_mb),
        }

    def delay(self, target: str) -> dict[str, Any]:
        """In the target's namespaces too, on the generator's CPUs. It may change their network."""
        return {
            "network_mode": f"container:{target}",
            "pid_mode": f"container:{target}",
            "cpuset_cpus": self.placement.generator,
            "mem_limit": f"{_DELAY_MB}m",
            "memswap_limit": f"{_DELAY_MB}m",
            "pids_limit": 16,
            "sysctls": _ANY_WAY_BACK,
            "devices": [f"{TUN}:{TUN}:rw"],
            "cap_add": ["NET_ADMIN", "NET_RAW"],
            **self._common(self.config.disk_mb),
        }

    @property
    def nofile(self) -> int:
        """The limit of open files of a container without one of its own."""
        return min(self.config.nofile, self.facts.nofile)

    def proxy_file(self, proxy: nginx.Proxy, limits: Limits) -> nginx.ProxyFile:
        """The file of a proxy on the load generator's CPUs."""
        workers, backlog = self.placement.client_cpus, limits.somaxconn
        return proxy.file(workers=workers, nofile=self.nofile, backlog=backlog)

    def nofile_of(self, limits: Limits) -> int:
        """The limit of open files of a target."""
        return limits.nofile or self.nofile

    def _common(self, disk_mb: int) -> dict[str, Any]:
        size = {"storage_opt": {"size": f"{disk_mb}m"}} if self.facts.bounds_disk else {}
        return {"ulimits": _open_files(self.nofile), **size, **CONFINED}


def _open_files(most: int) -> list[Ulimit]:
    return [Ulimit(name="nofile", soft=most, hard=most)]
