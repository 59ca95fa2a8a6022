"""Apps that answer 200 only if the database and the cache of their environment have worked."""

import os
import re
import socket
import sqlite3
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

App = Callable[[dict[str, Any], Callable[..., object]], list[bytes]]


def answering(work: Callable[[], str]) -> App:
    """A WSGI app whose body is what the work returns."""

    @wraps(work)
    def application(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        body = work().encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    return application


def visits(**where: str) -> str:
    """Count a visit in PostgreSQL."""
    with psycopg.connect(make_conninfo(**where)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS visits (at timestamptz)")
        connection.execute("INSERT INTO visits VALUES (now())")
        row = connection.execute("SELECT count(*) FROM visits").fetchone()
    return f"{row[0] if row else 0} visits"


def counted(host: str, port: int = 6379) -> str:
    """Count a visit in Redis or Valkey."""
    with socket.create_connection((host, port), timeout=5) as cache:
        cache.sendall(b"INCR visits\r\n")
        said = cache.recv(100).decode()
    if not re.fullmatch(r":\d+\r\n", said):
        raise ValueError(f"the cache says {said}")
    return f"{said[1:-2]} in the cache"


@answering
def pings() -> str:
    """PostgreSQL by the names of variables in .env."""
    given = {"host": "DB_HOST", "dbname": "DB_NAME", "password": "DB_PASSWORD"}
    return visits(user="postgres", **{key: os.environ[name] for key, name in given.items()})


@answering
def translate() -> str:
    """PostgreSQL with a user and a database of its own, and a cache."""
    given = {"host": "HOST", "dbname": "DB", "user": "USER", "password": "PASSWORD"}
    where = {key: os.environ[f"POSTGRES_{name}"] for key, name in given.items()}
    return f"{visits(**where)}, {counted(os.environ['REDIS_HOST'])}"


@answering
def metasearch() -> str:
    """A cache by the name in its file of settings."""
    found = re.search(r"valkey://([\w.-]+):(\d+)", Path("/etc/metasearch/settings.yml").read_text())
    if found is None:
        raise ValueError("settings.yml names no cache")
    return counted(found[1], int(found[2]))


@answering
def bookmarks() -> str:
    """SQLite in the folder of data, which must hold what its owner had there."""
    if os.environ["BM_DB_ENGINE"] != "sqlite":
        raise ValueError("there is no other database")
    with sqlite3.connect("/etc/bookmarks/data/db.sqlite3") as connection:
        connection.execute("INSERT INTO bookmarks VALUES ('https://example.org/')")
        (number,) = connection.execute("SELECT count(*) FROM bookmarks").fetchone()
    if number <= 3:
        raise ValueError(f"{number} bookmarks only")
    return f"{number} bookmarks"
