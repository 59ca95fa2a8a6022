"""`tuner doctor` on the files of a host with cgroups of version 1, and of one with version 2."""

import math
from pathlib import Path

import pytest

from tuner.bench.engine.counters import Speeds
from tuner.production import doctor
from tuner.production.doctor import SelfTest, findings, host_at, noise_of, smallest_effect

CPU = "sys/devices/system/cpu"
COMMON = {
    "proc/stat": "cpu  9 0 9 90 0 0 0 0 0 0\ncpu0 4 0 4 45 0 0 0 0 0\ncpu1 5 0 5 45 0 0 0 0 0\n",
    "proc/meminfo": "MemTotal:        8046292 kB\nMemFree: 1 kB\n",
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
}
V1 = COMMON | {  # a container of Docker 20.10 with --cpus 1.5 on a virtual machine
    "proc/cpuinfo": "flags : fpu vme hypervisor lahf_lm\n",
    "proc/self/cgroup": "4:cpu,cpuacct:/docker/ab\n3:memory:/docker/ab\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    f"{CPU}/smt/active": "1\n",
}
V2 = COMMON | {  # a host of its own
    "proc/cpuinfo": "flags : fpu vme lahf_lm\n",
    "proc/self/cgroup": "0::/user.slice/session-1.scope\n",
    "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
    "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
    "sys/fs/cgroup/user.slice/session-1.scope/cpu.stat": "usage_usec 1\n",
    f"{CPU}/smt/active": "0\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance\n",
}
QUIET = SelfTest(seconds=20, steal=0, busy_cpus=0.02, noise=0.005, smallest_effect=0.002)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def advised(root: Path, test: SelfTest | None = QUIET, docker: str | None = "27.1") -> set[str]:
    return {f.what for f in findings(host_at(root), test, docker) if f.advice}


def test_a_container_with_cgroups_of_version_1(tmp_path: Path) -> None:
    host = host_at(tree(tmp_path, V1))
    assert (host.cgroup_version, host.cpu_quota, host.cpus) == (1, 1.5, 2)
    assert (host.smt, host.is_virtual, host.governors) == (True, True, ())
    assert (host.memory_mb, host.kernel) == (7857, "6.1.0-18-amd64")
    assert advised(tmp_path) == {"CPU quota", "SMT"}


def test_a_host_with_cgroups_of_version_2(tmp_path: Path) -> None:
    host = host_at(tree(tmp_path, V2))
    assert (host.cgroup_version, host.cpu_quota, host.smt) == (2, None, False)
    assert (host.is_virtual, host.governors) == (False, ("performance", "powersave"))
    assert advised(tmp_path) == {"governor"}


def test_a_quota_of_a_group_above_counts(tmp_path: Path) -> None:
    files = V2 | {"sys/fs/cgroup/user.slice/cpu.max": "50000 100000\n"}
    assert host_at(tree(tmp_path, files)).cpu_quota == 0.5


def test_a_noisy_host_without_docker_gets_advice_for_each(tmp_path: Path) -> None:
    noisy = SelfTest(seconds=20, steal=0.05, busy_cpus=1.2, noise=0.1, smallest_effect=0.04)
    found = advised(tree(tmp_path, V2), noisy, docker=None)
    assert found == {"governor", "steal", "busy", "noise", "Docker"}


def test_what_is_not_visible_is_said_so(tmp_path: Path) -> None:
    host = host_at(tree(tmp_path, COMMON))
    assert (host.cgroup_version, host.cpu_quota, host.smt) == (None, None, None)
    assert "cgroups" in advised(tmp_path, None)


def test_noise_is_the_spread_of_windows_of_one_cpu() -> None:
    steady = Speeds([(at / 10, 2.0) for at in range(200)])
    waves = Speeds([(at / 10, math.exp(0.1 * (-1) ** (at // 25))) for at in range(200)])
    assert noise_of([steady], 0, 20) == pytest.approx(0)
    assert noise_of([waves], 0, 20) == pytest.approx(0.107, abs=0.01)
    assert noise_of([steady], 0, 5) is None
    assert smallest_effect(0.02) == pytest.approx(2 * smallest_effect(0.01), rel=0.02)


def test_a_short_test_reads_this_host() -> None:
    test = doctor.self_test(0.2, [])
    assert test.noise is None
    assert 0 <= test.steal <= 1
