"""The box: what production gives the app, and each container of a trial gets too."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, StrictInt, StrictStr, field_validator, model_validator

from tuner.nouns.model import kernel
from tuner.nouns.model.document import Document

BYTES_PER_MB = 2**20
"""A megabyte as Docker's `--memory 512m` and uWSGI's `reload-on-rss` have it: limits and what is
used of them are in the same unit."""


_CPU_LIST = re.compile(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*")


def cpus_in(text: str) -> tuple[int, ...]:
    """`0-2,5` → (0, 1, 2, 5). Raises `ValueError`."""
    if _CPU_LIST.fullmatch(text) is None:
        raise ValueError("give CPUs as in 0-2,5")
    ids: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        ids.extend(range(int(first), int(last or first) + 1))
    return tuple(ids)


BOX_SIZES = ("cpus", "memory_mb", "somaxconn")
"""The numbers of a box, which the files of a comparison may vary."""


class Limits(Document):
    """The box that production gives the app; every container of a trial gets the same."""

    cpus: float = Field(1.0, gt=0, le=256, description="CPU quota, in cores")
    cpuset: str | None = Field(
        None, description="the host's CPUs that the app may use, as in 0-2,5; null: we choose"
    )
    client_cpus: int | None = Field(
        None, ge=1, le=256, description="CPUs of the load generator; null: as many as the app's"
    )
    memory_mb: int = Field(
        512, ge=16, le=1_048_576, description="hard memory limit, as of docker -m 512m; no swap"
    )
    somaxconn: int = Field(
        4096, ge=16, le=65_535, description="net.core.somaxconn of production's network namespace"
    )
    nofile: int | None = Field(
        None, ge=64, le=1 << 30, description="open files (ulimit -n); null: what the host grants"
    )
    sysctls: dict[str, StrictInt | Annotated[StrictStr, Field(max_length=100)]] = Field(
        {}, description="its other kernel settings, as in {net.ipv4.tcp_syncookies: 0}"
    )

    @model_validator(mode="after")
    def _quota_fits(self) -> Self:
        if self.cpuset is not None and len(set(self.cpu_ids)) < self.cpus:
            raise ValueError(
                f"cpuset {self.cpuset} has fewer CPUs than cpus, which is {self.cpus:g}"
            )
        return self

    @property
    def cpu_ids(self) -> tuple[int, ...]:
        """The CPUs of `cpuset`; empty without one."""
        return cpus_in(self.cpuset) if self.cpuset is not None else ()

    @model_validator(mode="before")
    @classmethod
    def _somaxconn_once(cls, given: Any) -> Any:
        """A list of sysctls may have net.core.somaxconn, as those of Compose have it."""
        sysctls = given.get("sysctls") if isinstance(given, dict) else None
        if not isinstance(sysctls, dict) or kernel.SOMAXCONN not in sysctls:
            return given
        if "somaxconn" in given:
            raise ValueError(f"give somaxconn or {kernel.SOMAXCONN}, not both")
        others = {name: value for name, value in sysctls.items() if name != kernel.SOMAXCONN}
        return {**given, "sysctls": others, "somaxconn": sysctls[kernel.SOMAXCONN]}

    @field_validator("sysctls")
    @classmethod
    def _of_a_namespace(cls, given: dict[str, kernel.Sysctl]) -> dict[str, kernel.Sysctl]:
        return kernel.settled(given)

    @property
    def kernel_settings(self) -> dict[str, kernel.Sysctl]:
        """All kernel settings of the network namespace, by their names."""
        return {kernel.SOMAXCONN: self.somaxconn, **self.sysctls}

    def with_sysctls(self, more: Mapping[str, kernel.Sysctl]) -> Self:
        """The same box with these kernel settings, which replace its own."""
        if not more:
            return self  # as it was sent: an older service does not know the field
        return self.model_copy(update={"sysctls": {**self.sysctls, **kernel.settled(more)}})
