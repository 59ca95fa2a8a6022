"""Keys, who sends a request with them, and what they have changed."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict, Field

from tuner.nouns.model.measuring import JobId


class Scope(StrEnum):
    """What a key opens. Each scope includes those before it."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"

    def includes(self, other: "Scope") -> bool:
        """Whether a key of this scope may do what needs the other."""
        order = list(Scope)
        return order.index(self) >= order.index(other)


class Key(BaseModel):
    """A key without its secret, which is nowhere: the service keeps its hash."""

    model_config = ConfigDict(frozen=True)

    id: int = Field(description="the key's number, to revoke it")
    name: str = Field(description="who uses it; two keys may share a name while one replaces one")
    scope: Scope = Field(description="read; submit: and change; admin: and delete")
    apps: tuple[str, ...] = Field(
        (), description="it may change only these apps and their jobs (globs); empty: all"
    )
    reads: tuple[str, ...] = Field(
        (), description="it may read only these apps and their jobs (globs); empty: all"
    )
    created_at: datetime = Field(description="when it was made")
    expires_at: datetime | None = Field(description="when it ends by itself; null: never")

    @property
    def what(self) -> str:
        """Who may do what with it, for a person."""
        changes = f" for {', '.join(self.apps)}" if self.apps else ""
        reads = f", reads {', '.join(self.reads)}" if self.reads else ""
        return f"{self.name}, {self.scope}{changes}{reads}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request."""

    name: str | None  # None: the service asks for no key
    scope: Scope
    key: int | None = None  # the number of a stored key
    key_name: str = ""  # of the key, whatever name somebody signed in with; empty: no key
    apps: tuple[str, ...] = ()  # globs of those that it may change; empty: all
    reads: tuple[str, ...] = ()  # ... that it may read

    def seen_as(self, person: str) -> "Caller":
        """Somebody who has signed in with this key under a name, or without one."""
        return replace(self, name=f"{person} ({self.name})") if person else self

    def may_change(self, app: str) -> bool:
        """Whether it may submit, finish, cancel, share and delete jobs of the app."""
        is_theirs = not self.apps or any(fnmatchcase(app, glob) for glob in self.apps)
        return is_theirs and self.scope.includes(Scope.SUBMIT)


ANYBODY = Caller(name=None, scope=Scope.ADMIN)
"""The caller of a service without a key."""


def too_many_waiting(by_key: str, most: int) -> str:
    """Why a job is refused."""
    has = f"{by_key} has" if by_key else "there are"
    jobs = f"{most} job{'s' * (most != 1)}"
    allowed = "the service allows no more (TUNER_JOBS_WAITING)"
    return f"{has} {jobs} that wait, and {allowed}: wait, or cancel one"


class Action(StrEnum):
    """What was changed, or denied."""

    SUBMIT = "submit"
    CANCEL = "cancel"
    FINISH = "finish"
    DELETE = "delete"
    SHARE = "share"
    UNSHARE = "unshare"
    CREATE_KEY = "create_key"
    REVOKE_KEY = "revoke_key"
    DRAIN = "drain"
    RESUME = "resume"
    SIGN_IN = "sign_in"
    DENY = "deny"  # a wrong key, or a request beyond what a key opens
    CHECK = "check"
    PRUNE = "prune"
    DUMP = "dump"
    RESTORE = "restore"


class AuditEntry(BaseModel):
    """One change that somebody made."""

    model_config = ConfigDict(frozen=True)

    id: int = Field(description="grows with time")
    at: datetime = Field(description="when it was made")
    who: str | None = Field(description="the key's name; null: the service asked for none")
    action: Action = Field(description="what was changed")
    job: int | None = Field(description="the job, which may be deleted; null: none")
    said: str = Field(description="what else is to say, such as the name of a key")


# ---- A link to one job for somebody without the key

MOST_LINKS = 20
"""Links of one job at the same time."""


class Link(BaseModel):
    """Shows one job, read-only, until it is revoked. Its address cannot be read again."""

    model_config = ConfigDict(frozen=True)

    id: int = Field(description="the link's number, to revoke it")
    job: JobId = Field(description="the job that it shows")
    created_at: datetime = Field(description="when it was made")
    expires_at: datetime | None = Field(description="when it ends by itself; null: never")
