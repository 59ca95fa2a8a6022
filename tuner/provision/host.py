"""Facts about this machine, decided once and passed to every step."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_CA_BUNDLES = (  # Debian, Fedora, SUSE, others
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_APT_SOURCES = ("sources.list.d/debian.sources", "sources.list.d/ubuntu.sources", "sources.list")


@dataclass(frozen=True)
class Host:
    """What decides which steps are possible.

    `distribution` is os-release's ID and ID_LIKE, `suite` its codename; both empty outside Linux.
    `ca_bundle` holds the certificates this machine trusts; images need the same ones where a
    network inspects TLS.
    `apt_sources` is the distribution's own source list, without third parties.
    """

    system: str
    distribution: frozenset[str]
    suite: str
    is_root: bool
    has_systemd: bool
    docker_host: str | None
    cache: Path
    ca_bundle: Path | None
    apt_sources: Path | None

    @property
    def is_debian(self) -> bool:
        return bool(self.distribution & {"debian", "ubuntu"})

    @property
    def can_apt(self) -> bool:
        """Whether we may install packages; anything else is a change that its owner has to make."""
        return self.is_debian and self.is_root

    @property
    def trust(self) -> Mapping[str, str]:
        """Environment that makes uv, pip and cargo trust what this machine trusts."""
        if self.ca_bundle is None:
            return {}
        bundle = str(self.ca_bundle)
        return {"SSL_CERT_FILE": bundle, "PIP_CERT": bundle, "CARGO_HTTP_CAINFO": bundle}


def detect(environment: Mapping[str, str], root: Path = Path("/")) -> Host:
    """Read the facts; `root` is the file system to look at."""
    release = _os_release(root / "etc/os-release")
    return Host(
        system=platform.system(),
        distribution=frozenset([release.get("ID", ""), *release.get("ID_LIKE", "").split()]) - {""},
        suite=release.get("VERSION_CODENAME", ""),
        is_root=os.geteuid() == 0,
        has_systemd=(root / "run/systemd/system").is_dir(),
        docker_host=environment.get("DOCKER_HOST") or None,
        cache=_cache(environment),
        ca_bundle=_ca_bundle(environment, root),
        apt_sources=_apt_sources(root / "etc/apt"),
    )


def _os_release(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    pairs = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    return {key: "".join(shlex.split(value)[:1]) for key, value in pairs}


def _cache(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "uwsgi-tuner"


def _ca_bundle(environment: Mapping[str, str], root: Path) -> Path | None:
    named = environment.get("SSL_CERT_FILE")
    candidates = [Path(named)] if named else []
    candidates += [root / bundle.lstrip("/") for bundle in _CA_BUNDLES]
    return next((path for path in candidates if path.is_file() and path.stat().st_size), None)


def _apt_sources(apt: Path) -> Path | None:
    candidates = (apt / name for name in _APT_SOURCES)
    return next((path for path in candidates if path.is_file() and _names_a_source(path)), None)


def _names_a_source(path: Path) -> bool:
    return any(line.startswith(("deb ", "Types:")) for line in path.read_text().splitlines())
