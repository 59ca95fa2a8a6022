"""What the engine has to be told: plain values, read from the settings by `bootstrap`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How this host runs targets.

    `instance` tells our containers from those of another service on the same engine. `cache_dir`
    keeps what uWSGI says of itself, by image, across processes; None keeps it in memory only.
    `journey_image` is used in place of `load_image`, on top of which it is made, where the engine
    has it. `generator_files` are in the generator's container, by absolute path, when it starts.
    """

    instance: str
    base_image: str  # handed to every target app's Dockerfile as BASE_IMAGE
    load_image: str
    journey_image: str | None = None
    generator_files: Mapping[str, bytes] = field(default_factory=dict)
    build_network: str = "host"  # a build needs the package index, not isolation
    stats_address: str = "127.0.0.1:61717"  # of uWSGI's stats, inside the target's namespace
    cache_dir: Path | None = None
    nofile: int = 65_536  # lowered to the engine's own hard limit where that is smaller
    pids_limit: int = 4096
    generator_memory_mb: int = 768
    generator_shm_mb: int = 256  # of its memory: rows of requests, nginx's log
    check_timeout_s: float = 60.0  # for uWSGI to load the app once
    keep_images_s: float = 86_400.0  # of an app's older states: another checkout may use them
    extra_sysctls: Mapping[str, str] = field(default_factory=dict)  # of the target's namespace
    cgroup_root: Path = Path("/sys/fs/cgroup")  # as this process sees it, if it does
