"""A server by hand: ten threads, each with one connection at a time."""

import socket
import threading

from app import BODY

ANSWER = (
    f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(BODY)}\r\n"
    "Connection: close\r\n\r\n"
).encode() + BODY
THREADS = 10

listening = socket.create_server(("", 8000), backlog=4096)


def work() -> None:
    """Accept, read one request, answer, close."""
    while True:
        client, _ = listening.accept()
        with client:
            try:
                received = b""
                while b"\r\n\r\n" not in received and (piece := client.recv(4096)):
                    received += piece
                client.sendall(ANSWER)
            except OSError:
                continue


for _ in range(THREADS - 1):
    threading.Thread(target=work, daemon=True).start()
work()
