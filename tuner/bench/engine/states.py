"""What all arms of a job start with: the data of its app and services, filled once and frozen."""

import json
import secrets
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from docker.errors import APIError

from tuner.bench.engine import config
from tuner.bench.engine.backing import Backing, Beside, Parts, connected
from tuner.bench.engine.commands import Executed, TimedOut
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import Connection, explain
from tuner.bench.engine.containers import ROOT_USER, Containers
from tuner.bench.engine.failures import LOG_TAIL_LINES, explained, why_not_frozen
from tuner.bench.engine.stubs import trusting
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import APP, FailureCode, Limits, PrepareStep

# ---- The data of arms: copies of what a job has frozen
#
# The next arm gets a copy that an earlier one is done with. Only what that arm has changed is
# written again: most files of a database stay as they are from block to block.

COPY_S = 300.0
_COPY = r"""
same="--archive --hard-links --acls --xattrs --whole-file"
same="$same --modify-window=-1"  # nanoseconds: a file may change in the second of its last copy
mine="-x! user.*"  # of extended attributes, those that may be set without more rights
for from in /from/*; do
    to="/to/${from##*/}"
    # Files with holes first: --sparse would make holes of the zeros that a database has written.
    find "$from" -type f -printf '%S %P\0' | sed -Ezn 's/^(0[.0-9]*|[.0-9]+e-[0-9]+) //p' |
        rsync $same --filter="$mine" --sparse --files-from=- --from0 "$from/" "$to/" || exit 1
    rsync $same --filter="$mine" --delete "$from/" "$to/" || exit 1
done
"""
_COPYING = {"cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]}


@dataclass(slots=True)
class Copies:
    """The copies on this host. One for the whole process."""

    connection: Connection
    config: EngineConfig
    _lending: threading.Lock = field(default_factory=threading.Lock)
    _lent: set[str] = field(default_factory=set)

    @contextmanager
    def lent(
        self, job: str, containers: Containers, frozen: Mapping[str, str]
    ) -> Iterator[dict[str, str]]:
        """Volumes by the name of their data, as the `frozen` ones are; no other arm has them.

        They stay until the job ends. Raises `Infrastructure`.
        """
        copies = self._lend(job, frozen)
        try:
            if copies:
                self._make_equal(containers, [(frozen[name], copies[name]) for name in copies])
            yield copies
        finally:
            with self._lending:
                self._lent -= {*copies.values()}

    def _lend(self, job: str, frozen: Mapping[str, str]) -> dict[str, str]:
        with self._lending:
            free = self._free(job)
            copies = {
                name: free.get(origin) or self._new(job, origin) for name, origin in frozen.items()
            }
            self._lent |= {*copies.values()}
        return copies

    def _free(self, job: str) -> dict[str, str]:
        """One copy of each frozen volume that no arm and no container has, as far as there is one.

        The engine is asked: a process before this one may have left copies, and containers.
        """
        mine = config.of_instance(self.config.instance)
        volumes = self.connection.volumes(config.query({**mine, config.STATE: job}))
        containers = self.connection.containers(config.query(mine))
        used = {mount.get("Name") for each in containers for mount in each["Mounts"]} | self._lent
        return {
            each["Labels"][config.COPY_OF]: each["Name"]
            for each in volumes
            if config.COPY_OF in each["Labels"] and each["Name"] not in used
        }

    def _new(self, job: str, origin: str) -> str:
        name = config.new_name()
        marks = {config.STATE: job, config.COPY_OF: origin}
        with self.connection.api() as api:
            api.create_volume(name, labels={**config.of_instance(self.config.instance), **marks})
        return name

    def _make_equal(self, containers: Containers, pairs: Sequence[tuple[str, str]]) -> None:
        binds = {}
        for number, (source, copy) in enumerate(pairs):
            binds[source] = {"bind": f"/from/{number}", "mode": "ro,nocopy"}
            binds[copy] = {"bind": f"/to/{number}", "mode": "nocopy"}
        options = {**_COPYING, "binds": binds}
        exit_code, said = containers.run(
            self.config.load_image, ["sh", "-c", _COPY], COPY_S, options, user=ROOT_USER
        )
        if exit_code != 0:
            first, _, _ = said.partition("\n")  # the others say that there was an error
            raise Infrastructure(f"the data of an arm cannot be copied: {first}")


# ---- What all arms of a job start with: the data of its app and services, filled once and frozen
#
# A state is an image of each container, with what it wrote to its own layer, and a volume for each
# piece of data. An arm's containers start from these images, on copies of these volumes.

STOP_S = 30  # for a container to end after its stop signal
_WHOLE = "/whole"  # the volume that is made last; no name of data begins with a slash


@dataclass(frozen=True, slots=True)
class State:
    """The images and volumes that arms start from: by part, and by the name of the data."""

    parts: Parts
    volumes: Mapping[str, str]


@dataclass(slots=True)
class States:
    """The frozen data of jobs on this host. One for the whole process."""

    connection: Connection
    config: EngineConfig
    copies: Copies
    _making: threading.Lock = field(default_factory=threading.Lock)
    _jobs: set[str] | None = None  # with data here; None: an earlier process may have left some

    @contextmanager
    def arm(self, job: str, parts: Parts, backing: Backing, limits: Limits) -> Iterator[Beside]:
        """An arm's services, all ready, on data that nothing has changed since they were frozen.

        Raises `TargetFailed` if the data cannot be made, and `Infrastructure` if services do not
        start with data that were made: the arm's file is not at fault.
        """
        state = self._of(job, parts, backing, limits)
        with ExitStack() as stack:
            try:
                copies = stack.enter_context(
                    self.copies.lent(job, backing.containers, state.volumes)
                )
                beside = stack.enter_context(backing.started(state.parts, copies))
            except TargetFailed as failure:
                raise Infrastructure(f"{failure.message} (it has started before)") from failure
            yield beside

    def end(self, keep: Collection[str]) -> None:
        """Remove the data of all jobs but these; not while data are made.

        It asks the engine only if there may be something to remove.
        """
        if not self._making.acquire(blocking=False):
            return
        try:
            if self._jobs is None or self._jobs - {*keep}:
                self._end(keep)
                self._jobs = {*keep}
        finally:
            self._making.release()

    def _end(self, keep: Collection[str]) -> None:
        mine = config.of_instance(self.config.instance)
        with_state = {"label": [*config.query(mine)["label"], config.STATE]}

        def is_over(found: Mapping[str, Any]) -> bool:
            return found["Labels"][config.STATE] not in keep

        volumes = self.connection.volumes(with_state)
        images = self.connection.images({**config.our_images(mine), **with_state})
        self.connection.remove_volumes(each["Name"] for each in volumes if is_over(each))
        self.connection.remove_images(each["Id"] for each in images if is_over(each))

    def _of(self, job: str, parts: Parts, backing: Backing, limits: Limits) -> State:
        key = f"{job}.{parts.sha256[:16]}"
        with self._making:
            if self._jobs is not None:
                self._jobs.add(job)
            making = _Making(self.connection, self._labels(job, key), backing, limits)
            # Not from memory: an operator may prune volumes, and the engine would make empty ones.
            return making.found(parts) or making.made(parts)

    def _labels(self, job: str, key: str) -> dict[str, str]:
        return {
            **config.of_instance(self.config.instance),
            config.STATE: job,
            config.STATE_KEY: key,
        }


@dataclass(frozen=True, slots=True)
class _Making:
    """Makes the state with these `labels`, or finds what an earlier process made."""

    connection: Connection
    labels: Mapping[str, str]
    backing: Backing
    limits: Limits

    def found(self, parts: Parts) -> State | None:
        """None if there is none, or not a whole one."""
        volumes = self.connection.volumes(config.query(self.labels))
        labels = {each["Labels"][config.PART]: each["Labels"] for each in volumes}
        named = {each["Labels"][config.PART]: each["Name"] for each in volumes}
        if named.pop(_WHOLE, None) is None or {*named} != {*parts.data}:
            return None
        images = json.loads(labels[_WHOLE].get(config.IMAGES, "{}"))
        here = {each["Id"] for each in self.connection.images(config.our_images(self.labels))}
        if not {*images} >= self._changed or not {*images.values()} <= here:
            return None
        return State(replace(parts, images={**parts.images, **images}), named)

    @property
    def _changed(self) -> set[str]:
        """The parts that have an image of their own in the state."""
        target = self.backing.target
        with_data = {name for name, each in target.services.items() if each.stub is None}
        return with_data | {step.in_ for step in target.prepare}

    def made(self, parts: Parts) -> State:
        """Fill the data, stop all containers, and freeze what they wrote. Raises `TargetFailed`."""
        self._remove()
        try:
            volumes = {name: self._volume(name) for name in parts.data}
            for name, folder in parts.copied.items():
                self.backing.containers.fill(volumes[name], folder.packed)
            with self.backing.started(parts, volumes) as beside:
                images = {**parts.images, **self._filled(beside)}
                self.backing.disk.check_room(beside.services)
                self._stop(beside.services)
                for name, container in beside.services.items():
                    if name in self._changed:
                        images[name] = self._frozen(container, name)
            changed = {part: images[part] for part in sorted(self._changed)}
            self._volume(_WHOLE, {config.IMAGES: json.dumps(changed)})
        except BaseException:
            self._remove()
            raise
        return State(replace(parts, images=images), volumes)

    def _filled(self, beside: Beside) -> dict[str, str]:
        """Run the steps; returns the app's image if they changed it."""
        steps, image = self.backing.target.prepare, beside.image
        last = max((n for n, step in enumerate(steps) if step.in_ == APP), default=None)
        for number, step in enumerate(steps):
            if step.in_ == APP:
                part = APP if number == last else f"{APP}/{number}"
                image = self._run_in_app(step, replace(beside, image=image), part)
            else:
                self._run_in_service(step, beside.services)
        return {APP: image}

    def _run_in_app(self, step: PrepareStep, beside: Beside, part: str) -> str:
        backing, containers = self.backing, self.backing.containers
        options = backing.options.target(backing.target, self.limits, {})
        options = connected(options, beside.network, beside.volumes)
        known = containers.known_as(APP, beside.network)
        needs = trusting(backing.target, beside.certificates)
        with containers.target(
            beside.image, list(step.run), {}, options, needs, known
        ) as container:
            running = {APP: container, **beside.services}
            state = self.connection.wait_end(
                container, step.timeout_s, lambda: backing.disk.check_room(running)
            )
            tail = self.connection.log_tail(container, LOG_TAIL_LINES)
            _check(step, None if state is None else int(state["ExitCode"]), tail)
            return self._frozen(container, part)

    def _run_in_service(self, step: PrepareStep, services: Mapping[str, str]) -> None:
        backing = self.backing
        try:
            done = backing.run_in(
                services[step.in_],
                step.run,
                step.timeout_s,
                lambda: backing.disk.check_room(services),
            )
        except TimedOut:
            done = Executed(None, "", "")
        _check(step, done.exit_code, f"{done.stdout}\n{done.stderr}".strip())

    def _stop(self, services: Mapping[str, str]) -> None:
        """Cleanly, and the services that others need last."""
        for group in reversed(self.backing.target.start_order):
            for name in group:
                with self.connection.api() as api:
                    api.stop(services[name], timeout=STOP_S)

    def _frozen(self, container: str, part: str) -> str:
        """An image of what the container has written to its own layer; its id."""
        marks = {**self.labels, config.PART: part}
        with self.connection.api() as api:
            try:
                found = api.commit(
                    container,
                    repository=config.STATE_IMAGES,
                    tag=secrets.token_hex(8),
                    changes=[f"LABEL {name}={value}" for name, value in marks.items()],
                )
            except APIError as error:
                raise why_not_frozen(explain(error)) or error from error
        return str(found["Id"])

    def _volume(self, part: str, marks: Mapping[str, str] = {}) -> str:
        name = config.new_name()
        with self.connection.api() as api:
            api.create_volume(name, labels={**self.labels, config.PART: part, **marks})
        return name

    def _remove(self) -> None:
        volumes = self.connection.volumes(config.query(self.labels))
        images = self.connection.images(config.our_images(self.labels))
        self.connection.remove_volumes(each["Name"] for each in volumes)
        self.connection.remove_images(each["Id"] for each in images)


def _check(step: PrepareStep, exit_code: int | None, tail: str) -> None:
    """Raise `TargetFailed` unless the step ended well."""
    if exit_code == 0:
        return
    how = f"did not end within {step.timeout_s:g} s" if exit_code is None else f"exit {exit_code}"
    words = f"prepare: `{' '.join(step.run)}` in {step.in_}: {how}"
    raise explained(FailureCode.PREPARE_FAILED, words, tail)
