"""Addresses as uWSGI reads them: `:8000`, `127.0.0.1:8000`, `/run/app.sock`, `@name`."""

import re
from dataclasses import dataclass

_TCP = re.compile(r"([^:/]*|\[[0-9a-fA-F:]*\]):([0-9]{1,5})")
_ANY_HOST = frozenset({"", "0.0.0.0", "[::]"})  # noqa: S104  # read, not bound


@dataclass(frozen=True, slots=True)
class Address:
    """Either `host` and `port`, or the `path` of a unix socket; `@` in front is abstract."""

    host: str = ""
    port: int | None = None
    path: str = ""

    @property
    def is_any_host(self) -> bool:
        """Whether uWSGI binds it on every interface."""
        return self.port is not None and self.host in _ANY_HOST

    def clashes(self, other: "Address") -> bool:
        """Whether uWSGI cannot bind both."""
        if self.port is None or other.port is None:
            return bool(self.path) and self.path == other.path
        same_host = self.host == other.host or self.is_any_host or other.is_any_host
        return same_host and self.port == other.port != 0


def address_of(value: str) -> Address | None:
    """The address in a value; None for the number of a shared socket or a name."""
    found = _TCP.fullmatch(value.strip())
    if found:
        return Address(host=found[1], port=int(found[2]))
    if value.startswith(("/", "@", "./")):
        return Address(path=value)
    return None
