"""The connection to the Docker Engine; its errors become ours."""

import errno
import io
import logging
import re
import socket
import struct
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from graphlib import TopologicalSorter
from typing import Any, Literal

import docker
import requests
import urllib3
from docker.constants import DEFAULT_UNIX_SOCKET
from docker.errors import APIError, DockerException, NotFound
from docker.utils import kwargs_from_env
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from tuner.nouns.errors import Infrastructure, Unavailable
from tuner.nouns.masking import MASK

# ---- What a container wrote, as text that is safe on a terminal, in a log line and in a table

HEADER = struct.Struct(">BxxxL")
"""In front of each piece of the engine's two streams in one: the stream's number, the length."""

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str | bytes | bytearray) -> str:
    """The text without escape sequences and control characters; lines and tabs stay."""
    if not isinstance(text, str):
        text = text.decode(errors="replace")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def pieces(raw: bytes | bytearray) -> Iterator[tuple[int, bytes | bytearray]]:
    """The pieces of both streams, each with its stream's number; the last one may be cut short."""
    at = 0
    while at + HEADER.size <= len(raw):
        number, length = HEADER.unpack_from(raw, at)
        at += HEADER.size
        yield number, raw[at : at + length]
        at += length


# ---- The way to the Docker Engine: whether it answers, and what its errors mean

KNOCK_TIMEOUT_S = 5.0

TRANSPORT_ERRORS = (
    *(ConnectionError, TimeoutError, FileNotFoundError, PermissionError),  # of the socket itself
    *(requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError),
    *(urllib3.exceptions.ProtocolError, urllib3.exceptions.TimeoutError),
)
"""The engine does not answer, or stopped in the middle. Any other error would come again."""


def explain(error: APIError) -> str:
    """The engine's own sentence."""
    return plain(str(error.explanation or error))


def why_away(error: Exception) -> str:
    """The reason, and what the operator can do if this process cannot end it."""
    match getattr(error, "errno", None):
        case errno.EACCES:
            advice = "add this user to the group of Docker's socket, and start the worker again"
        case errno.ENOENT:
            advice = "there is no Docker Engine at this address: install it, or start it"
        case _:
            return str(error)
    return f"{error}: {advice}"


def knock(address: str) -> None:
    """Raise `OSError` if the engine is away: docker-py leaks a socket when it finds that out."""
    _, is_unix, path = address.partition("unix://")
    if is_unix:
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(KNOCK_TIMEOUT_S)
            knocking.connect(path)


def is_going_already(error: BaseException | None) -> bool:
    """Whether the engine has removed the thing, or is about to."""
    if not isinstance(error, APIError):
        return False
    return error.status_code == 404 or "already in progress" in explain(error)


TIMEOUT_S = 60  # for one answer of the engine; streams and builds may take longer
RELEASE_S = 5.0  # a container that another thread removes keeps its volumes for less
POLL_S = 0.02
FREEZE_ATTEMPTS = 5
FREEZE_AGAIN_S = 0.2
SHORTEST_SECRET = 4  # a shorter one is part of many words
MOST_BYTES = 1 << 20  # of a log or a file: what we look for is at its beginning

_log = logging.getLogger(__name__)


class Connection:
    """One client, shared by all threads. It opens on first use.

    So a service can start, and report the problem, while the engine is away. No text that a
    container wrote gets out with a line of one of the `secrets` in it.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        lines = {line.strip() for secret in secrets for line in secret.splitlines()}
        # The longest first: another one may be a part of it.
        self._secrets = sorted((s for s in lines if len(s) >= SHORTEST_SECRET), key=len)[::-1]
        self._client: docker.APIClient | None = None
        self._opening = threading.Lock()

    @contextmanager
    def api(self) -> Iterator[docker.APIClient]:
        """The client. Raises `Unavailable` when the engine is away, else `Infrastructure`.

        Inside the context, catch an `APIError` that is the target's fault.
        """
        try:
            yield self._open()
        except TRANSPORT_ERRORS as error:
            raise Unavailable("docker", why_away(error)) from error
        except APIError as error:
            raise Infrastructure(f"Docker: {explain(error)}") from error
        except (DockerException, OSError) as error:  # the errors of requests are OSErrors
            if isinstance(error.__cause__, TRANSPORT_ERRORS):  # while the client opened
                raise Unavailable("docker", why_away(error)) from error
            raise Infrastructure(f"Docker's client: {error}") from error

    def close(self) -> None:
        """Close the sockets; the next call opens new ones."""
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def state(self, container: str) -> dict[str, Any] | None:
        """The container's `State`; None once it is removed."""
        with self.api() as api:
            try:
                state: dict[str, Any] = api.inspect_container(container)["State"]
            except NotFound:
                return None
        return state

    def wait_end(
        self, container: str, timeout_s: float, meanwhile: Callable[[], None] = lambda: None
    ) -> dict[str, Any] | None:
        """Its `State` once it has ended; None if it still runs after `timeout_s`.

        What `meanwhile` raises ends the wait. Raises `Infrastructure` if the container was removed.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            state = self.state(container)
            if state is None:
                raise Infrastructure("a container was removed while it ran")
            if state["Status"] in ("exited", "dead"):
                return state
            meanwhile()
            time.sleep(POLL_S)
        return None

    def pause(self, container: str) -> None:
        """Stop the processes of a container; one that has ended, or is paused, stays as it is."""
        self._leave("running", container, lambda api: api.pause(container))

    def unpause(self, container: str) -> None:
        """Let the processes of a paused container go on."""
        self._leave("paused", container, lambda api: api.unpause(container))

    def _leave(
        self, status: str, container: str, change: Callable[[docker.APIClient], object]
    ) -> None:
        """Change a container until it has another status.

        A busy kernel cannot freeze all processes in time, now and then; the engine then lets them
        run and says so. Raises `Infrastructure` if that happens `FREEZE_ATTEMPTS` times.
        """
        for attempt in Retrying(
            retry=retry_if_exception_type(Infrastructure),
            stop=stop_after_attempt(FREEZE_ATTEMPTS),
            wait=wait_fixed(FREEZE_AGAIN_S),
            reraise=True,
        ):
            with attempt:
                try:
                    with self.api() as api:
                        change(api)
                except Infrastructure:
                    state = self.state(container)
                    if state is not None and state["Status"] == status:
                        raise

    def log_tail(self, container: str, lines: int | Literal["all"]) -> str:
        """The last lines that the container wrote; empty once it is removed.

        Of a longer text only the first `MOST_BYTES`.
        """
        raw = self._beginning(container, "logs", stdout=1, stderr=1, tail=lines)
        return self.shown(b"".join(piece for _, piece in pieces(raw))).strip()

    def shown(self, written: str | bytes) -> str:
        """What a container wrote, as plain text without the secrets."""
        return self.hidden(plain(written))

    def hidden(self, text: str) -> str:
        """The text with a mask in place of each secret."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def put(self, container: str, archive: bytes | Iterable[bytes]) -> None:
        """Unpack a tar at the container's root, running or not; in pieces if it is large."""
        with self.api() as api:
            api.put_archive(container, "/", archive)

    def read(self, container: str, path: str) -> str:
        """The first `MOST_BYTES` of a file in the container; empty if it is no regular file.

        A link is not followed: the container may point it anywhere.
        """
        entry, content = self.entry(container, path)
        return self.shown(content) if entry is not None and entry.isreg() else ""

    def entry(self, container: str, path: str) -> tuple[tarfile.TarInfo | None, bytes]:
        """What is at a path in a container, running or not, and the first `MOST_BYTES` of it."""
        packed = self._beginning(container, "archive", path=path)
        if not packed:
            return None, b""
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            entry = tar.next()
        return entry, packed[entry.offset_data :][: entry.size] if entry is not None else b""

    def _beginning(self, container: str, what: str, **params: str | int) -> bytes:
        """The first bytes of an answer; empty once the container, or what is asked, is gone.

        docker-py reads an answer to its end, or without a timeout.
        """
        headers = {"Accept-Encoding": "identity"}
        with self.api() as api:
            url = f"{api.base_url}/v{api.api_version}/containers/{container}/{what}"
            with api.get(
                url, params=params, headers=headers, stream=True, timeout=TIMEOUT_S
            ) as answer:
                if answer.status_code in (404, 409):  # removed, or about to be
                    return b""
                if not answer.ok:
                    raise Infrastructure(f"Docker: {plain(answer.raw.read(MOST_BYTES))}")
                beginning: bytes = answer.raw.read(MOST_BYTES)
        return beginning

    def containers(self, filters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All containers that match, in any state."""
        with self.api() as api:
            found: list[dict[str, Any]] = api.containers(all=True, filters=dict(filters))
        return found

    def remove(self, containers: Iterable[str]) -> int:
        """Kill and remove them in parallel; returns how many this call removed.

        Never raises: it may run while another error is raised. What stays behind carries our
        label and is reaped later.
        """
        doomed = list(containers)
        if not doomed:
            return 0
        with ThreadPoolExecutor(max_workers=min(8, len(doomed))) as pool:
            return sum(pool.map(self._remove, doomed))

    def volumes(self, filters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All volumes that match."""
        with self.api() as api:
            found: list[dict[str, Any]] = api.volumes(filters=dict(filters))["Volumes"] or []
        return found

    def remove_volumes(self, names: Iterable[str]) -> None:
        """Remove volumes once no container uses them; like `remove` it never raises."""
        for name in names:
            self._remove_once_free("volume", name, lambda api, name: api.remove_volume(name, True))

    def images(self, filters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All images that match, each before the one that it was made from."""
        with self.api() as api:
            found = {each["Id"]: each for each in api.images(filters=dict(filters))}
        parents = {name: [each["ParentId"]] for name, each in found.items()}
        in_order = [*TopologicalSorter(parents).static_order()]
        return [found[name] for name in reversed(in_order) if name in found]

    def remove_images(self, images: Iterable[str]) -> None:
        """Remove images with all their names; like `remove` it never raises.

        The engine refuses one from which another was made: see `images`.
        """
        for image in images:
            self._remove_once_free("image", image, lambda api, name: api.remove_image(name, True))

    def networks(self, filters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All networks that match."""
        with self.api() as api:
            found: list[dict[str, Any]] = api.networks(filters=dict(filters))
        return found

    def remove_networks(self, names: Iterable[str]) -> None:
        """Remove networks once no container is in them; like `remove` it never raises."""
        for name in names:
            self._remove_once_free("network", name, lambda api, name: api.remove_network(name))

    def _remove_once_free(
        self, kind: str, name: str, remove: Callable[[docker.APIClient, str], object]
    ) -> None:
        """A container that another thread removes keeps what it uses for a moment."""
        deadline = time.monotonic() + RELEASE_S
        while True:
            try:
                with self.api() as api:
                    remove(api, name)
                return
            except (Infrastructure, Unavailable) as error:
                if is_going_already(error.__cause__):
                    return
                if time.monotonic() > deadline:
                    _log.warning("%s.not_removed %s=%s why=%s", kind, kind, name, error)
                    return
            time.sleep(POLL_S)

    def _remove(self, container: str) -> bool:
        try:
            with self.api() as api:
                api.remove_container(container, force=True, v=True)
        except (Infrastructure, Unavailable) as error:
            if not is_going_already(error.__cause__):
                _log.warning("container.not_removed container=%s why=%s", container, error)
            return False
        return True

    def _open(self) -> docker.APIClient:
        with self._opening:
            if self._client is None:
                options = kwargs_from_env()
                knock(options.get("base_url") or DEFAULT_UNIX_SOCKET)
                self._client = docker.APIClient(version="auto", timeout=TIMEOUT_S, **options)
            return self._client
