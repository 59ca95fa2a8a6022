"""A server by hand on `selectors`: one thread, one loop, requests of one piece."""

import selectors
import socket

from app import BODY

HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(BODY)}\r\n"
KEPT = f"{HEAD}\r\n".encode() + BODY
CLOSED = f"{HEAD}Connection: close\r\n\r\n".encode() + BODY
END = b"\r\n\r\n"

selector = selectors.DefaultSelector()
listening = socket.create_server(("", 8000), backlog=4096)
listening.setblocking(False)
selector.register(listening, selectors.EVENT_READ)


def close(connection: socket.socket) -> None:
    """Forget a client."""
    selector.unregister(connection)
    connection.close()


def serve(connection: socket.socket, received: bytes) -> bytes:
    """Answer each whole request; what is left of the last one."""
    while END in received:
        head, _, received = received.partition(END)
        is_last = b"connection: close" in head.lower()
        connection.sendall(CLOSED if is_last else KEPT)
        if is_last:
            close(connection)
            return b""
    return received


while True:
    for key, _ in selector.select():
        if key.fileobj is listening:
            try:
                client, _ = listening.accept()
            except OSError:
                continue
            client.setblocking(False)
            selector.register(client, selectors.EVENT_READ, b"")
            continue
        client = key.fileobj
        try:
            piece = client.recv(4096)
            if not piece:
                close(client)
                continue
            left = serve(client, key.data + piece)
            if client.fileno() >= 0:
                selector.modify(client, selectors.EVENT_READ, left)
        except OSError:
            close(client)
