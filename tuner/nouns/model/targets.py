"""What is measured: an app in its container, as people describe it and as a host starts it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from croniter import croniter
from pydantic import BeforeValidator, Field, field_validator, model_validator

from tuner.nouns.model.base import Document, Name, about
from tuner.nouns.model.http_requests import UrlPath
from tuner.nouns.model.limits import Limits
from tuner.nouns.model.needs import File, FromFile, ImageText, Needs
from tuner.nouns.model.objectives import Scalar
from tuner.nouns.model.services import Backed
from tuner.nouns.model.workloads import ClosedLoop, Workload
from tuner.nouns.plain import Danger

# ---- What is known of a user's file before anything is measured with it


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A line of a file that trials leave out; the recommended file still has it."""

    option: Annotated[str, about("in the file's spelling")]
    line: Annotated[int, about("of the file, from 1")]
    danger: Annotated[Danger, about("what the option may do; `allow` of the request permits it")]
    file: Annotated[str, about("the file of a comparison; empty: there is only one")] = ""


@dataclass(frozen=True, kw_only=True)
class PreflightFinding:
    """Something odd about a file. It can be measured nevertheless."""

    rule: Annotated[
        str, about("a rule of `tuner lint`; or strict, which uWSGI refuses; or runs-anyway")
    ]
    severity: Annotated[str, about("error, warning or note")]
    line: Annotated[int | None, about("of the file, from 1; null: the file as a whole")]
    message: Annotated[str, about("what is odd")]
    file: Annotated[str, about("the file of a comparison; empty: there is only one")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What a host saw before the first trial.

    `somaxconn` is net.core.somaxconn as uWSGI reads it inside; None where it could not be read.
    """

    somaxconn: int | None = None
    findings: tuple[PreflightFinding, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def options_of(left_out: Sequence[LeftOut]) -> str:
    """`attach-daemon, cron and exec-asap`, each once; empty for none."""
    names = list(dict.fromkeys(line.option for line in left_out))
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


# ---- When an app is tuned again by itself, and the answer that such a job follows

LATE_BY = timedelta(hours=6)
"""A time of a schedule that no worker saw is made up for within this."""


class Schedule(Document):
    """The times at which an app is looked at: is there a reason to tune it again?"""

    cron: str = Field(description="minute, hour, day, month, weekday, in UTC; 0 2 * * *: at 02:00")
    older_than_days: float = Field(
        30, gt=0, le=3650, description="tune again when the last answer is older"
    )

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, cron: str) -> str:
        if len(cron.split()) != 5:
            raise ValueError(f"{cron!r} has not the five fields of cron: give such as '0 2 * * *'")
        try:
            croniter(cron).get_next()
        except ValueError as error:
            raise ValueError(f"{cron!r} is no cron: {error}; give such as '0 2 * * *'") from error
        return cron

    def due(self, now: datetime) -> datetime | None:
        """The newest time that has come; None if it is more than `LATE_BY` ago."""
        whole = now.astimezone(UTC).replace(second=1, microsecond=0)
        newest: datetime = croniter(self.cron, whole).get_prev(datetime)
        return newest if now - newest <= LATE_BY else None

    def following(self, now: datetime) -> datetime:
        """The first time after `now`."""
        found: datetime = croniter(self.cron, now.astimezone(UTC)).get_next(datetime)
        return found


def _as_document(given: Any) -> Any:
    return {"cron": given} if isinstance(given, str) else given


Scheduled = Annotated[Schedule | None, BeforeValidator(_as_document)]
"""A schedule, or its cron alone."""


class Followed(Document):
    """The earlier answer that a job of a schedule is about: does it still hold?"""

    job: int
    params: dict[str, Scalar]
    uwsgi_ini: str  # the recommended file
    limits: Limits  # the box that it relies on


class _Serving(Needs, Backed):
    """How an app is reached, what its code allows, and what it needs."""

    port: int = Field(8000, ge=1, le=65_535, description="the port of the app in its container")
    host_header: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9._:\[\]-]{1,255}$",
        description="of every request without one; null: 127.0.0.1 with the port",
    )
    health_path: UrlPath = Field("/", description="answers 2xx once the app is ready")
    thread_safe: bool = Field(False, description="false: threads stay 1")
    gevent_ok: bool = Field(False, description="the image has gevent and the code supports it")
    ini_path: File | None = Field(
        None,
        description="the trial's file replaces this one, and the image's own ENTRYPOINT and CMD"
        " run; null: the command has {ini}",
    )

    @model_validator(mode="after")
    def _one_start(self) -> Self:
        given = "command" in self.model_fields_set and getattr(self, "command", None)
        if self.ini_path is not None and given:
            raise ValueError("with ini_path the image's own command runs: leave command out")
        return self

    @property
    def secret_files(self) -> set[str]:
        """The files beside target.yaml that hold secrets of the app and its services."""
        needs: list[Needs] = [self, *self.services.values()]
        sources = [source for each in needs for source in each.secrets.values()]
        return {source.file for source in sources if isinstance(source, FromFile)}


class TargetRequest(_Serving):
    """What to tune: a described target app by name, or any image."""

    target_app: str | None = Field(None, description="name of a described target app")
    image: ImageText | None = Field(None, description="a container image with uWSGI and the app")
    command: tuple[str, ...] | None = Field(
        None, description="starts uWSGI; {ini} stands for the trial's file"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.target_app is None) == (self.image is None):
            raise ValueError("give either target_app or image")
        if self.target_app is not None and self.model_fields_set - {"target_app"}:
            raise ValueError(
                "a target_app brings its own port, path and command; give image instead"
            )
        if self.image is not None:
            self.refuse_builds()
            self.refuse_copies()
        if self.secret_files:
            raise ValueError(
                f"secrets in {', '.join(sorted(self.secret_files))}: an app by image has no folder"
                " on the benchmark host; give {from_worker: NAME}"
            )
        return self


Allowed = Annotated[
    tuple[Danger, ...],
    Field(
        max_length=len(Danger),
        description="what options of the file may do besides serving; trials leave out all others",
    ),
]


DEFAULT_COMMAND = ("uwsgi", "--ini", "{ini}")


def reads_ini(command: Sequence[str]) -> bool:
    """Whether a command starts uWSGI with the file of a trial."""
    return any("{ini}" in word for word in command)


class TargetApp(_Serving):
    """`target_apps/<name>/target.yaml`."""

    name: Name
    description: str
    build: str | None = None
    image: ImageText | None = None
    uwsgi_ini: str = "uwsgi.ini"
    command: tuple[str, ...] = DEFAULT_COMMAND
    memory_per_process_mb: int = Field(32, ge=1, description="rough; measured before the search")
    limits: Limits = Limits()
    workload: Workload = ClosedLoop()
    schedule: Scheduled = Field(None, description="when to tune it again by itself; null: never")

    @field_validator("command")
    @classmethod
    def _names_the_ini(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if not reads_ini(command):
            raise ValueError("one word must hold {ini}, or the trial's file would not be read")
        return command

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.build is None) == (self.image is None):
            raise ValueError("give either build (a folder with a Dockerfile) or image")
        if self.image is not None:
            self.refuse_builds()
        return self


class Target(_Serving):
    """What a benchmark host needs to start an app.

    Without an `image`, the host builds that of `target_app` on first use. It reads secrets and
    folders to copy beside that app's target.yaml: all hosts of a pool have the same target apps.
    """

    target_app: str | None = Field(None, description="name of the described target app")
    image: str | None = Field(None, description="null: the image is built from the target app")
    command: tuple[str, ...] = Field(
        description="starts uWSGI; {ini} stands for the file; empty: the image's own"
    )
    memory_per_process_mb: int = Field(description="rough; measured before the search")

    @property
    def name(self) -> str:
        """What a person would call it."""
        return self.image or self.target_app or "unnamed"

    @property
    def is_uwsgi(self) -> bool:
        """Whether it runs the file of its arm; else it is another server."""
        return self.ini_path is not None or reads_ini(self.command)
