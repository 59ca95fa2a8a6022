"""The services of one arm: its own network, volumes and containers, beside its app."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tuner.bench.engine import stubs
from tuner.bench.engine.commands import Executed, TimedOut, execute
from tuner.bench.engine.config import new_name
from tuner.bench.engine.containers import Containers
from tuner.bench.engine.disk import Disk
from tuner.bench.engine.failures import LOG_TAIL_LINES, explained
from tuner.bench.engine.folders import AppFolder
from tuner.bench.engine.images import Found
from tuner.bench.engine.options import Options
from tuner.bench.measurement import target_failed
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import APP, Backed, FailureCode, Needs, Service, StartCondition, Target
from tuner.nouns.model.needs import Volume, place_of

POLL_S = 0.05
_SHOW_S = 10.0
_INTERNAL = {"com.docker.network.bridge.inhibit_ipv4": "true"}
"""The bridge has no address of the host: containers reach each other and nothing else."""

_NOT_OF_DATA = {"runs", "rtt_ms"}
"""Fields of a service that leave its data as they are: one job may measure several values."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What an app has beside it.

    `network` is None for an app without services. `volumes` are the app's own, by folder;
    `services` the containers by name. The app
    trusts the `certificates` of its stubs.
    """

    image: str
    network: str | None = None
    volumes: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    certificates: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The images of the app and its services, and the folders that hold their data.

    `sha256` is the hash of what the data are made of. `folders` has, by part and folder, the name
    of the data there: two parts may name the same data. `copied` has, by their names, the folders
    with which data start.
    """

    images: Mapping[str, str]
    folders: Mapping[str, Mapping[str, str]]
    copied: Mapping[str, AppFolder]
    sha256: str

    @property
    def data(self) -> list[str]:
        """The names of all data, each once."""
        return sorted({name for held in self.folders.values() for name in held.values()})


@dataclass(frozen=True, slots=True)
class Backing:
    """Starts the services of one arm."""

    containers: Containers
    target: Target
    options: Options
    disk: Disk

    @contextmanager
    def started(self, parts: Parts, volumes: Mapping[str, str]) -> Iterator[Beside]:
        """The services on a network of their own, all ready. Raises `TargetFailed`.

        `volumes` are those of each name of data.
        """
        running: dict[str, str] = {}
        with ExitStack() as stack:
            network = stack.enter_context(self._network()) if self.target.services else None
            beside = Beside(
                image=parts.images[APP],
                network=network,
                volumes=_by_folder(parts.folders[APP], volumes),
                services=running,
            )

            def start(name: str) -> None:
                service = self.target.services[name]
                mounted = _by_folder(parts.folders[name], volumes)
                options = connected(self.options.service(service), network, mounted)
                hosts = service.stub.hosts if service.stub is not None else ()
                known = self.containers.known_as(name, network, hosts)
                container = self.containers.service(parts.images[name], service, options, known)
                with _named(name):
                    running[name] = stack.enter_context(container)

            def wait_ready(name: str) -> None:
                self._wait_ready(name, running)

            with ThreadPoolExecutor(max_workers=4) as pool:
                for group in self.target.start_order:
                    list(pool.map(start, group))
                    list(pool.map(wait_ready, self._awaited & {*group}))
                list(pool.map(wait_ready, running.keys() - self._awaited))
            # All at once: the contexts would remove one after the other.
            stack.callback(lambda: self.containers.connection.remove([*running.values()]))
            yield replace(beside, certificates=self._certificates(running))

    def _certificates(self, running: Mapping[str, str]) -> str:
        """The certificates of all stubs with TLS; empty without one."""
        named = [name for name, each in self.target.services.items() if each.stub is not None]
        done = (self.run_in(running[name], stubs.SHOW_CA, _SHOW_S) for name in named)
        return "".join(each.stdout for each in done)

    @property
    def _awaited(self) -> set[str]:
        """Services that another one waits for."""
        return self._waited_for(StartCondition.HEALTHY, StartCondition.COMPLETED)

    @property
    def _completed(self) -> set[str]:
        """Services that end before another one starts."""
        return self._waited_for(StartCondition.COMPLETED)

    def _waited_for(self, *conditions: StartCondition) -> set[str]:
        return {
            name
            for service in self.target.services.values()
            for name, condition in service.depends_on.items()
            if condition in conditions
        }

    @contextmanager
    def _network(self) -> Iterator[str]:
        connection, name = self.containers.connection, new_name()
        with connection.api() as api:
            api.create_network(
                name,
                driver="bridge",
                internal=True,
                options=_INTERNAL,
                labels=dict(self.containers.labels),
            )
        try:
            yield name
        finally:
            connection.remove_networks([name])

    def _wait_ready(self, name: str, running: Mapping[str, str]) -> None:
        service, container = self.target.services[name], running[name]
        ready_s = self.containers.config.service_ready_s
        deadline, missing = time.monotonic() + ready_s, "did not end"
        while True:
            state = self.containers.connection.state(container)
            if state is None:
                raise Infrastructure(f"the container of {name} was removed while it started")
            if not state["Running"]:
                if name in self._completed and state["ExitCode"] == 0:
                    return
                self._fail(name, container, f"ended (exit {state['ExitCode']})")
            elif name not in self._completed:
                if (said := self._unhealthy(container, service)) is None:
                    return
                missing = f"was not healthy ({said})"
            if time.monotonic() > deadline:
                self._fail(name, container, f"{missing} within {ready_s:g} s")
            self.disk.check_room(running)
            time.sleep(POLL_S)

    def _unhealthy(self, container: str, service: Service) -> str | None:
        """What the test of a service says; None once it ends well."""
        check = service.healthcheck
        if check is None:
            return None
        try:
            done = self.run_in(container, check.argv, check.timeout)
        except TimedOut:
            return f"its test did not end within {check.timeout:g} s"
        except Infrastructure as error:  # the container has ended, or is about to
            return str(error)
        words = f"{done.stdout}\n{done.stderr}".strip().splitlines()[-1:]
        told = ": ".join([f"its test: exit {done.exit_code}", *words])
        return told if done.exit_code != 0 else None

    def run_in(
        self,
        container: str,
        argv: Sequence[str],
        timeout_s: float,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Executed:
        """Run a command in a service's container, as its user."""
        connection = self.containers.connection
        return execute(
            connection, container, argv, user="", timeout_s=timeout_s, meanwhile=meanwhile
        )

    def _fail(self, name: str, container: str, what: str) -> None:
        tail = self.containers.connection.log_tail(container, LOG_TAIL_LINES)
        raise explained(FailureCode.SERVICE_FAILED, f"service {name} {what}", tail)


@contextmanager
def _named(service: str) -> Iterator[None]:
    """A failure of an engine's start tells no name."""
    try:
        yield
    except TargetFailed as failure:
        words = f"service {service}: {failure.message}"
        raise target_failed(FailureCode(failure.code), words, failure.log_tail) from failure


def parts_of(
    target: Target,
    found: Mapping[str, Found],
    declared: Callable[[str], Sequence[str]],
    read: Callable[[str], AppFolder],
) -> Parts:
    """The parts of a target, from the image of each and the folders that an image `declared`.

    `read` gives a folder of the app.
    """
    copied = {volume.data: read(volume.source) for _, volume in target.copies()}
    own = {name: service.volumes for name, service in target.services.items()}
    own[APP] = target.volumes
    made_of = {
        "digests": {name: image.digest for name, image in found.items()},
        "target": target.model_dump(
            mode="json",
            include={*Backed.model_fields, *Needs.model_fields},
            exclude={"services": {"__all__": _NOT_OF_DATA}},
        ),
        "folders": {name: folder.sha256 for name, folder in copied.items()},
    }
    return Parts(
        images={name: image.id for name, image in found.items()},
        folders={
            name: folders_of(name, own[name], declared(image.id)) for name, image in found.items()
        },
        copied=copied,
        sha256=hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest(),
    )


NOWHERE = "192.0.2.1"  # of RFC 5737: no host has it


def connected(
    options: Mapping[str, Any], network: str | None, volumes: Mapping[str, str]
) -> dict[str, Any]:
    """A container's options with a network and, by folder, its volumes."""
    binds = dict(options.get("binds") or {})
    binds |= {volume: {"bind": folder} for folder, volume in volumes.items()}
    # Before Docker 23.0.11 and 25.0.5 the engine itself asks a resolver on the host's loopback for
    # names of an internal network (CVE-2024-29018): a name would carry data out.
    joined = {"network_mode": network, "dns": [NOWHERE]} if network is not None else {}
    return {**options, **joined, "binds": binds}


def _by_folder(folders: Mapping[str, str], volumes: Mapping[str, str]) -> dict[str, str]:
    return {folder: volumes[name] for folder, name in folders.items()}


def folders_of(part: str, own: Sequence[Volume], declared: Sequence[str]) -> dict[str, str]:
    """The name of the data in each folder: `name:/folder` has one, `/folder` its part and path."""
    return dict(place_of(volume, part) for volume in (*declared, *own))
