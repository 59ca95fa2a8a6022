"""What this host can measure: facts of the kernel, a self-test, and how to make it better."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from tuner.bench.engine.counters import Speeds, sampled
from tuner.bench.load.probe.usage import cpu_times
from tuner.bench.measurement import cgroups
from tuner.judge.analysis.estimating import detectable
from tuner.nouns.model import PRESETS
from tuner.nouns.wording import share
from tuner.production.looking import limits_up, places_of

STEAL_FROM = 0.01
BUSY_FROM = 0.1  # CPUs that others use meanwhile
NOISE_FROM = 0.02
IN_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Facts of the kernel. None: this kernel, or this container, does not show it."""

    kernel: str
    cpus: int
    memory_mb: int
    cgroup_version: int | None
    cpu_quota: float | None  # CPUs; None without one
    governors: tuple[str, ...]  # one of each kind
    smt: bool | None
    is_virtual: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Shares and CPUs as means of the test.

    `noise` is the spread of a CPU's mean speed from window to window, in logs. `smallest_effect` is
    what 10 minutes show of an app that fills its CPU, if its starts have no noise of their own: a
    calibration says what your app really shows. None: the test was too short.
    """

    seconds: float
    steal: float
    busy_cpus: float
    noise: float | None
    smallest_effect: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line: `advice` says how to make it better, None where it is as it should be."""

    what: str
    value: str
    advice: str | None


# ---- Facts


def host_at(root: Path = Path("/")) -> Host:
    """The facts in /proc and /sys below `root`."""
    cpuinfo = _text(root / "proc/cpuinfo")
    controllers = root / "sys/fs/cgroup"
    smt = _text(root / "sys/devices/system/cpu/smt/active").strip()
    governors = root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    memory = [line.split()[1] for line in _text(root / "proc/meminfo").splitlines()[:1]]
    return Host(
        kernel=_text(root / "proc/sys/kernel/osrelease").strip(),
        cpus=cpu_times(_text(root / "proc/stat"))["cpus"],
        memory_mb=int(memory[0]) // 1024 if memory else 0,
        cgroup_version=_version(controllers),
        cpu_quota=_quota(_text(root / "proc/self/cgroup"), controllers),
        governors=tuple(sorted({_text(file).strip() for file in governors})),
        smt=smt == "1" if smt else None,
        is_virtual="hypervisor" in cpuinfo,
    )


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _version(controllers: Path) -> int | None:
    if (controllers / "cgroup.controllers").exists():
        return 2
    return 1 if (controllers / "cpu").is_dir() else None


def _quota(membership: str, controllers: Path) -> float | None:
    found = limits_up(places_of(membership, controllers), "cpu", controllers)
    return min((q for texts in found if (q := cgroups.quota_of(texts))), default=None)


# ---- The self-test


def self_test(seconds: float, cpus: Sequence[int], root: Path = Path("/")) -> SelfTest:
    """Sample the speed of these CPUs for so long; some 1 % of each is used."""
    before, began = cpu_times(_text(root / "proc/stat")), time.time()
    with ExitStack() as stack:
        speeds = [stack.enter_context(sampled(cpu)) for cpu in cpus]
        time.sleep(seconds)
    after = cpu_times(_text(root / "proc/stat"))
    noise = noise_of(speeds, began, began + seconds)
    return SelfTest(
        seconds=seconds,
        steal=(after["steal_s"] - before["steal_s"]) / seconds / after["cpus"],
        busy_cpus=(after["busy_s"] - before["busy_s"]) / seconds,
        noise=noise,
        smallest_effect=None if noise is None else smallest_effect(noise),
    )


def noise_of(speeds: Sequence[Speeds], since: float, until: float) -> float | None:
    """The spread of a CPU's mean speed over windows of the standard budget, in logs.

    The mean of the variances of the CPUs. None with fewer than 3 windows of a CPU.
    """
    window_s = PRESETS["standard"].window_s
    starts = [since + number * window_s for number in range(int((until - since) / window_s))]
    by_cpu = [[each.mean(start, start + window_s) for start in starts] for each in speeds]
    logs = [[math.log(mean) for mean in means if mean] for means in by_cpu]
    enough = [values for values in logs if len(values) >= 3]
    return math.sqrt(fmean(stdev(values) ** 2 for values in enough)) if enough else None


def smallest_effect(window_sd: float) -> float:
    """What blocks of two arms show in 10 minutes of load, by the standard budget."""
    budget = PRESETS["standard"]
    blocks = int(IN_S / budget.block_load_s)
    return detectable(math.sqrt(2 / budget.cycles) * window_sd, blocks)


# ---- Findings


def findings(host: Host, test: SelfTest | None, docker: str | None) -> Iterator[Finding]:
    """One of each figure, in the order of a report."""
    yield _finding("CPUs", str(host.cpus), host.cpus < 2, "take 2 or more: the load needs its own")
    quota = "none" if host.cpu_quota is None else f"{host.cpu_quota:g} CPUs"
    lift = "lift it: a throttled process stands still for milliseconds"
    yield _finding("CPU quota", quota, host.cpu_quota is not None, lift)
    version = f"v{host.cgroup_version}" if host.cgroup_version else "not visible"
    mount = "mount /sys/fs/cgroup: CPU time and memory of an app are read there"
    yield _finding("cgroups", version, host.cgroup_version is None, mount)
    yield _governor(host)
    smt = {True: "on", False: "off", None: "not visible"}[host.smt]
    off = "echo off > /sys/devices/system/cpu/smt/control: two threads share one core"
    yield _finding("SMT", smt, host.smt is True, off)
    machine = "virtual" if host.is_virtual else "not virtual, as far as the CPU says"
    yield _finding("machine", f"{machine}; Linux {host.kernel}, {host.memory_mb} MB", False, "")
    yield _finding("Docker", docker or "does not answer", docker is None, "run tuner setup")
    yield from _tested(test) if test else ()


def _governor(host: Host) -> Finding:
    names = ", ".join(host.governors) or "not visible: the host of this machine decides"
    slow = any(name != "performance" for name in host.governors)
    return _finding("governor", names, slow, "cpupower frequency-set --governor performance")


def _tested(test: SelfTest) -> Iterator[Finding]:
    dedicated = "take dedicated CPUs, or a host with fewer neighbours"
    yield _finding("steal", share(test.steal), test.steal > STEAL_FROM, dedicated)
    busy = f"{test.busy_cpus:.2f} CPUs"
    yield _finding("busy", busy, test.busy_cpus > BUSY_FROM, "end what else runs here (see top)")
    if test.noise is None or test.smallest_effect is None:
        yield _finding("noise", "not known", True, "test for longer: --seconds 20")
        return
    again = "measure at a quieter time, or on dedicated CPUs; budget `noisy` helps"
    yield _finding("noise", f"{share(test.noise)} a window", test.noise > NOISE_FROM, again)
    least = (
        f"{share(test.smallest_effect)} at best in 10 minutes; tuner calibrate says it for an app"
    )
    yield _finding("smallest effect", least, False, "")


def _finding(what: str, value: str, is_bad: bool, advice: str) -> Finding:
    return Finding(what=what, value=value, advice=advice if is_bad else None)


def lines(found: Sequence[Finding]) -> Iterator[Sequence[str]]:
    """What, value and advice of each, as cells."""
    for each in found:
        yield ("!!" if each.advice else "ok", each.what, each.value, each.advice or "")
