"""Who an identity provider lets in, and what their groups open."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import Field, field_validator

from tuner.nouns.errors import TunerError
from tuner.nouns.model import Scope
from tuner.nouns.model.base import Document


class Rights(Document):
    """What a group opens."""

    scope: Scope = Field(description="read, submit or admin")
    apps: tuple[str, ...] = Field((), description="globs of apps that it may change; empty: all")
    reads: tuple[str, ...] = Field((), description="globs of apps that it may read; empty: all")

    def joined(self, other: "Rights") -> "Rights":
        """What somebody in both groups may do: the higher scope, and the apps of both."""
        scope = self.scope if self.scope.includes(other.scope) else other.scope
        changing = [each for each in (self, other) if each.scope.includes(Scope.SUBMIT)]
        return Rights(
            scope=scope,
            apps=_both([each.apps for each in changing]),
            reads=_both([self.reads, other.reads]),
        )


def _both(globs: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """The globs of all; none, which is all apps, where one of them has none."""
    return tuple(dict.fromkeys(sum(globs, ()))) if all(globs) else ()


class ProviderFile(Document):
    """The file of `TUNER_OIDC_FILE`."""

    issuer: str = Field(pattern=r"^https?://\S+$", description="the provider's issuer URL")
    client_id: str = Field(min_length=1, description="of this service, as the provider knows it")
    client_secret: str = Field(min_length=1, repr=False, description="what the provider gave it")
    name: str = Field("your company's account", max_length=60, description="for the button")
    scopes: tuple[str, ...] = Field(("openid", "profile", "email"), description="to ask for")
    groups_claim: str = Field("groups", description="the claim of the ID token with the groups")
    groups: dict[str, Rights] = Field(min_length=1, description="what each group opens")

    @field_validator("scopes")
    @classmethod
    def _with_openid(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("openid", *scopes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A sign-in that has begun; the browser keeps it in a signed cookie."""

    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    then: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whom the provider has let in; `rights` are None without a group that opens anything."""

    name: str
    groups: tuple[str, ...]
    rights: Rights | None
    until: float  # seconds since 1970: the end of the ID token


class NotLetIn(TunerError):
    """The provider refuses somebody, or its answer cannot be trusted."""


class IdentityProvider(Protocol):
    """`tuner.service.api.oidc.Provider` says what each method does."""

    file: ProviderFile

    def begin(self, back: str, then: str) -> tuple[str, Flow]: ...
    def finish(self, flow: Flow, back: str, query: Mapping[str, str]) -> Person: ...
