"""Creates and starts the two containers of an arm, and short-lived ones."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from tarfile import TarInfo
from typing import Any

from docker.errors import APIError, ImageNotFound

from tuner.bench.engine import commands, nginx
from tuner.bench.engine.commands import GENERATOR_UID
from tuner.bench.engine.config import EngineConfig, new_name
from tuner.bench.engine.connection import Connection, explain
from tuner.bench.engine.failures import why_not_started
from tuner.bench.engine.guard import no_image
from tuner.bench.engine.nginx import ProxyFile
from tuner.bench.engine.options import CONFINED
from tuner.bench.measurement import target_failed
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import SECRETS, FailureCode, FromFile, FromWorker, Needs, Service

# ---- A text out of an image: of a container that was made from it and never starts

MOST_BYTES = 200_000
"""As many characters may a uwsgi.ini in a request have."""
MOST_LINKS = 10
LINKS = "it is a chain of too many links"
REFUSED_PATHS = {"too many links": LINKS, "not a directory": "a part of its path is no folder"}
"""What the engine says of a path, and what we say. It follows some links itself."""


def text_at(connection: Connection, container: str, path: str) -> str:
    """The text at `path`; links are followed. Raises `ValueError` with what is there instead."""
    at = PurePosixPath(path)
    for _ in range(MOST_LINKS):
        entry, content = _entry(connection, container, str(at))
        if entry is None:
            its = "" if str(at) == path else f": it is a link to {at}"
            raise ValueError(f"there is no such file{its}")
        if not entry.issym():
            break
        at = at.parent / entry.linkname
    else:
        raise ValueError(LINKS)
    if not entry.isreg():
        raise ValueError("it is a folder" if entry.isdir() else "it is not a regular file")
    if entry.size > MOST_BYTES:
        raise ValueError(f"it has {entry.size} bytes; a uwsgi.ini may have {MOST_BYTES}")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _entry(connection: Connection, container: str, path: str) -> tuple[TarInfo | None, bytes]:
    try:
        return connection.entry(container, path)
    except Infrastructure as error:
        for words, why in REFUSED_PATHS.items():
            if words in str(error):
                raise ValueError(why) from None
        raise


ROOT_USER = "0:0"
GENERATOR_USER = f"{GENERATOR_UID}:{GENERATOR_UID}"
"""The user of our commands in the generator's container: it owns no file."""

_NO_NEEDS = Needs()
_LOOK_S = 20.0
_FILLED = "/filled"


def generator_user(proxy: ProxyFile | None) -> str:
    """Who runs in the load generator's container."""
    return ROOT_USER if proxy is not None and proxy.as_root else GENERATOR_USER


@dataclass(frozen=True, slots=True)
class Containers:
    """Starts containers that carry `labels`; each is removed when its context ends.

    `created` gets the id of each one before it starts. Secrets in files are those of `app`.
    """

    connection: Connection
    config: EngineConfig
    labels: Mapping[str, str]
    created: Callable[[str], None] = lambda container: None
    app: str | None = None

    def known_as(self, name: str, network: str | None, hosts: Sequence[str] = ()) -> dict[str, Any]:
        """The name of a container on a network, and more `hosts` that lead to it."""
        if network is None:
            return {}
        with self.connection.api() as api:
            endpoint = api.create_endpoint_config(aliases=[name, *hosts])
            return {
                "networking_config": {"EndpointsConfig": {network: endpoint}},
                "hostname": name,
            }

    def bounds_disk(self) -> bool:
        """Whether the engine's storage driver can bound what a container writes."""
        options = {"storage_opt": {"size": f"{self.config.disk_mb}m"}}
        try:
            with self._created(self.config.load_image, ["true"], [], options):
                return True
        except Infrastructure:
            return False

    @contextmanager
    def target(
        self,
        image: str,
        argv: Sequence[str],
        files: Mapping[str, bytes],
        options: Mapping[str, Any],
        needs: Needs = _NO_NEEDS,
        network: Mapping[str, Any] = {},
    ) -> Iterator[str]:
        """A started target. Raises `TargetFailed` if its image or limits keep it from starting.

        The files are copied and not mounted: the engine may run on another machine, and this
        process in a container. Without words the image's own ENTRYPOINT and CMD run.
        """
        first, rest = (argv[:1], argv[1:]) if argv else (None, None)
        are_ours = all(path.startswith(f"{commands.FOLDER}/") for path in files)
        with self._with_needs(image, first, rest, options, needs, network) as container:
            if files:
                self.connection.put(container, commands.archive(files, with_folders=are_ours))
            self._start(container, argv[0] if argv else image)
            yield container

    @contextmanager
    def service(
        self,
        image: str,
        service: Service,
        options: Mapping[str, Any],
        network: Mapping[str, Any],
    ) -> Iterator[str]:
        """A started service. Raises `TargetFailed` if its image or limits keep it from starting."""
        created = self._with_needs(
            image, service.entrypoint, service.command, options, service, network
        )
        with created as container:
            self._start(container, image, asks_limits=bool(service.ulimits))
            yield container

    @contextmanager
    def _with_needs(
        self,
        image: str,
        entrypoint: Sequence[str] | None,
        arguments: Sequence[str] | None,
        options: Mapping[str, Any],
        needs: Needs,
        network: Mapping[str, Any],
    ) -> Iterator[str]:
        its = {
            "environment": self._environment(needs),
            "user": needs.user,
            "working_dir": needs.working_dir,
            **network,
        }
        theirs = {path: text.encode() for path, text in self._files(needs).items()}
        with self._created(image, entrypoint, arguments, options, **its) as container:
            if theirs:
                runs = needs.executables
                packed = commands.archive(theirs, executables=runs, with_folders=False)
                self.connection.put(container, packed)
            yield container

    @contextmanager
    def generator(
        self, image: str, options: Mapping[str, Any], proxy: ProxyFile | None
    ) -> Iterator[str]:
        """The load generator's container; it runs nginx, or nothing yet."""
        files = dict(self.config.generator_files)
        argv: Sequence[str] = ("sleep", "infinity")
        if proxy is not None:
            files[nginx.CONFIG] = proxy.text.encode()
            argv = nginx.COMMAND
        user = generator_user(proxy)
        with self._created(image, argv[:1], argv[1:], options, user=user) as container:
            if files:
                self.connection.put(container, commands.archive(files))
            self._start(container, argv[0])
            yield container

    @contextmanager
    def delay(
        self, image: str, options: Mapping[str, Any], round_trips_ms: Mapping[str, float]
    ) -> Iterator[str]:
        """The container that delays packets to services, by their names; it has just started."""
        argv = (*self.config.delay_command, json.dumps(dict(round_trips_ms)))
        with self._created(image, argv[:1], argv[1:], options, user=ROOT_USER) as container:
            self.connection.put(container, commands.archive(self.config.generator_files))
            self._start(container, argv[0])
            yield container

    def file_in(self, image: str, path: str, name: str) -> str:
        """The text of a file in an image, which messages call `name`. Raises `TargetFailed`."""
        with self._created(image, ["true"], [], {}) as container:
            try:
                return text_at(self.connection, container, path)
            except ValueError as error:
                message = f"{path} in the image {name}: {error}"
                raise target_failed(FailureCode.PREPARE_FAILED, message) from error

    @contextmanager
    def volume(
        self, marks: Mapping[str, str] = {}, *, in_memory: str | None = None
    ) -> Iterator[str]:
        """An empty volume, removed at the end, after its containers. `marks` are more labels.

        It is a folder `in_memory` with these options, such as `size=64m`, which all may write.
        """
        options = None
        if in_memory is not None:
            how = ",".join(filter(None, ("mode=1777", in_memory)))
            options = {"type": "tmpfs", "device": "tmpfs", "o": how}
        with self.connection.api() as api:
            name = new_name()
            api.create_volume(name, driver_opts=options, labels={**self.labels, **marks})
        try:
            yield name
        finally:
            self.connection.remove_volumes([name])

    def fill(self, volume: str, packed: Callable[[str], Iterable[bytes]]) -> None:
        """Unpack a tar in a volume that nothing has used yet; `packed` gets its path in the tar.

        Owners and modes stay. The container that has the volume never starts.
        """
        options = {"network_mode": "none", "binds": {volume: {"bind": _FILLED, "mode": "nocopy"}}}
        with self._created(self.config.load_image, ["true"], [], options) as container:
            self.connection.put(container, packed(_FILLED.strip("/")))

    def run(
        self,
        image: str,
        argv: Sequence[str],
        timeout_s: float,
        options: Mapping[str, Any] = {},
        user: str | None = None,
    ) -> tuple[int, str]:
        """Run a command in a container without a network; returns exit code and output."""
        memory = {"mem_limit": "512m", "memswap_limit": "512m", "pids_limit": 512}
        confined = {"network_mode": "none", **memory, **CONFINED, **options}
        with self._created(image, argv[:1], argv[1:], confined, user=user) as container:
            self._start(container, argv[0])
            state = self.connection.wait_end(container, timeout_s)
            if state is None:
                raise Infrastructure(f"`{' '.join(argv)}` did not end within {timeout_s:g} s")
            return int(state["ExitCode"]), self.connection.log_tail(container, "all")

    def _environment(self, needs: Needs) -> dict[str, str]:
        """The values of `env`, with the secrets of this host. Raises `TargetFailed` without one."""
        return {
            name: value if isinstance(value, str) else self._secret(value, f"env.{name}")
            for name, value in needs.env.items()
        }

    def _files(self, needs: Needs) -> dict[str, str]:
        """The texts of `files` and of `secrets`. Raises `TargetFailed` without a secret."""
        secrets = {
            f"{SECRETS}/{name}": self._secret(source, f"secrets.{name}")
            for name, source in needs.secrets.items()
        }
        return {**needs.files, **secrets}

    def _secret(self, source: FromWorker | FromFile, wanted: str) -> str:
        if isinstance(source, FromWorker):
            name = source.from_worker
            told = f"has no variable {name}, or its TUNER_SECRETS_ALLOWED does not name it"
        else:
            name = f"{self.app}/{source.file}"
            told = f"could read no text from the file {name} at its start"
        secret = self.config.secrets.get(name)
        if secret is None:
            message = f"a target needs {wanted}; the worker {self.config.worker} {told}"
            raise target_failed(FailureCode.WORKLOAD_REFUSED, message)
        return secret

    @contextmanager
    def _created(
        self,
        image: str,
        entrypoint: Sequence[str] | None,
        arguments: Sequence[str] | None,
        options: Mapping[str, Any],
        **settings: Any,
    ) -> Iterator[str]:
        """Without `entrypoint` or `arguments` those of the image."""
        with self.connection.api() as api:
            try:
                container: str = api.create_container(
                    image,
                    name=new_name(),
                    entrypoint=None if entrypoint is None else list(entrypoint),
                    command=None if arguments is None else list(arguments),
                    **settings,
                    labels=dict(self.labels),
                    host_config=api.create_host_config(**options),
                )["Id"]
            except ImageNotFound as error:
                raise no_image(image) from error
            except APIError as error:
                program = entrypoint[0] if entrypoint else image
                raise why_not_started(explain(error), program) or error from error
        try:
            self.created(container)
            yield container
        finally:
            self.connection.remove([container])

    def _start(self, container: str, program: str, *, asks_limits: bool = False) -> None:
        """`asks_limits`: the container has limits of the user's own."""
        with self.connection.api() as api:
            try:
                api.start(container)
            except APIError as error:
                words = explain(error)
                if asks_limits and "setting rlimit" in words:
                    raise self._limit_too_high(words) from error
                raise why_not_started(words, program) or error from error

    def _limit_too_high(self, explanation: str) -> TargetFailed:
        _, most = self.run(self.config.load_image, ["sh", "-c", "ulimit -Hn"], _LOOK_S)
        return target_failed(
            FailureCode.WORKLOAD_REFUSED,
            "this host refuses a limit of `ulimits`: the hard limit of open files (nofile) is"
            f" {most} here ({explanation})",
        )
