"""The kernel settings and open files of an arm, read inside its namespaces on a real engine."""

from collections.abc import Iterator, Mapping

import pytest

from tests import real_bench
from tuner.bench.engine import DockerLauncher
from tuner.bench.engine.target import DockerTarget
from tuner.bench.measurement import ArmSpec
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import FailureCode, Limits
from tuner.nouns.model.limits import OF_A_NAMESPACE, OF_THE_HOST, Sysctl

pytestmark = pytest.mark.docker

BOX = Limits(cpus=1.0, memory_mb=256)
OTHERS: Mapping[str, Sysctl] = {
    "net.ipv4.tcp_rmem": "8192 65536 1048576",
    "net.ipv4.tcp_wmem": "8192 65536 1048576",
    "net.ipv4.tcp_max_syn_backlog": 333,
    "net.ipv4.tcp_max_tw_buckets": 3333,
    "net.ipv4.tcp_fin_timeout": 7,
}
LEAST: Mapping[str, Sysctl] = {
    name: " ".join([str(numbers.low)] * numbers.count) for name, numbers in OF_A_NAMESPACE.items()
}
MOST: Mapping[str, Sysctl] = {
    name: " ".join([str(numbers.high)] * numbers.count) for name, numbers in OF_A_NAMESPACE.items()
}

ASKS_FOR_A_PORT = """
import socket, sys
for _ in range(40):
    with socket.socket() as asking:
        print("refused" if asking.connect_ex(("127.0.0.1", int(sys.argv[1]))) else "connected")
"""


@pytest.fixture
def launcher() -> Iterator[DockerLauncher]:
    with real_bench.engine() as found:
        yield found


def arm(index: int = 0, **changes: object) -> ArmSpec:
    """An arm whose box has these fields, whatever they are."""
    return real_bench.moody_arm(index=index, limits=BOX.model_copy(update=changes))


def path_of(setting: str) -> str:
    return f"/proc/sys/{setting.replace('.', '/')}"


def read_in(running: DockerTarget, settings: Mapping[str, Sysctl]) -> dict[str, str]:
    """The values in the target's network namespace."""
    lines = running.run_beside(["grep", "-H", "", *map(path_of, settings)], timeout_s=10)
    values = dict(line.split(":", 1) for line in lines.splitlines())
    return {name: " ".join(values[path_of(name)].split()) for name in settings}


def test_each_arm_has_its_own_settings_in_its_own_namespace(launcher: DockerLauncher) -> None:
    off = BOX.with_sysctls({**OTHERS, "net.ipv4.tcp_syncookies": 0})
    with (
        launcher.launch(real_bench.moody_arm(limits=off)) as first,
        launcher.launch(arm(1, somaxconn=999, sysctls={"net.ipv4.tcp_syncookies": 1})) as second,
    ):
        own = read_in(first, off.kernel_settings)
        other = read_in(second, off.kernel_settings)
    assert own == {name: str(value) for name, value in off.kernel_settings.items()}
    assert (other["net.ipv4.tcp_syncookies"], other["net.core.somaxconn"]) == ("1", "999")
    assert all(other[name] != own[name] for name in OTHERS)


@pytest.mark.parametrize("ends", [LEAST, MOST], ids=["least", "most"])
def test_the_kernel_takes_both_ends_of_every_range(
    launcher: DockerLauncher, ends: Mapping[str, Sysctl]
) -> None:
    box = BOX.with_sysctls(ends)
    container = real_bench.moody_arm(limits=box)
    with launcher.launch(container) as running:
        assert read_in(running, ends) == {name: str(value) for name, value in ends.items()}


def test_a_setting_of_the_whole_host_is_not_there_or_is_only_to_read(
    launcher: DockerLauncher,
) -> None:
    with launcher.launch(arm()) as running:
        script = 'for each; do stat -c %a "$each" 2>/dev/null || echo absent; done'
        argv = ["sh", "-c", script, "sh", *map(path_of, OF_THE_HOST), *map(path_of, OF_A_NAMESPACE)]
        modes = running.run_beside(argv, timeout_s=10).split()
    assert {*modes[: len(OF_THE_HOST)]} <= {"absent", "444"}
    assert {*modes[len(OF_THE_HOST) :]} == {"644"}


def test_a_client_is_never_connected_with_itself_where_no_server_listens_yet() -> None:
    nowhere = 9000
    elsewhere = real_bench.moody().model_copy(update={"port": nowhere})
    few = {"net.ipv4.ip_local_port_range": f"{nowhere} {nowhere + 3}"}  # its own port, often
    argv = ["python3", "-c", ASKS_FOR_A_PORT, str(nowhere)]
    with (
        real_bench.engine(extra_sysctls=few) as launcher,
        launcher.launch(real_bench.moody_arm(target=elsewhere)) as running,
    ):
        assert running.run_beside(argv, timeout_s=10).split() == ["refused"] * 40


def test_a_setting_that_this_kernel_refuses_is_named(launcher: DockerLauncher) -> None:
    wrong = arm(sysctls={"net.ipv4.tcp_tw_reuse": 9})
    with (
        pytest.raises(TargetFailed, match=r"limits\.sysctls\.net\.ipv4\.tcp_tw_reuse") as failed,
        launcher.launch(wrong),
    ):
        raise AssertionError("it started")
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


def test_the_target_has_the_open_files_of_its_box_and_the_client_those_of_the_host(
    launcher: DockerLauncher,
) -> None:
    with launcher.launch(arm(nofile=1024)) as running:
        limits = running.run_beside(["cat", "/proc/1/limits"], timeout_s=10)
        own = running.run_beside(["sh", "-c", "ulimit -n"], timeout_s=10)
    (line,) = (line for line in limits.splitlines() if line.startswith("Max open files"))
    assert line.split()[3:5] == ["1024", "1024"]
    assert (running.nofile, running.client_nofile) == (1024, int(own))
    assert int(own) > 1024


def test_more_open_files_than_the_engine_grants_are_refused_before_anything_starts(
    launcher: DockerLauncher,
) -> None:
    launcher.check_room([arm(nofile=1024)])
    with pytest.raises(TargetFailed, match=r"hard limit of this host's .* \d+: ask") as refused:
        launcher.check_room([arm(), arm(1, nofile=1 << 30)])
    assert refused.value.code == FailureCode.WORKLOAD_REFUSED
