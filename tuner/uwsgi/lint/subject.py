"""What is looked at: a file, and as much as is known of where it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options.catalogue import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Where the file will run; None for what nobody said: rules about it then keep silent.

    `command` is the image's ENTRYPOINT and CMD in one, or the job's own command; `environ` the
    image's environment. `memory_per_process_mb` is measured or guessed.
    """

    cpus: float | None = None
    memory_mb: int | None = None
    somaxconn: int | None = None
    nofile: int | None = None
    memory_per_process_mb: float | None = None
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """All that a rule may look at."""

    ini: IniFile
    catalogue: Catalogue
    box: Box = Box()
