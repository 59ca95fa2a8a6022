"""Small servers of the tests' own, on loopback."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def serving(answer: Callable[[socket.socket], None], backlog: int = 16) -> Iterator[int]:
    """Call `answer` with each connection, in a thread of its own; the port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=backlog)

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=attend, args=(connection,), daemon=True).start()

    def attend(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            answer(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def request_of(connection: socket.socket) -> bytes:
    """One request with its body; empty where the client closed."""
    received = b""
    while not _is_whole(received):
        piece = connection.recv(65_536)
        if not piece:
            return b""
        received += piece
    return received


def _is_whole(received: bytes) -> bool:
    head, blank, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return bool(blank) and len(body) >= (int(length[1]) if length else 0)
