"""The engine's own settings, as plain values; `bootstrap` fills them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

BUILD_NETWORK = "uwsgi-tuner-build"
"""A bridge that only builds use: they reach the package index, and no service on loopback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How this host runs targets.

    `instance` marks our containers among those of other services on the same engine, and `worker`
    is the name that these services see while this one measures. `cache_dir`
    keeps each image's build info across processes; None keeps it in memory only. `journey_image`
    is made on top of `load_image` and replaces it if the engine has it. `generator_files` are, by
    absolute path, in the generator's container when it starts, and in the one that delays packets,
    which runs `delay_command`. `secrets` are those that targets may
    get: variables by name, and files as app/file.
    """

    instance: str
    worker: str = "unnamed"
    base_image: str  # BASE_IMAGE in every target app's Dockerfile
    load_image: str
    journey_image: str | None = None
    generator_files: Mapping[str, bytes] = field(default_factory=dict)
    delay_command: tuple[str, ...] = ()
    build_network: str = BUILD_NETWORK
    stats_address: str = "127.0.0.1:61717"  # of uWSGI's stats, inside the target's namespace
    cache_dir: Path | None = None
    nofile: int = 65_536  # at most the engine's own hard limit
    pids_limit: int = 4096
    generator_memory_mb: int = 768
    generator_waiting_mb: int = 64  # of it, while another arm has the load
    generator_shm_mb: int = 256  # part of its memory: rows of requests, nginx's log
    disk_mb: int = 1024  # that a target may write to disk
    service_disk_mb: int = 4096  # that a service may: PostgreSQL's own log alone takes 1 GB
    check_timeout_s: float = 60.0  # for uWSGI to load the app once
    service_ready_s: float = 120.0  # for a service to pass its healthcheck
    fetch_timeout_s: float = 1800.0  # for one pull or one build
    least_free_mb: int = 1024  # that stay free on Docker's disk
    images_kept_gb: float = 20.0  # of the images that we pulled and built
    images_allowed: tuple[str, ...] = ()  # globs of registry/repository; none: all images
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_sysctls: Mapping[str, str] = field(default_factory=dict)  # of the target's namespace
    cgroup_root: Path = Path("/sys/fs/cgroup")  # may be missing for this process


# ---- The labels of our containers, to find them again
#
# An image may carry any label, and a container of anybody's has those of its image. So a label
# alone proves nothing: what we remove has a name too that only we give, and the images of a state
# are those that its volume names.

MINE = "tuner"
INSTANCE = "tuner.instance"
JOB = "tuner.job"
MEASUREMENT = "tuner.bench.measurement"
STATE = "tuner.state"  # the job whose arms start with it
STATE_KEY = "tuner.state.key"
PART = "tuner.state.part"
IMAGES = "tuner.state.images"  # on the last volume of a state: its images by part, as JSON
COPY_OF = "tuner.state.copy_of"  # the volume of a state that an arm's volume was copied from
GUARD = "tuner.guard"  # the worker that has the machine's lock; no reap removes it


STATE_IMAGES = "uwsgi-tuner/state"
"""The repository of the images that a state has."""

_NAMES = "^/tuner-[0-9a-f]{12}$"


def new_name() -> str:
    """The name of a container, a network or a volume of ours.

    All have one length: uWSGI's speed depends on the size of its environment.
    """
    return f"tuner-{secrets.token_hex(6)}"


def of_instance(instance: str) -> dict[str, str]:
    """The labels of every container of one service."""
    return {MINE: "1", INSTANCE: instance}


def our_containers(labels: Mapping[str, str]) -> dict[str, list[str]]:
    """The filter for containers that carry all of `labels`, and a name that we gave them."""
    return {**query(labels), "name": [_NAMES]}


def our_images(labels: Mapping[str, str]) -> dict[str, list[str]]:
    """The filter for images of states that carry all of `labels`."""
    return {**query(labels), "reference": [STATE_IMAGES]}


def query(labels: Mapping[str, str]) -> dict[str, list[str]]:
    """The filter for what carries all of `labels`."""
    return {"label": [f"{name}={value}" for name, value in labels.items()]}
