"""What an app needs in its container, on a real engine."""

from typing import Any

import pytest

from tests import real_bench
from tuner.bench.measurement import ArmSpec
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import Target

pytestmark = pytest.mark.docker

PLANTED = "wonderful-secret"


def arm(*lines: str, **needs: Any) -> ArmSpec:
    """The moody app with these needs."""
    target = Target.model_validate(real_bench.moody().model_dump() | needs)
    return real_bench.moody_arm(*lines, target=target)


def said(one: ArmSpec, **config: Any) -> str:
    """The last lines of a target whose app is missing."""
    with real_bench.engine(**config) as launcher, pytest.raises(TargetFailed) as failed:
        launcher.check(one)
    return failed.value.message + failed.value.log_tail


def test_the_container_has_what_the_app_needs() -> None:
    shows = "exec-pre-app = echo $MODE `id -u`:`id -g` `pwd` >&2"
    sizes = "exec-pre-app = df -k /dev/shm /scratch | tail -n 2 >&2"
    one = arm(
        "wsgi-file = absent.py",
        shows,
        sizes,
        env={"MODE": "production"},
        user="1234:1235",
        working_dir="/usr",
        tmpfs=["/scratch:size=8m"],
        shm_mb=16,
    )
    log = said(one)
    assert "production 1234:1235" in log
    assert " 16384 " in log
    assert " 8192 " in log


def test_files_are_where_the_app_looks_for_them_and_its_folders_stay_as_they_are() -> None:
    files = {"/usr/share/shop/local.py": "DEBUG = 0\n", "/app/more.txt": "more\n"}
    lines = (
        f"exec-pre-app = cat {' '.join(files)} >&2 || true",
        "exec-pre-app = stat -c 'mode %a of %n' /app /usr/share >&2",
        "wsgi-file = absent.py",
    )
    without, with_files = said(arm(*lines)), said(arm(*lines, files=files))
    assert "DEBUG = 0\nmore\n" in with_files
    assert modes_in(with_files) == modes_in(without) != []


def modes_in(log: str) -> list[str]:
    return [line for line in log.splitlines() if line.startswith("mode ")]


def test_a_secret_reaches_the_app_and_no_text() -> None:
    tells = 'exec-pre-app = test "$KEY" = wonderful-secret && echo it has $KEY >&2'
    one = arm(tells, "wsgi-file = absent.py", env={"KEY": {"from_worker": "SHOP_KEY"}})
    log = said(one, secrets={"SHOP_KEY": PLANTED})
    assert "it has ***" in log
    assert PLANTED not in log


def test_a_secret_that_the_worker_does_not_have_is_named() -> None:
    one = arm(env={"KEY": {"from_worker": "SHOP_KEY"}})
    told = "a target needs env.KEY; the worker w has no variable SHOP_KEY"
    assert told in said(one, worker="w")


def test_every_request_names_the_host_that_the_app_wants() -> None:
    one = arm(
        "route-if-not = equal:${HTTP_HOST};shop.example break:421 Misdirected",
        host_header="shop.example",
    )
    load = real_bench.oha()
    with real_bench.engine() as launcher, launcher.launch(one) as running:
        load.wait_ready(running, one.target)
