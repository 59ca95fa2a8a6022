"""An arm's files in its container, and the command that names them."""

import io
import re
import select
import tarfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from docker.errors import APIError
from docker.utils.socket import read

from tuner.bench.engine.connection import Connection, pieces
from tuner.nouns.errors import Infrastructure

FOLDER = "/tuner"
INI = f"{FOLDER}/uwsgi.ini"
HARNESS = f"{FOLDER}/harness.ini"
PROBE = f"{FOLDER}/probe.ini"
GENERATOR_UID = 61_717
"""A user for the load generator alone: a target that runs as nobody may signal nobody."""

_PLACEHOLDER = "{ini}"
_SUFFIX = re.compile(r"\.[a-z]\w*$")

SERVE = ("--ini", HARNESS)
"""Our file comes after the user's: in uWSGI the last value of a key wins."""
CHECK = ("--no-server", "--need-app", "--ini", PROBE)
"""The probe's file makes uWSGI print its options and the kernel's somaxconn."""

_SOMAXCONN = "tuner-somaxconn="
PROBE_INI = f"""\
[uwsgi]
show-config = true
print = {_SOMAXCONN}@(/proc/sys/net/core/somaxconn)
"""
CHECK_INI = f"[uwsgi]\nno-server = true\nneed-app = true\n{PROBE_INI}"
"""`CHECK` as lines of a file."""


def harness_ini(stats_address: str) -> str:
    """The file that every arm gets after its own: plain stats, need-app and show-config.

    Without need-app a broken app answers 500 forever. show-config prints the merged options.
    """
    lines = ("need-app = true", f"stats = {stats_address}", "stats-http = false")
    return "\n".join(("[uwsgi]", *lines, "stats-no-cores = false", "show-config = true", ""))


def with_ini(command: Sequence[str], flags: Sequence[str]) -> list[str]:
    """`command` with the arm's file, and with `flags` right after the word that names the file.

    In a shell's line (`sh -c "exec uwsgi --ini {ini}"`) the flags go into the line: after it they
    would be arguments of the shell.
    """
    words: list[str] = []
    for word in command:
        if _PLACEHOLDER not in word:
            words.append(word)
        elif re.search(r"\s", word):
            words.append(word.replace(_PLACEHOLDER, " ".join((INI, *flags))))
        else:
            words += [word.replace(_PLACEHOLDER, INI), *flags]
    return words


def files_of(ini: str, path: str | None, harness: str, *, serves: bool) -> dict[str, bytes]:
    """The files of an arm by their paths.

    With a `path` there are no flags of ours, as the image's own command names the file there: their
    lines come after the user's, in a block of their own.
    """
    if path is not None:
        return {path: f"{ini}\n{harness if serves else CHECK_INI}".encode()}
    return {INI: ini.encode(), HARNESS: harness.encode(), PROBE: PROBE_INI.encode()}


def took_too_long(path: str | None, timeout_s: float) -> str:
    """Why a check did not end. A server that does not read our lines serves instead."""
    told = f"loading the app took over {timeout_s:g} s"
    if path is None:
        return told
    return f"{told}: the image's own command must start uWSGI once, and with {path}"


def strictly(command: Sequence[str]) -> list[str]:
    """A command that only reads the arm's file; it exits with 1 for an unknown key."""
    return [program(command), "--strict", "--ini", INI, "--exit=0"]


def somaxconn_in(log: str) -> int | None:
    """The value that uWSGI printed for the probe; None if it printed none."""
    found = re.search(rf"^{_SOMAXCONN}(\d+)\s*$", log, re.MULTILINE)
    return int(found.group(1)) if found else None


def program(command: Sequence[str]) -> str:
    """The uWSGI binary that `command` starts, and not its `uwsgi.ini` or a `uwsgi-start.sh`."""
    for word in " ".join(command).split():
        name = word.rpartition("/")[2]
        if name.startswith("uwsgi") and _PLACEHOLDER not in word and not _SUFFIX.search(name):
            return word
    return "uwsgi"


def archive(
    files: Mapping[str, bytes],
    owner: int = 0,
    *,
    executables: Collection[str] = (),
    with_folders: bool = True,
) -> bytes:
    """A tar of files by absolute path, readable by every user: the app may run as any.

    Every user may run the `executables` among them.

    `with_folders` is for our own folders only: unpacking would change the modes of the image's. The
    engine makes a folder that is missing.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in sorted(_folders(files)) if with_folders else ():
            folder = _entry(path, owner, 0o755)
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
        for path, content in files.items():
            entry = _entry(path, owner, 0o755 if path in executables else 0o644)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _entry(path: str, owner: int, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.uid = entry.gid = owner
    entry.mode = mode
    return entry


def _folders(paths: Iterable[str]) -> set[str]:
    """Our own folder, and every folder deeper than one level below the root."""
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return {parent for parent in parents if parent == FOLDER or parent.count("/") > 1}


# ---- Running a command in a container that runs (`docker exec`)

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
