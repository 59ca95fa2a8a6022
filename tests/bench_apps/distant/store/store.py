"""Answers each byte that it gets with one byte, after so much CPU time as `STORE_MS` says."""

import os
import signal
import socket
import sys
import threading
import time

STORE_S = float(os.environ["STORE_MS"]) / 1000


def serve(client: socket.socket) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while client.recv(1):
        end = time.thread_time() + STORE_S
        while time.thread_time() < end:
            pass
        client.sendall(b"!")


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server = socket.create_server(("", 9000), backlog=64)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
