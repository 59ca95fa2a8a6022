"""The container that delays packets, and the failure of a host that has none."""

import pytest

from tuner.bench.engine import target
from tuner.bench.engine.backing import parts_of
from tuner.bench.engine.folders import AppFolder
from tuner.bench.engine.images import Found
from tuner.nouns.model import DEFAULT_COMMAND, FailureCode, Target


def parts_sha256(**service: object) -> str:
    target = Target.model_validate(
        {
            "target_app": "shop",
            "command": DEFAULT_COMMAND,
            "memory_per_process_mb": 12,
            "services": {"postgres": {"image": "postgres:16"} | service},
        }
    )
    found = {name: Found(id=name, digest=f"sha256:{name}") for name in ("app", "postgres")}

    def no_folder(path: str) -> AppFolder:
        raise AssertionError(path)

    return parts_of(target, found, lambda image: (), no_folder).sha256


def test_data_do_not_depend_on_where_a_service_runs_nor_on_the_way_to_it() -> None:
    plain = parts_sha256()
    assert parts_sha256(runs="beside") == parts_sha256(rtt_ms=2.0) == plain
    assert parts_sha256(environment={"POSTGRES_DB": "shop"}) != plain


@pytest.mark.parametrize(
    "words",
    [
        "error gathering device information while adding custom device"
        ' "/dev/net/tun": no such file or directory',
        "FileNotFoundError: [Errno 2] No such file or directory: '/dev/net/tun'",
    ],
)
def test_a_host_without_the_device_is_named_with_what_to_do(words: str) -> None:
    failure = target.why_not(words)
    assert failure is not None
    assert failure.code == FailureCode.WORKLOAD_REFUSED
    assert "`rtt_ms: 0`" in failure.message
    assert target.why_not("cannot join network of a non running container") is None
