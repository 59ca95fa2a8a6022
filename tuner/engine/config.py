"""What the engine has to be told: plain values, read from the settings by `bootstrap`."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How this host runs targets.

    `instance` tells our containers from those of another service on the same engine. `cache_dir`
    keeps what uWSGI says of itself, by image, across processes; None keeps it in memory only.
    """

    instance: str
    base_image: str  # handed to every target app's Dockerfile as BASE_IMAGE
    load_image: str
    build_network: str = "host"  # a build needs the package index, not isolation
    stats_address: str = "127.0.0.1:61717"  # of uWSGI's stats, inside the target's namespace
    cache_dir: Path | None = None
    nofile: int = 65_536  # lowered to the engine's own hard limit where that is smaller
    pids_limit: int = 4096
    generator_memory_mb: int = 512
    check_timeout_s: float = 60.0  # for uWSGI to load the app once
    cgroup_root: Path = Path("/sys/fs/cgroup")  # as this process sees it, if it does
