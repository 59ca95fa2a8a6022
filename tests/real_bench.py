"""The real engine, with a moody target app, for the tests that are marked `docker`."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
from docker.utils import kwargs_from_env

from tuner.bench.engine import DockerLauncher, EngineConfig
from tuner.bench.engine.config import new_name
from tuner.bench.load import DELAY_COMMAND, Generators, Oha, probe_files
from tuner.bench.measurement import ArmSpec
from tuner.nouns.model import DEFAULT_COMMAND, Limits, Target

BASE_IMAGE = "uwsgi-tuner/base:2.0.31"
LOAD_IMAGE = "uwsgi-tuner/load:1.16.0"
APPS = Path(__file__).parent / "bench_apps"
READY_TIMEOUT_S = 8.0
STATS_ADDRESS = "127.0.0.1:61718"

MOODY_INI = """[uwsgi]
http-socket = :8000
chdir = /app
wsgi-file = app.py
master = true
processes = 2
die-on-term = true
"""


@contextmanager
def engine(
    apps: Callable[[str], Path] = APPS.joinpath, **overrides: Any
) -> Iterator[DockerLauncher]:
    """A launcher of an instance of its own; fails where it left a container or volume behind."""
    instance = f"test-{uuid.uuid4().hex[:8]}"
    config = EngineConfig(
        instance=instance,
        base_image=BASE_IMAGE,
        load_image=LOAD_IMAGE,
        generator_files=probe_files(),
        delay_command=DELAY_COMMAND,
        stats_address=STATS_ADDRESS,
        **overrides,
    )
    launcher = DockerLauncher(config, apps)
    try:
        yield launcher
        left = containers_of(instance) + volumes_of(instance)
        assert left == [], f"left behind: {left}"
    finally:
        launcher.reap()
        launcher.close()


def containers_of(instance: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Ids of all containers of an instance, running or not.

    It asks the engine that `environ` names, by itself.
    """
    client = docker.APIClient(version="auto", **kwargs_from_env(environment=environ))
    try:
        filters = {"label": f"tuner.instance={instance}"}
        return [found["Id"] for found in client.containers(all=True, filters=filters)]
    finally:
        client.close()


def volumes_of(instance: str) -> list[str]:
    """Names of all volumes of an instance."""
    client = docker.APIClient(version="auto", **kwargs_from_env())
    try:
        filters = {"label": f"tuner.instance={instance}"}
        return [found["Name"] for found in client.volumes(filters=filters)["Volumes"] or ()]
    finally:
        client.close()


def everything_of(instance: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """All containers, networks, volumes and images of an instance, by kind and id."""
    return everything_with(f"tuner.instance={instance}", environ)


def everything_with(label: str, environ: Mapping[str, str]) -> list[str]:
    """All containers, networks, volumes and images with a label, by kind and id."""
    client = docker.APIClient(version="auto", **kwargs_from_env(environment=environ))
    mine = {"label": label}
    try:
        found = {
            "container": client.containers(all=True, filters=mine),
            "network": client.networks(filters=mine),
            "volume": client.volumes(filters=mine)["Volumes"] or (),
            "image": client.images(filters=mine),
        }
    finally:
        client.close()
    return sorted(
        f"{kind} {each.get('Id') or each['Name']}" for kind, all_ in found.items() for each in all_
    )


def create_only(launcher: DockerLauncher, measurement: str) -> None:
    """What a crash between creating and starting leaves behind."""
    labels = {"tuner.instance": launcher.instance, "tuner.bench.measurement": measurement}
    client = docker.APIClient(version="auto", **kwargs_from_env())
    try:
        labels = {"tuner": "1", **labels}
        client.create_container(LOAD_IMAGE, ["true"], name=new_name(), labels=labels)
    finally:
        client.close()


def generators() -> Generators:
    """What the product itself drives load with: oha, and k6 where that cannot."""
    return Generators(stats_address=STATS_ADDRESS, ready_timeout_s=READY_TIMEOUT_S)


def oha() -> Oha:
    """The load generator for `engine()`'s targets."""
    return Oha(stats_address=STATS_ADDRESS, ready_timeout_s=READY_TIMEOUT_S)


def moody(health_path: str = "/", port: int = 8000) -> Target:
    """The moody app."""
    return Target(
        target_app="moody",
        port=port,
        health_path=health_path,
        command=DEFAULT_COMMAND,
        thread_safe=True,
        memory_per_process_mb=12,
    )


def moody_arm(
    *lines: str, index: int = 0, target: Target | None = None, limits: Limits | None = None
) -> ArmSpec:
    """The moody app with further lines in its file."""
    return ArmSpec(
        index=index,
        ini=MOODY_INI + "".join(f"{line}\n" for line in lines),
        target=target or moody(),
        limits=limits or Limits(cpus=1.0, memory_mb=256),
    )
