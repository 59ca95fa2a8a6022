"""The data of arms: copies of what a job has frozen.

The next arm gets a copy that an earlier one is done with. Only what that arm has changed is
written again: most files of a database stay as they are from block to block.
"""

import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tuner.bench.engine import labels
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import ROOT_USER, Containers
from tuner.nouns.errors import Infrastructure

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
        mine = labels.of_instance(self.config.instance)
        volumes = self.connection.volumes(labels.query({**mine, labels.STATE: job}))
        containers = self.connection.containers(labels.query(mine))
        used = {mount.get("Name") for each in containers for mount in each["Mounts"]} | self._lent
        return {
            each["Labels"][labels.COPY_OF]: each["Name"]
            for each in volumes
            if labels.COPY_OF in each["Labels"] and each["Name"] not in used
        }

    def _new(self, job: str, origin: str) -> str:
        name = f"tuner-{secrets.token_hex(6)}"
        marks = {labels.STATE: job, labels.COPY_OF: origin}
        with self.connection.api() as api:
            api.create_volume(name, labels={**labels.of_instance(self.config.instance), **marks})
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
