"""Images on the real engine: pulled from a registry on loopback, built, called off, removed."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import docker
import pytest

from tests import real_bench
from tests.registry import Registry, registry
from tuner.bench.engine import EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.images import Images
from tuner.nouns.errors import Aborted, Infrastructure, TargetFailed
from tuner.nouns.model import DEFAULT_COMMAND, FailureCode, Target

pytestmark = pytest.mark.docker

CONFIG = EngineConfig(
    instance="test-images", base_image=real_bench.BASE_IMAGE, load_image=real_bench.LOAD_IMAGE
)


@contextmanager
def images_of(folder: Path | None = None, **overrides: Any) -> Iterator[Images]:
    """Images whose target apps lie in `folder`."""
    connection = Connection()
    try:
        yield Images(connection, replace(CONFIG, **overrides), (folder or Path()).joinpath)
    finally:
        connection.close()


@pytest.fixture
def served() -> Iterator[Registry]:
    """A registry; nothing of it stays on the engine."""
    with registry() as serving:
        yield serving
        client = docker.APIClient(version="auto")
        for found in client.images(all=True):
            names = [*(found["RepoTags"] or ()), *(found["RepoDigests"] or ())]
            if any(name.startswith(serving.address) for name in names):
                client.remove_image(found["Id"], force=True)
        client.close()


def target(**source: str) -> Target:
    return Target(
        port=8000,
        health_path="/",
        command=DEFAULT_COMMAND,
        thread_safe=False,
        memory_per_process_mb=12,
        **source,
    )


def is_here(reference: str) -> bool:
    with Connection().api() as api:
        found = bool(api.images(name=reference))
        api.close()
    return found


def app_that(folder: Path, *lines: str, name: str = "work-in-progress") -> Target:
    """A target app with these lines in its Dockerfile."""
    (folder / name).mkdir(exist_ok=True)
    dockerfile = ("ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", *lines)
    (folder / name / "Dockerfile").write_text("\n".join(dockerfile))
    return target(target_app=name)


def called_off(
    find: Callable[[Callable[[], bool]], object], has_begun: Callable[[], object]
) -> float:
    """Seconds that `find` runs on after it was called off, in the middle."""
    since: list[float] = []

    def aborted() -> bool:
        if not since and has_begun():
            since.append(time.monotonic())
        return bool(since)

    with pytest.raises(Aborted):
        find(aborted)
    return time.monotonic() - since[0]


def test_an_image_is_pulled_once_and_named_by_its_digest(served: Registry) -> None:
    digest, name = served.put("1", "one"), f"{served.address}/shop/cart:1"
    with images_of() as images:
        first = images.find(target(image=name))
        asked = len(served.asked)
        assert images.find(target(image=name)) == first
    assert first.digest == f"{served.address}/shop/cart@{digest}"
    assert len(served.asked) == asked


def test_a_tag_that_moves_does_not_change_what_a_job_measures(served: Registry) -> None:
    served.put("1", "one")
    moving = target(image=f"{served.address}/shop/cart:1")
    with images_of() as images:
        resolved = images.find(moving)
        served.put("1", "two")
        with images.connection.api() as api:
            api.remove_image(resolved.id, force=True)  # so this is a second host
        assert images.find(moving).digest != resolved.digest
        assert images.find(moving, resolved.digest) == resolved


def test_a_build_reaches_no_service_on_the_loopback_of_the_host(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as service:
        port = service.getsockname()[1]
        reach = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        app = app_that(tmp_path, f'RUN python3 -c "{reach}"')
        with images_of(tmp_path) as images, pytest.raises(TargetFailed, match="non-zero code"):
            images.find(app)
        with images_of(tmp_path, build_network="host") as images:
            assert images.find(app).id


def test_a_digest_that_cannot_be_had_is_the_hosts_fault(served: Registry) -> None:
    served.put("1", "one")
    absent = f"{served.address}/shop/cart@sha256:{'0' * 64}"
    with images_of() as images, pytest.raises(Infrastructure, match=f"cannot have {absent}"):
        images.find(target(image=f"{served.address}/shop/cart:1"), absent)


def test_a_local_image_that_is_built_anew_is_refused_with_both_identities(tmp_path: Path) -> None:
    app = app_that(tmp_path, "RUN echo one > /one")
    with images_of(tmp_path) as images:
        first = images.find(app)
        second = app_that(tmp_path, "RUN echo two > /two")
        with pytest.raises(Infrastructure) as refused:
            images.find(second, first.digest)
        now = images.find(second)
        with images.connection.api() as api:
            api.remove_image(first.id)
            api.remove_image(now.id)
    assert first.digest in str(refused.value)
    assert now.digest in str(refused.value)


def test_the_name_of_now_needs_neither_a_build_nor_a_pull(served: Registry, tmp_path: Path) -> None:
    served.put("1", "one")
    pulled, app = target(image=f"{served.address}/shop/cart:1"), app_that(tmp_path, "RUN true")
    with images_of(tmp_path) as images:
        assert images.named(pulled) is None
        assert not served.asked
        promised = images.named(app)
        built = images.find(app)
        assert images.named(pulled) != images.find(pulled).digest
        assert images.named(pulled) == images.find(pulled).digest
        app_that(tmp_path, "RUN echo another")
        changed = images.named(app)
        with images.connection.api() as api:
            api.remove_image(built.id)
    assert promised == built.digest
    assert changed not in (promised, None)


def test_a_pull_that_is_called_off_ends_on_the_engine_too(served: Registry) -> None:
    served.put("1", "one")
    served.is_stuck = True
    stuck = target(image=f"{served.address}/shop/cart:1")
    with images_of() as images:
        assert called_off(lambda aborted: images.find(stuck, aborted=aborted), served.is_asked) < 10
    assert served.gave_up.wait(30)


def test_killing_a_measurement_ends_its_pull(served: Registry) -> None:
    served.put("1", "one")
    served.is_stuck = True
    with real_bench.engine() as engine, ThreadPoolExecutor() as pool:
        launcher = engine.for_measurement("1", "7")
        pulling = pool.submit(launcher.inspect, target(image=f"{served.address}/shop/cart:1"))
        while not served.is_asked():
            time.sleep(0.02)
        launcher.kill_measurement("7")
        assert isinstance(pulling.exception(timeout=10), Aborted)


def test_a_pull_has_a_deadline(served: Registry) -> None:
    served.put("1", "one")
    served.is_stuck = True
    too_late = pytest.raises(TargetFailed, match=r"took over 15 s")
    # Long enough for a busy engine to have asked for the layer, so that there is one to give up.
    with images_of(fetch_timeout_s=15) as images, too_late as failed:
        images.find(target(image=f"{served.address}/shop/cart:1"))
    assert failed.value.code == FailureCode.IMAGE_MISSING
    assert served.gave_up.wait(30)


def test_a_build_that_is_called_off_ends_on_the_engine_too(tmp_path: Path) -> None:
    mark = f"sleep 61{os.getpid()}"
    app = app_that(tmp_path, f"RUN {mark}")
    with images_of(tmp_path) as images:
        begun = partial(sleeping, mark)
        assert called_off(lambda aborted: images.find(app, aborted=aborted), begun) < 10
        until = time.monotonic() + 30
        while (left := sleeping(mark)) and time.monotonic() < until:
            time.sleep(0.1)
    assert left == []


def sleeping(mark: str) -> list[str]:
    """Containers that run the command."""
    with Connection().api() as api:
        found = [each["Id"] for each in api.containers() if mark in each["Command"]]
        api.close()
    return found


def test_nothing_is_fetched_onto_an_almost_full_disk(served: Registry) -> None:
    served.put("1", "one")
    refused = pytest.raises(Infrastructure, match=r"MB are left on Docker's disk")
    with images_of(least_free_mb=10**9) as images, refused:
        images.find(target(image=f"{served.address}/shop/cart:1"))
    assert served.asked == []


def test_a_failed_pull_does_not_repeat_what_the_address_answered(served: Registry) -> None:
    served.secret = b"root:$6$secret\n"
    with images_of() as images, pytest.raises(TargetFailed) as failed:
        images.find(target(image=f"{served.address}/shop/cart:1"))
    assert served.asked
    assert "secret" not in failed.value.message + failed.value.log_tail
    assert "the registry's answer is none that Docker understands" in failed.value.message


def test_the_images_beyond_the_bound_go_by_last_use(served: Registry, tmp_path: Path) -> None:
    for tag in ("theirs", "1", "2", "3"):
        served.put(tag, tag * 1000)
    name = f"{served.address}/shop/cart"
    with images_of(cache_dir=tmp_path, images_kept_gb=2.5e-6) as images:  # 2.5 kB: two of them
        with images.connection.api() as api:
            api.pull(name, tag="theirs")
        for tag in ("theirs", "1", "2", "1", "3"):
            images.find(target(image=f"{name}:{tag}"))
            time.sleep(0.02)
    assert {tag for tag in ("theirs", "1", "2", "3") if is_here(f"{name}:{tag}")} == {
        *("theirs", "1", "3")
    }


def test_an_image_with_a_container_stays(served: Registry, tmp_path: Path) -> None:
    served.put("1", "one")
    served.put("2", "two")
    served.put("3", "three")
    name = f"{served.address}/shop/cart"
    with images_of(cache_dir=tmp_path, images_kept_gb=0) as images:
        used = images.find(target(image=f"{name}:1"))
        with images.connection.api() as api:
            container = api.create_container(used.id)["Id"]
            images.find(target(image=f"{name}:2"))
            assert is_here(f"{name}:1")
            api.remove_container(container)
        images.find(target(image=f"{name}:3"))
    assert not is_here(f"{name}:1")


def test_the_base_of_target_apps_stays(served: Registry, tmp_path: Path) -> None:
    served.put("base", "one")
    served.put("2", "two")
    name = f"{served.address}/shop/cart"
    base = f"{name}:base"
    with images_of(cache_dir=tmp_path, images_kept_gb=0, base_image=base) as images:
        for tag in ("base", "2"):
            images.find(target(image=f"{name}:{tag}"))
    assert is_here(f"{name}:base")
