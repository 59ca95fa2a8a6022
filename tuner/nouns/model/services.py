"""What runs beside an app, such as its database: a subset of the Compose specification.

Its spelling is read too: `environment`, `shm_size: 64m`, `mem_limit: 512m`, a list of
`depends_on`, a `healthcheck` with `timeout: 5s`.
"""

import shlex
from collections.abc import Iterator, Mapping
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from tuner.nouns.model.base import Document, Name, megabytes, seconds
from tuner.nouns.model.limits import Ulimits
from tuner.nouns.model.needs import CopiedVolume, ImageText, InnerFolder, Needs, Volume, pairs
from tuner.nouns.model.stubs import STUB_CPUS, STUB_MB, Stub

APP = "app"
"""The name of the app's own container among the services."""

MOST_SERVICES = 12

START_OF_ARM_S = 0.75
START_OF_SERVICES_S = 3.0
"""On top of the app's own time: `bench-spent` of a job on `django-shop`."""

RTT_ELSEWHERE_MS = 0.5
"""The round trip to a service on another machine of one data centre, unless the user gives it."""

VOLUMES = "name:/folder, or /folder, empty at first; or {source, target, copy: true}"


def _words(given: Any) -> Any:
    """A command as one text, as a shell splits it."""
    return shlex.split(given) if isinstance(given, str) else given


def _test(given: Any) -> Any:
    return ["CMD-SHELL", given] if isinstance(given, str) else given


def _seconds(given: Any) -> Any:
    found = seconds(given) if isinstance(given, str) else None
    return given if found is None else found


def _is_a_test(test: tuple[str, ...]) -> tuple[str, ...]:
    if len(test) < 2 or test[0] not in ("CMD", "CMD-SHELL"):
        raise ValueError("give a text for a shell, or [CMD, program, argument]")
    return test


Words = Annotated[tuple[Annotated[str, Field(max_length=20_000)], ...], BeforeValidator(_words)]


class HealthCheck(Document):
    """The test that ends well once a service answers. It runs as often as it takes."""

    test: Annotated[
        tuple[str, ...], BeforeValidator(_test), AfterValidator(_is_a_test), Field(min_length=1)
    ] = Field(description="a text for a shell, or [CMD, program, argument]")
    timeout: Annotated[float, BeforeValidator(_seconds)] = Field(
        5.0, gt=0, le=60, description="seconds for one test"
    )

    @property
    def argv(self) -> tuple[str, ...]:
        """The command to run in the container."""
        return self.test[1:] if self.test[0] == "CMD" else ("/bin/sh", "-c", self.test[1])


class StartCondition(StrEnum):
    """When a container may start after another one."""

    STARTED = "service_started"
    HEALTHY = "service_healthy"
    COMPLETED = "service_completed_successfully"


def _mb(given: Any) -> Any:
    found = megabytes(str(given)) if isinstance(given, str | int) else None
    return given if found is None else found


def _conditions(given: Any) -> Any:
    match given:
        case [*names]:
            return dict.fromkeys(names, StartCondition.STARTED)
        case {**named}:
            return {
                name: each["condition"]
                if isinstance(each, dict) and {*each} == {"condition"}
                else each
                for name, each in named.items()
            }
        case _:
            return given


class Runs(StrEnum):
    """Where a service runs in production, seen from the app."""

    ELSEWHERE = "elsewhere"  # on CPUs of its own, reached over a network
    BESIDE = "beside"  # shares the app's CPUs and limits, as on one small VM


_FROM_COMPOSE = {
    "environment": ("env", pairs),
    "shm_size": ("shm_mb", _mb),
    "mem_limit": ("memory_mb", _mb),
}


_OF_A_STUB = frozenset({"stub", "cpus", "memory_mb", "depends_on"})


class Service(Needs):
    """A container beside the app, with a name on the arm's own network."""

    runs: Runs = Field(
        Runs.ELSEWHERE,
        description="in production: elsewhere, on CPUs of its own; or beside, on the app's CPUs",
    )
    rtt_ms: float | None = Field(
        None,
        ge=0,
        le=1000,
        description="round trip time between app and service in production, in ms;"
        f" null: {RTT_ELSEWHERE_MS} elsewhere, 0 beside",
    )
    image: ImageText | None = Field(None, description="a container image")
    build: InnerFolder | None = Field(
        None,
        description="a folder with a Dockerfile, inside the folder that the app is built from",
    )
    stub: Stub | None = Field(None, description="answers in place of an API outside")
    command: Words | None = Field(None, description="null: the image's")
    entrypoint: Words | None = Field(None, description="null: the image's")
    volumes: tuple[Volume, ...] = Field((), max_length=20, description=VOLUMES)
    healthcheck: HealthCheck | None = Field(None, description="null: ready once it is started")
    depends_on: Annotated[dict[Name, StartCondition], BeforeValidator(_conditions)] = Field(
        {}, description="what starts before it, and what it waits for"
    )
    cpus: float | None = Field(None, gt=0, le=256, description="CPU quota, in cores; null: none")
    memory_mb: int = Field(512, ge=16, le=1 << 20, description="hard memory limit; no swap")
    ulimits: Ulimits = Field({}, description="limits of its processes: a number, or soft and hard")

    @model_validator(mode="before")
    @classmethod
    def _from_compose(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        found = dict(given)
        for theirs, (ours, read) in _FROM_COMPOSE.items():
            if theirs in found and ours not in found:
                found[ours] = read(found.pop(theirs))
        return {"memory_mb": STUB_MB, **found} if found.get("stub") is not None else found

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(each is not None for each in (self.build, self.image, self.stub)) != 1:
            raise ValueError("give one of build (a folder with a Dockerfile), image and stub")
        fields = type(self).model_fields
        changed = [n for n in fields if getattr(self, n) != fields[n].get_default()]
        if self.stub is not None and (unfit := sorted({*changed} - _OF_A_STUB)):
            raise ValueError(f"a stub has no {', '.join(unfit)}")
        return self

    def never_reaches(self, condition: StartCondition) -> str | None:
        """Why nothing can wait for this condition of it; None if something can."""
        if self.stub is not None:
            is_never = condition is StartCondition.COMPLETED
            return "is a stub and never ends" if is_never else None
        is_untested = condition is StartCondition.HEALTHY and self.healthcheck is None
        return "has no healthcheck" if is_untested else None

    @property
    def cpus_elsewhere(self) -> float:
        """CPUs that it wants where it runs: its quota, or one; little for a stub."""
        return self.cpus or (1.0 if self.stub is None else STUB_CPUS)

    @property
    def round_trip_ms(self) -> float:
        """The round trip time between app and service that an arm is measured with.

        None is added to a stub, whose latency is the whole of it.
        """
        if self.rtt_ms is not None:
            return self.rtt_ms
        is_near = self.runs is Runs.BESIDE or self.stub is not None
        return 0.0 if is_near else RTT_ELSEWHERE_MS


class PrepareStep(Document):
    """A command that runs once, before the data of all containers are frozen."""

    in_: Name = Field(alias="in", description="app, or the name of a service")
    run: Words = Field(min_length=1, description="the command; not for a shell")
    timeout_s: float = Field(120.0, gt=0, le=3600, description="then the job fails")

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class Backed(Document):
    """The services of an app, and the data that all its arms start with."""

    services: dict[Name, Service] = Field(
        {}, max_length=MOST_SERVICES, description="containers beside the app, by name"
    )
    volumes: tuple[Volume, ...] = Field(
        (), max_length=20, description=f"of the app itself: {VOLUMES}"
    )
    prepare: tuple[PrepareStep, ...] = Field(
        (), max_length=20, description="fill the data that every arm starts with"
    )

    @model_validator(mode="before")
    @classmethod
    def _shared_secrets(cls, given: Any) -> Any:
        """As in Compose, `secrets: [NAME]` of a service is the app's secret of that name."""
        match given:
            case {"services": {**services}, "secrets": {**secrets}}:
                return {**given, "services": {n: _with(secrets, s) for n, s in services.items()}}
            case _:
                return given

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        unknown = _unknown(self.services, self.prepare)
        if mistakes := [*unknown, *_taken(self.services), *_cycles(self.services)]:
            raise ValueError("; ".join(mistakes))
        return self

    def copies(self) -> Iterator[tuple[str, CopiedVolume]]:
        """The volumes that start with a copy of a folder, each with its path in the document."""
        parts = {"": self.volumes} | {
            f"services.{name}.": service.volumes for name, service in self.services.items()
        }
        for path, volumes in parts.items():
            for number, volume in enumerate(volumes):
                if isinstance(volume, CopiedVolume):
                    yield f"{path}volumes.{number}", volume

    def refuse_copies(self) -> None:
        """Raise `ValueError` if a volume starts with a copy: a request brings no folder."""
        if paths := [path for path, _ in self.copies()]:
            raise ValueError(
                f"{', '.join(paths)}: an app by image has no folder to copy from; describe it as a"
                " target app"
            )

    def refuse_builds(self) -> None:
        """Raise `ValueError` if a service is built: an app by image brings no folder."""
        if built := [name for name, each in self.services.items() if each.build is not None]:
            raise ValueError(
                f"services {', '.join(built)}: an app by image has no folder to build them from;"
                " give an image"
            )

    @property
    def names(self) -> frozenset[str]:
        """The names that the app can look up: its services and the hosts of their stubs."""
        hosts = (each.stub.hosts for each in self.services.values() if each.stub is not None)
        return frozenset((*self.services, *chain.from_iterable(hosts)))

    @property
    def prepare_s(self) -> float:
        """Seconds that all steps of `prepare` may take."""
        return sum(step.timeout_s for step in self.prepare)

    @property
    def start_order(self) -> tuple[tuple[str, ...], ...]:
        """The names of the services in groups. Those of one group can start at once."""
        return tuple(_groups(self.services))

    @property
    def has_data(self) -> bool:
        """Whether arms start from data that are made once."""
        return bool(self.services or self.volumes or self.prepare)

    def without_data(self) -> Self:
        """The app alone."""
        return self.model_copy(update={"services": {}, "volumes": (), "prepare": ()})

    @property
    def elsewhere_cpus(self) -> float:
        """CPUs that the services elsewhere want together: their quotas, or one each."""
        return sum(s.cpus_elsewhere for s in self.services.values() if s.runs is Runs.ELSEWHERE)

    @property
    def beside(self) -> frozenset[str]:
        """The names of the services that share the app's CPUs."""
        return frozenset(n for n, s in self.services.items() if s.runs is Runs.BESIDE)

    @property
    def delayed_ms(self) -> dict[str, float]:
        """The round trip times of the services whose packets are delayed, by name."""
        return {n: s.round_trip_ms for n, s in self.services.items() if s.round_trip_ms > 0}

    @property
    def services_memory_mb(self) -> int:
        """Memory limits of all services of one arm together."""
        return sum(service.memory_mb for service in self.services.values())

    @property
    def start_s(self) -> float:
        """Seconds to start and remove an arm, until blocks tell how long they take."""
        return START_OF_ARM_S + (START_OF_SERVICES_S if self.services else 0.0)


def _with(secrets: Mapping[Any, Any], service: Any) -> Any:
    match service:
        case {"secrets": [*names]} if {*map(str, names)} <= {*secrets}:
            return {**service, "secrets": {str(name): secrets[str(name)] for name in names}}
        case _:
            return service


def _groups(services: Mapping[str, Service]) -> Iterator[tuple[str, ...]]:
    sorter = TopologicalSorter({name: each.depends_on for name, each in services.items()})
    sorter.prepare()
    while sorter.is_active():
        ready = tuple(sorted(sorter.get_ready()))
        yield ready
        sorter.done(*ready)


def _unknown(services: Mapping[str, Service], steps: tuple[PrepareStep, ...]) -> Iterator[str]:
    if APP in services:
        yield f"services.{APP}: this is the name of the app's own container"
    for name, service in services.items():
        for other, condition in service.depends_on.items():
            at = f"services.{name}.depends_on.{other}"
            if other not in services:
                yield f"{at}: there is no such service"
            elif why := services[other].never_reaches(condition):
                yield f"{at}: {other} {why}"
    for number, step in enumerate(steps):
        if step.in_ != APP and step.in_ not in services:
            yield f"prepare.{number}.in: there is no service {step.in_}"
        elif step.in_ != APP and services[step.in_].stub is not None:
            yield f"prepare.{number}.in: {step.in_} is a stub and has no data"


def _taken(services: Mapping[str, Service]) -> Iterator[str]:
    """Hosts of stubs that are the name of something else."""
    owners = dict.fromkeys((*services, APP, "localhost"), "")
    for name, service in services.items():
        for host in service.stub.hosts if service.stub is not None else ():
            if owners.setdefault(host, name) != name and host != name:
                yield f"services.{name}.stub.hosts: {host} is the name of something else here"


def _cycles(services: Mapping[str, Service]) -> Iterator[str]:
    try:
        list(_groups(services))
    except CycleError as error:
        yield f"services: {' -> '.join(reversed(error.args[1]))}: each waits for the next"
