"""Creating and starting the two containers of a side, and short ones that run to their end."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError, ImageNotFound
from docker.types import LogConfig, Ulimit

from tuner.engine import command
from tuner.engine.config import EngineConfig
from tuner.engine.connection import Connection, explain
from tuner.engine.failures import why_not_started
from tuner.engine.host import HostFacts, Placement
from tuner.errors import Infrastructure
from tuner.model import Limits

HOST_CGROUPS = "/sys/fs/cgroup"
CGROUP_MOUNT = "/tuner-cgroup"  # the same, read-only, in the generator's container
_NOBODY = "65534:65534"

_ROOT_APP_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "SETGID", "SETUID"]
"""An image that runs as root and gives it up in its ini (`uid = www-data`) needs these to start.

They do nothing for a process that is not root: with no-new-privileges it cannot gain them.
"""


@dataclass(frozen=True, slots=True)
class Containers:
    """Starts containers that carry `labels`; every one is removed when its context ends."""

    connection: Connection
    config: EngineConfig
    labels: Mapping[str, str]

    def target_options(
        self, limits: Limits, placement: Placement, facts: HostFacts
    ) -> dict[str, Any]:
        """The box of production, in a network namespace of its own that nothing else reaches."""
        return {
            "network_mode": "none",
            "nano_cpus": round(limits.cpus * 1e9),
            "cpuset_cpus": placement.target,
            "mem_limit": f"{limits.memory_mb}m",
            "memswap_limit": f"{limits.memory_mb}m",
            "pids_limit": self.config.pids_limit,
            "sysctls": {
                "net.core.somaxconn": str(limits.somaxconn),
                # The client closes tens of thousands of connections a minute in here.
                "net.ipv4.tcp_tw_reuse": "1",
                "net.ipv4.ip_local_port_range": "1024 65535",
            },
            "cap_add": _ROOT_APP_CAPABILITIES,
            **self._common(facts),
        }

    def generator_options(
        self, target: str, placement: Placement, facts: HostFacts
    ) -> dict[str, Any]:
        """Inside the target's network namespace, on a CPU of its own where there is one."""
        memory = f"{self.config.generator_memory_mb}m"
        return {
            "network_mode": f"container:{target}",
            "cpuset_cpus": placement.generator,
            "mem_limit": memory,
            "memswap_limit": memory,
            "pids_limit": 512,
            "binds": {HOST_CGROUPS: {"bind": CGROUP_MOUNT, "mode": "ro"}},
            **self._common(facts),
        }

    def _common(self, facts: HostFacts) -> dict[str, Any]:
        nofile = min(self.config.nofile, facts.nofile)
        return {
            "ulimits": [Ulimit(name="nofile", soft=nofile, hard=nofile)],
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            # One request line each: rotating often would load the disk in the middle of a window.
            "log_config": LogConfig(type="json-file", config={"max-size": "64m", "max-file": "1"}),
        }

    @contextmanager
    def target(
        self, image: str, argv: Sequence[str], files: Mapping[str, str], options: Mapping[str, Any]
    ) -> Iterator[str]:
        """A started target. Raises `TargetFailed` where its image or limits keep it from starting.

        The files are copied in, not mounted: the engine may be on another machine than this
        process, or this process in a container of its own.
        """
        with self._created(image, argv, options) as container:
            with self.connection.api() as api:
                api.put_archive(container, "/", command.archive(files))
            self._start(container, argv[0])
            yield container

    @contextmanager
    def generator(self, options: Mapping[str, Any]) -> Iterator[str]:
        """The load generator's container, doing nothing yet. Its user owns nothing anywhere."""
        argv = ("sleep", "infinity")
        with self._created(self.config.load_image, argv, options, user=_NOBODY) as container:
            self._start(container, argv[0])
            yield container

    def run(self, image: str, argv: Sequence[str], timeout_s: float) -> tuple[int, str]:
        """Run a command in a container without network; returns exit code and output."""
        with self._created(image, argv, {"network_mode": "none"}) as container:
            self._start(container, argv[0])
            state = self.connection.wait_end(container, timeout_s)
            if state is None:
                raise Infrastructure(f"`{' '.join(argv)}` did not end within {timeout_s:g} s")
            with self.connection.api() as api:
                output = bytes(api.logs(container)).decode(errors="replace")
            return int(state["ExitCode"]), output

    @contextmanager
    def _created(
        self,
        image: str,
        argv: Sequence[str],
        options: Mapping[str, Any],
        user: str | None = None,
    ) -> Iterator[str]:
        with self.connection.api() as api:
            try:
                container: str = api.create_container(
                    image,
                    # Of one length, for uWSGI's speed depends on the size of its environment.
                    name=f"tuner-{secrets.token_hex(6)}",
                    entrypoint=list(argv[:1]),
                    command=list(argv[1:]),
                    user=user,
                    labels=dict(self.labels),
                    host_config=api.create_host_config(**options),
                )["Id"]
            except ImageNotFound as error:
                raise Infrastructure(f"there is no image {image}: run `make images`") from error
            except APIError as error:
                raise why_not_started(explain(error), argv[0]) or error from error
        try:
            yield container
        finally:
            self.connection.remove([container])

    def _start(self, container: str, program: str) -> None:
        with self.connection.api() as api:
            try:
                api.start(container)
            except APIError as error:
                raise why_not_started(explain(error), program) or error from error
