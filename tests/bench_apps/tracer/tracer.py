"""A hostile app: as the user of each other process that it sees, it tries to get into that process.

It answers with a line for each one: its name, and how it could be entered.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PTRACE_ATTACH, PTRACE_DETACH = 16, 17
LIBC = ctypes.CDLL(None, use_errno=True)


def application(
    environ: dict[str, Any], start_response: Callable[[str, list[tuple[str, str]]], object]
) -> list[bytes]:
    """All processes but those of uWSGI."""
    others = [path for path in Path("/proc").glob("[0-9]*") if name_of(path) not in ("", "uwsgi")]
    lines = [f"{name_of(path)}: {tried(path)}" for path in others]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return ["\n".join(lines).encode()]


def name_of(path: Path) -> str:
    try:
        return (path / "comm").read_text().strip()
    except OSError:
        return ""


def tried(path: Path) -> str:
    """What a child says, who has become the user of the process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = ", ".join(ways_into(path)) or "closed"
        except OSError as error:
            found = repr(error)
        os.write(writer, found.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        return said.read()


def ways_into(path: Path) -> Iterator[str]:
    # The files of a process that cannot be traced are root's: its status says who it is.
    status = dict(
        line.split(":\t", 1) for line in (path / "status").read_text().splitlines() if ":\t" in line
    )
    os.setgid(int(status["Gid"].split()[1]))
    os.setuid(int(status["Uid"].split()[1]))
    pid = int(path.name)
    if LIBC.ptrace(PTRACE_ATTACH, pid, 0, 0) == 0:
        os.waitpid(pid, 0x40000000)  # __WALL
        LIBC.ptrace(PTRACE_DETACH, pid, 0, 0)
        yield "traced"
    for name, flags in {"mem": os.O_RDWR, "root": os.O_RDONLY, "environ": os.O_RDONLY}.items():
        try:
            os.close(os.open(path / name, flags))
        except OSError:
            continue
        yield name
