"""Running a command in a container that runs (`docker exec`)."""

import select
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError
from docker.utils.socket import read

from tuner.bench.engine.connection import Connection
from tuner.bench.engine.texts import pieces
from tuner.nouns.errors import Infrastructure

LOOK_EVERY_S = 1.0  # at the target, while the command runs; one look costs the engine 1 ms
MOST_BYTES = 64 << 20  # of output; what we run there writes a few MB
_CHUNK = 65_536
_STDOUT, _STDERR = 1, 2


class TimedOut(Infrastructure):
    """A command runs longer than it may."""


@dataclass(frozen=True, slots=True)
class Executed:
    """A command's output; `exit_code` is None if its container was removed meanwhile."""

    exit_code: int | None
    stdout: str
    stderr: str


def execute(
    connection: Connection,
    container: str,
    argv: Sequence[str],
    *,
    user: str,
    timeout_s: float,
    meanwhile: Callable[[], None],
) -> Executed:
    """Run `argv` to its end and call `meanwhile` every second: what that raises ends the wait.

    Raises `TimedOut` after `timeout_s`. The command then runs on until the measurement
    removes its container.
    """
    with connection.api() as api:
        try:
            command = api.exec_create(container, list(argv), user=user)["Id"]
            stream = api.exec_start(command, socket=True)
        except APIError as error:
            if error.status_code in (404, 409):  # removed, or it no longer runs
                return Executed(None, "", str(error))
            raise
        with closing(_Stream(stream)) as output:
            output.drain(time.monotonic() + timeout_s, meanwhile)
        try:
            code = api.exec_inspect(command)["ExitCode"]
        except APIError as error:
            if error.status_code != 404:
                raise
            code = None
        said = connection.hidden(output.of(_STDOUT).decode(errors="replace"))
        return Executed(code, said, connection.shown(output.of(_STDERR)))


class _Stream:
    """The engine's two output streams in one: each piece has a header."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._received = bytearray()

    def drain(self, deadline: float, meanwhile: Callable[[], None]) -> None:
        """Read until the command ends."""
        poll = select.poll()
        poll.register(self._stream.fileno(), select.POLLIN | select.POLLPRI)
        look = time.monotonic() + LOOK_EVERY_S
        while True:
            now = time.monotonic()
            if now >= deadline:
                raise TimedOut("a command in a container did not end in time")
            if now >= look:
                meanwhile()
                look = now + LOOK_EVERY_S
            if not poll.poll(1000 * max(0.001, min(look, deadline) - now)):
                continue
            piece = read(self._stream, _CHUNK)
            if not piece:
                return
            self._received += piece
            if len(self._received) > MOST_BYTES:
                raise Infrastructure("a command in a container wrote too much")

    def of(self, wanted: int) -> bytes:
        """All of one of the two streams."""
        return b"".join(piece for number, piece in pieces(self._received) if number == wanted)

    def close(self) -> None:
        """Close the hijacked connection; the client's pool cannot use it again."""
        # docker-py attaches the response to the socket; closing the response closes both.
        getattr(self._stream, "_response", self._stream).close()
