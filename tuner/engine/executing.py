"""Running a command in a container that is already there (`docker exec`)."""

import select
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError
from docker.utils.socket import read

from tuner.engine.connection import Connection
from tuner.errors import Infrastructure

LOOK_EVERY_S = 1.0  # at the target, while the command runs; one look costs the engine 1 ms
_HEADER = struct.Struct(">BxxxL")  # stream number and length of what follows
_CHUNK = 65_536
_STDOUT, _STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Executed:
    """What a command said; `exit_code` is None where its container vanished under it."""

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
    """Run `argv` to its end, calling `meanwhile` every second: what that raises ends the wait.

    Raises `Infrastructure` after `timeout_s`; the command itself then goes on until its container
    is removed, which is what a measurement does next.
    """
    with connection.api() as api:
        try:
            command = api.exec_create(container, list(argv), user=user)["Id"]
            stream = api.exec_start(command, socket=True)
        except APIError as error:
            if error.status_code in (404, 409):  # gone, or no longer running
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
        return Executed(code, output.text(_STDOUT), output.text(_STDERR))


class _Stream:
    """The engine's two output streams, woven into one: each piece is led by a header."""

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
                raise Infrastructure("a command of the load generator did not end in time")
            if now >= look:
                meanwhile()
                look = now + LOOK_EVERY_S
            if not poll.poll(1000 * max(0.001, min(look, deadline) - now)):
                continue
            piece = read(self._stream, _CHUNK)
            if not piece:
                return
            self._received += piece

    def text(self, wanted: int) -> str:
        """All that came on one of the streams."""
        parts, at = [], 0
        while at + _HEADER.size <= len(self._received):
            number, length = _HEADER.unpack_from(self._received, at)
            at += _HEADER.size
            if number == wanted:
                parts.append(bytes(self._received[at : at + length]))
            at += length
        return b"".join(parts).decode(errors="replace")

    def close(self) -> None:
        """Close the hijacked connection; it cannot go back to the client's pool."""
        # docker-py hangs the response on the socket; closing it closes both, in the right order.
        getattr(self._stream, "_response", self._stream).close()
