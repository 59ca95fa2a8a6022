"""Creates and starts the two containers of an arm, and short-lived ones."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError, ImageNotFound
from docker.types import LogConfig, Mount, Ulimit

from tuner.engine import command, nginx
from tuner.engine.command import GENERATOR_UID
from tuner.engine.config import EngineConfig
from tuner.engine.connection import Connection, explain
from tuner.engine.failures import why_not_started
from tuner.engine.guard import no_image
from tuner.engine.host import HostFacts, Placement
from tuner.engine.nginx import ProxyFile
from tuner.errors import Infrastructure
from tuner.measurement import target_failed
from tuner.model import FailureCode, FromWorker, Limits, Needs

ROOT_USER = "0:0"
GENERATOR_USER = f"{GENERATOR_UID}:{GENERATOR_UID}"
"""The user of our commands in the generator's container: it owns no file."""

_ROOT_APP_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "SETGID", "SETUID"]
"""An image that starts as root and drops it in its ini (`uid = www-data`) needs these.

A process that is not root cannot use them: no-new-privileges is set.
"""


_NO_NEEDS = Needs()
_CONFINED: Mapping[str, Any] = {
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    # uWSGI logs each request: frequent rotation would load the disk during a window.
    "log_config": LogConfig(type="json-file", config={"max-size": "64m", "max-file": "1"}),
}


@dataclass(frozen=True, slots=True)
class Containers:
    """Starts containers that carry `labels`; each is removed when its context ends.

    `created` gets the id of each one before it starts.
    """

    connection: Connection
    config: EngineConfig
    labels: Mapping[str, str]
    created: Callable[[str], None] = lambda container: None

    def target_options(
        self,
        needs: Needs,
        limits: Limits,
        placement: Placement,
        facts: HostFacts,
        volumes: Mapping[str, str],
    ) -> dict[str, Any]:
        """Production's limits, in a network namespace of its own without any network.

        `volumes` maps a folder in the container to its volume.
        """
        shm = {"shm_size": f"{needs.shm_mb}m"} if needs.shm_mb is not None else {}
        return {
            **shm,
            "tmpfs": dict(folder.partition(":")[::2] for folder in needs.tmpfs),
            # An empty volume gets the folder's content, owner and mode from the image.
            "binds": {volume: {"bind": folder} for folder, volume in volumes.items()},
            "network_mode": "none",
            "nano_cpus": round(limits.cpus * 1e9),
            "cpuset_cpus": placement.target,
            "mem_limit": f"{limits.memory_mb}m",
            "memswap_limit": f"{limits.memory_mb}m",
            "pids_limit": self.config.pids_limit,
            "sysctls": {
                "net.core.somaxconn": str(limits.somaxconn),
                # The client closes tens of thousands of connections a minute here.
                "net.ipv4.tcp_tw_reuse": "1",
                "net.ipv4.ip_local_port_range": "1024 65535",
                **self.config.extra_sysctls,
            },
            "cap_add": _ROOT_APP_CAPABILITIES,
            **self._common(facts),
        }

    def generator_options(
        self,
        target: str,
        placement: Placement,
        facts: HostFacts,
        socket_volume: str | None,
        mounts: Mapping[str, str],
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
            "cpuset_cpus": placement.generator,
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
            # Only nginx is root here. With these it connects to a socket of any mode.
            "cap_add": ["DAC_OVERRIDE", "SETGID"] if socket_volume is not None else [],
            **self._common(facts),
        }

    def nofile(self, facts: HostFacts) -> int:
        """The limit of open files of each container."""
        return min(self.config.nofile, facts.nofile)

    def _common(self, facts: HostFacts) -> dict[str, Any]:
        nofile = self.nofile(facts)
        size = {"storage_opt": {"size": f"{self.config.disk_mb}m"}} if facts.bounds_disk else {}
        return {"ulimits": [Ulimit(name="nofile", soft=nofile, hard=nofile)], **size, **_CONFINED}

    def bounds_disk(self) -> bool:
        """Whether the engine's storage driver can bound what a container writes."""
        options = {"storage_opt": {"size": f"{self.config.disk_mb}m"}}
        try:
            with self._created(self.config.load_image, ["true"], options):
                return True
        except Infrastructure:
            return False

    @contextmanager
    def target(
        self,
        image: str,
        argv: Sequence[str],
        files: Mapping[str, bytes],
        options: Mapping[str, Any],
        needs: Needs = _NO_NEEDS,
    ) -> Iterator[str]:
        """A started target. Raises `TargetFailed` if its image or limits keep it from starting.

        The files are copied and not mounted: the engine may run on another machine, and this
        process in a container.
        """
        its = {
            "environment": self._environment(needs),
            "user": needs.user,
            "working_dir": needs.working_dir,
        }
        theirs = {path: text.encode() for path, text in needs.files.items()}
        with self._created(image, argv, options, **its) as container:
            if theirs:
                self.connection.put(container, command.archive(theirs, with_folders=False))
            self.connection.put(container, command.archive(files))
            self._start(container, argv[0])
            yield container

    @contextmanager
    def generator(
        self, image: str, options: Mapping[str, Any], proxy: ProxyFile | None
    ) -> Iterator[str]:
        """The load generator's container; it runs nginx, or nothing yet."""
        files = dict(self.config.generator_files)
        argv: Sequence[str] = ("sleep", "infinity")
        if proxy is not None:
            files[nginx.CONFIG] = proxy.text.encode()
            argv = nginx.COMMAND
        user = ROOT_USER if proxy is not None and proxy.as_root else GENERATOR_USER
        with self._created(image, argv, options, user=user) as container:
            if files:
                self.connection.put(container, command.archive(files))
            self._start(container, argv[0])
            yield container

    @contextmanager
    def volume(self) -> Iterator[str]:
        """An empty volume for a socket; removed at the end, after its containers."""
        with self.connection.api() as api:
            name = f"tuner-{secrets.token_hex(6)}"
            api.create_volume(name, labels=dict(self.labels))
        try:
            yield name
        finally:
            self.connection.remove_volumes([name])

    def run(
        self, image: str, argv: Sequence[str], timeout_s: float, options: Mapping[str, Any] = {}
    ) -> tuple[int, str]:
        """Run a command in a container without a network; returns exit code and output."""
        memory = {"mem_limit": "512m", "memswap_limit": "512m", "pids_limit": 512}
        confined = {"network_mode": "none", **memory, **_CONFINED, **options}
        with self._created(image, argv, confined) as container:
            self._start(container, argv[0])
            state = self.connection.wait_end(container, timeout_s)
            if state is None:
                raise Infrastructure(f"`{' '.join(argv)}` did not end within {timeout_s:g} s")
            return int(state["ExitCode"]), self.connection.log_tail(container, "all")

    def _environment(self, needs: Needs) -> dict[str, str]:
        """The values of `env`, with the secrets of this host. Raises `TargetFailed` without one."""
        found = {}
        for name, value in needs.env.items():
            if isinstance(value, FromWorker):
                secret = self.config.secrets.get(value.from_worker)
                if secret is None:
                    message = (
                        f"target.env.{name}: the worker {self.config.worker} has no variable"
                        f" {value.from_worker}, or its TUNER_SECRETS_ALLOWED does not name it"
                    )
                    raise target_failed(FailureCode.WORKLOAD_REFUSED, message)
                found[name] = secret
            else:
                found[name] = value
        return found

    @contextmanager
    def _created(
        self,
        image: str,
        argv: Sequence[str],
        options: Mapping[str, Any],
        **settings: Any,
    ) -> Iterator[str]:
        with self.connection.api() as api:
            try:
                container: str = api.create_container(
                    image,
                    # All names have one length: uWSGI's speed depends on its environment's size.
                    name=f"tuner-{secrets.token_hex(6)}",
                    entrypoint=list(argv[:1]),
                    command=list(argv[1:]),
                    **settings,
                    labels=dict(self.labels),
                    host_config=api.create_host_config(**options),
                )["Id"]
            except ImageNotFound as error:
                raise no_image(image) from error
            except APIError as error:
                raise why_not_started(explain(error), argv[0]) or error from error
        try:
            self.created(container)
            yield container
        finally:
            self.connection.remove([container])

    def _start(self, container: str, program: str) -> None:
        with self.connection.api() as api:
            try:
                api.start(container)
            except APIError as error:
                raise why_not_started(explain(error), program) or error from error
