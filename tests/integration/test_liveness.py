"""Connections to a real PostgreSQL that break: who notices, and who then has a host's name."""

import os
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text

from tests.integration.test_queue import Recording, wait_for, working
from tuner.nouns.errors import Conflict, Unavailable
from tuner.store.db import Store, conninfo, host_alive, make_engine
from tuner.store.db.engine import translated
from tuner.store.queue import Queue

LOST = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
HOLDER = "SELECT worker_id FROM hosts WHERE name = 'a'"


def ask(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def lose_the_lock(url: str) -> None:
    """End the connection that holds it, and wait until it is free."""
    ask(url, LOST)
    wait_for(lambda: ask(url, LOCKS) == 0)


def test_a_lost_lock_is_taken_again_under_the_same_number(database_url: str) -> None:
    with host_alive(database_url, "a", "default") as liveness:
        liveness.register(7)
        lose_the_lock(database_url)
        with pytest.raises(Unavailable):
            liveness.beat()
        liveness.beat()
        assert (ask(database_url, HOLDER), ask(database_url, LOCKS)) == (7, 1)
        with pytest.raises(Conflict), host_alive(database_url, "a", "default"):
            pass


def test_a_name_that_another_worker_took_meanwhile_is_its_own(database_url: str) -> None:
    alive = partial(host_alive, database_url, "a", "default")
    with alive() as liveness:
        liveness.register(7)
        lose_the_lock(database_url)
        with alive() as other:
            other.register(8)
            with pytest.raises(Unavailable):
                liveness.beat()
            with pytest.raises(Conflict, match="'a'"):
                liveness.beat()
            other.beat()
        assert ask(database_url, HOLDER) == 8


def test_a_lock_that_the_server_keeps_for_our_lost_connection_is_waited_for(
    database_url: str,
) -> None:
    with host_alive(database_url, "a", "default") as liveness:
        liveness.register(7)
        kept, liveness._connection = liveness._connection, psycopg.connect(database_url)
        liveness._connection.close()
        with pytest.raises(Unavailable, match="does not know yet"):
            liveness.beat()
        kept.close()
        wait_for(lambda: ask(database_url, LOCKS) == 0)
        liveness.beat()


class Forwarder(socketserver.BaseRequestHandler):
    """Copies both ways between a TCP client and the server's socket."""

    path: str

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.path)
            back = threading.Thread(target=copied, args=(server, self.request), daemon=True)
            back.start()
            copied(self.request, server)
            back.join()


def copied(source: socket.socket, target: socket.socket) -> None:
    """Copy until one end hangs up; the test closes both at once."""
    with suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def over_tcp(url: str) -> Iterator[tuple[str, int]]:
    """The same database over TCP, and the port."""
    parts = conninfo_to_dict(url)
    handler = type("Here", (Forwarder,), {"path": f"{parts['host']}/.s.PGSQL.5432"})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        yield f"postgresql://{parts['user']}@127.0.0.1:{port}/{parts['dbname']}", port
        server.shutdown()


def clients_of(port: int) -> Iterator[socket.socket]:
    """Our own connections to a port."""
    for name in os.listdir("/proc/self/fd"):
        try:
            found = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue  # no socket, or just closed
        with found:
            try:
                peer = found.getpeername()
            except OSError:
                continue
            if found.family == socket.AF_INET and peer[1] == port:
                yield found


def test_every_connection_notices_that_the_other_machine_is_gone(database_url: str) -> None:
    wanted = (1, 5, 2, 3, 10_000)
    with over_tcp(database_url) as (url, port):
        engine = make_engine(url)
        with host_alive(url, "a", "default"), working(Recording(), conninfo(url)):
            Store(engine, Queue()).ping()
            wait_for(lambda: len(list(clients_of(port))) >= 4)  # the queue has two: one listens
            assert {options_of(client) for client in clients_of(port)} == {wanted}
        engine.dispose()


def options_of(client: socket.socket) -> tuple[int, ...]:
    tcp = (
        socket.TCP_KEEPIDLE,
        socket.TCP_KEEPINTVL,
        socket.TCP_KEEPCNT,
        socket.TCP_USER_TIMEOUT,
    )
    alive = client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    return (alive, *(client.getsockopt(socket.IPPROTO_TCP, option) for option in tcp))


def test_the_servers_end_notices_too(database_url: str) -> None:
    options = str(conninfo_to_dict(conninfo(database_url))["options"])
    for name in ("tcp_keepalives_idle=5", "tcp_user_timeout=10000", "statement_timeout=10000"):
        assert f"-c {name}" in options


def test_a_process_that_hangs_in_a_transaction_loses_its_locks(database_url: str) -> None:
    """PostgreSQL ends its session; when it wakes up, it learns that PostgreSQL was away."""
    lock, limit = text("LOCK TABLE jobs"), "idle_in_transaction_session_timeout"
    engine = make_engine(database_url)
    with translated(), engine.connect() as hanging:
        assert hanging.execute(text(f"SHOW {limit}")).scalar() == "10s"
        hanging.execute(lock)
        hanging.execute(text(f"SET LOCAL {limit} = '200ms'"))
        with engine.begin() as other:
            other.execute(lock)
        with pytest.raises(Unavailable), translated():
            hanging.execute(text("SELECT 1"))
    engine.dispose()
