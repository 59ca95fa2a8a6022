"""The machine's lock: a container that one service of an engine can have at a time.

The engine gives its name to one container only, so two services on one machine never measure at
once: those of two users, or of Compose beside `tuner serve`. Its standard input is a connection of
the worker, and the kernel closes that when the worker dies, also by SIGKILL. Then the container
kills what the worker has started, and ends: nothing measures on without its worker, or beside the
next one.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from docker.errors import APIError, ImageNotFound
from docker.types import LogConfig

from tuner.bench.engine import config
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.nouns.errors import Infrastructure, Unavailable

NAME = "uwsgi-tuner-bench"
IDLE_S = 3.0  # without a measurement: then another service may have its turn
RENEWED_S = 3600.0  # the next measurement of an older lock takes it anew, far from its deadline
DEADLINE_S = 48 * 3600  # longer than any measurement; for a worker that hangs
ABANDONED_S = 10.0  # a container that does not run for so long was not started, or is of a crash
RECENT_S = 15.0  # the queue tries again every few seconds

_SCRIPT = r"""
ids=$(timeout "$0" cat | grep -xE '[0-9a-f]{64}')
[ -n "$ids" ] || exit 0
grep -lsF "$ids" /proc/[0-9]*/cgroup | while IFS=/ read -r _ _ pid _; do kill -9 "$pid"; done
"""
"""Reads ids of containers until the worker is gone, and kills their processes.

They do not run in a namespace above the target's own: its PID 1 cannot be killed from within.
"""


@dataclass(slots=True)
class _Held:
    """The lock as long as this process has it."""

    container: str
    stream: Any  # the container's standard input
    since: float
    used_at: float


@dataclass(slots=True)
class Guard:
    """This process's turns on the machine. All launchers of a process share one."""

    connection: Connection
    config: EngineConfig
    _held: _Held | None = None
    _measuring: threading.Lock = field(default_factory=threading.Lock)
    _refused: tuple[float, str] | None = None
    _idle: tuple[str, float] | None = None  # another's container that does not run, and since when

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing else measures on this machine meanwhile.

        Raises `Infrastructure` while another service measures, `Unavailable` while the engine is
        away. The lock stays for the next measurement, until `give_way`.
        """
        with self._measuring:
            held = self._held
            if held is None or time.monotonic() - held.since > RENEWED_S or not self._runs(held):
                self.drop()
                held = self._held = self._taken()
            try:
                yield
            finally:
                held.used_at = time.monotonic()

    def check(self) -> None:
        """Raise `Infrastructure` if the lock was lost, so that another service may have begun."""
        if self._held is None or not self._runs(self._held):
            raise Infrastructure(f"the machine's lock, the container {NAME}, was removed meanwhile")

    def give_way(self) -> None:
        """Give the lock back if nothing was measured lately."""
        if self._measuring.acquire(blocking=False):
            try:
                if self._held is not None and time.monotonic() - self._held.used_at > IDLE_S:
                    self.drop()
            finally:
                self._measuring.release()

    def watch(self, container: str) -> None:
        """Let the container die with this process."""
        if self._held is not None:
            stream = self._held.stream
            try:
                getattr(stream, "_sock", stream).sendall(f"{container}\n".encode())
            except OSError as error:
                raise Infrastructure(f"the machine's lock was lost: {error}") from error

    def problem(self) -> str | None:
        """Why this process cannot have the lock; None if it has it, or has not tried lately."""
        if self._refused is None or time.monotonic() - self._refused[0] > RECENT_S:
            return None
        return self._refused[1]

    @property
    def is_held(self) -> bool:
        """Whether this process has the lock."""
        return self._held is not None

    def drop(self) -> None:
        """Give the lock back: the container notices it, and ends."""
        held, self._held = self._held, None
        if held is not None:
            # docker-py attaches the response to the socket; closing the response closes both.
            getattr(held.stream, "_response", held.stream).close()

    def _runs(self, held: _Held) -> bool:
        state = self.connection.state(held.container)
        return state is not None and bool(state["Running"])

    def _taken(self) -> _Held:
        try:
            container = self._created()
            stream = self._started(container)
        except Infrastructure as refusal:
            self._refused = (time.monotonic(), str(refusal))
            raise
        self._refused = self._idle = None
        now = time.monotonic()
        return _Held(container, stream, since=now, used_at=now)

    def _created(self) -> str:
        with self.connection.api() as api:
            try:
                created: str = api.create_container(
                    self.config.load_image,
                    name=NAME,
                    entrypoint=["sh"],
                    command=["-c", _SCRIPT, str(DEADLINE_S)],
                    user="0:0",
                    stdin_open=True,
                    labels={config.MINE: "1", config.GUARD: self.config.worker},
                    host_config=api.create_host_config(
                        network_mode="none",
                        pid_mode="host",
                        userns_mode="host",
                        cap_drop=["ALL"],
                        cap_add=["KILL"],
                        security_opt=["no-new-privileges"],
                        read_only=True,
                        mem_limit="64m",
                        pids_limit=64,
                        log_config=LogConfig(type="none"),
                        auto_remove=True,
                    ),
                )["Id"]
            except ImageNotFound as error:
                raise no_image(self.config.load_image) from error
            except APIError as error:
                if error.status_code != 409:
                    raise
                raise Infrastructure(self._whose()) from error
        return created

    def _started(self, container: str) -> Any:
        """Its standard input, which is closed when this process ends."""
        stream = None
        try:
            with self.connection.api() as api:
                stream = api.attach_socket(container, params={"stdin": 1, "stream": 1})
                api.start(container)
        except (Infrastructure, Unavailable):
            if stream is not None:
                stream.close()
            self.connection.remove([container])
            raise
        return stream

    def _whose(self) -> str:
        """Who has the lock. A container that was left behind is removed."""
        worker = "unknown"
        for found in self.connection.containers({"name": f"^/{NAME}$"}):
            worker = (found.get("Labels") or {}).get(config.GUARD, worker)
            if found["State"] != "running":
                self._clear(found["Id"])
        return f"another service measures on this machine (worker {worker}); this one waits for it"

    def _clear(self, container: str) -> None:
        """Remove a container that has not run for a while; the engine refuses if it runs."""
        now = time.monotonic()
        if self._idle is None or self._idle[0] != container:
            self._idle = (container, now)
        elif now - self._idle[1] > ABANDONED_S:
            with self.connection.api() as api, suppress(APIError):
                api.remove_container(container)


def no_image(name: str) -> Infrastructure:
    """An image of ours is missing."""
    return Infrastructure(f"there is no image {name}: run `tuner setup`")
