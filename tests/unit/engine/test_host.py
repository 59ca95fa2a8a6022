"""The host's facts, and who gets which CPU."""

import re
from typing import Any

import pytest

from tuner.bench.engine.host import HostFacts, check_cpus, check_open_files, place
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import FailureCode, Limits, Runs, Service, Target, cpus_in

SHOWN = """Limit                     Soft Limit           Hard Limit           Units
Max open files            1024                 20000                files
Name:\tcat
Cpus_allowed_list:\t0-1
processor\t: 0
model name\t: AMD EPYC
model name\t: AMD EPYC
"""


def target(**fields: Any) -> Target:
    return Target.model_validate(
        {"image": "shop:1", "command": ["uwsgi", "--ini", "{ini}"], "memory_per_process_mb": 32}
        | fields
    )


def test_more_open_files_than_the_engine_has_are_refused_with_its_limit() -> None:
    facts = HostFacts.parse(SHOWN)
    for limits in (Limits(), Limits(nofile=20_000)):
        check_open_files(facts, limits)
    with pytest.raises(
        TargetFailed, match=r"limits\.nofile = 20001 .* daemon, 20000: ask"
    ) as failed:
        check_open_files(facts, Limits(nofile=20_001))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


def test_facts_are_read_from_proc() -> None:
    facts = HostFacts.parse(SHOWN)
    assert facts == HostFacts(cpu_ids=(0, 1), cpu_model="AMD EPYC", nofile=20_000)


def test_no_limit_is_a_large_one() -> None:
    assert HostFacts.parse(SHOWN.replace("20000", "unlimited")).nofile > 65_536


def test_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="no limits"):
        HostFacts.parse("cat: not found")


def test_the_fingerprint_survives_an_engine_that_does_not_know_its_cgroups() -> None:
    info = {"MemTotal": 8_000 * 2**20, "KernelVersion": "6.1", "ServerVersion": "19.03"}
    fingerprint = HostFacts.parse(SHOWN).fingerprint(info)
    assert fingerprint.memory_mb == 8000
    assert fingerprint.cgroup_version == 1


@pytest.mark.parametrize(
    ("text", "ids"), [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("0-1,4,6-7", (0, 1, 4, 6, 7))]
)
def test_cpu_lists(text: str, ids: tuple[int, ...]) -> None:
    assert cpus_in(text) == ids


@pytest.mark.parametrize(
    ("ids", "cpus", "target", "generator", "shares"),
    [
        ((0, 1), 1.0, "0", "1", False),
        ((0, 1), 0.5, "0", "1", False),
        ((0, 1), 1.5, "0,1", "1", True),
        ((0,), 1.0, "0", "0", True),
        ((2, 3, 5, 7), 2.0, "2,3", "5,7", False),
        ((2, 3, 5, 7), 3.0, "2,3,5", "7", False),
        ((2, 3, 5, 7), 1.0, "2,3,5", "7", False),
        ((0, 1, 2, 3), 4.0, "0,1,2,3", "3", True),
    ],
)
def test_the_generator_has_cpus_of_its_own_where_the_rest_suffices(
    ids: tuple[int, ...], cpus: float, target: str, generator: str, shares: bool
) -> None:
    found = place(ids, Limits(cpus=cpus))
    assert (found.target, found.generator, found.shares_cpus) == (target, generator, shares)
    assert found.client_cpus == len(cpus_in(generator))
    assert found.elsewhere is None
    assert found.only_cpu == (0 if target == "0" and not shares else None)


@pytest.mark.parametrize(
    ("count", "cpus", "services", "target", "elsewhere", "generator"),
    [
        (2, 1.0, 2.0, "0", "1", "1"),
        (3, 1.0, 2.0, "0", "1", "2"),
        (4, 1.0, 2.0, "0", "1,2", "3"),
        (4, 1.0, 0.5, "0,1", "2", "3"),
        (4, 2.0, 2.0, "0,1", "2", "3"),
        (8, 2.0, 2.0, "0,1,2,3", "4,5", "6,7"),
    ],
)
def test_services_never_have_the_cpus_of_the_target(
    count: int, cpus: float, services: float, target: str, elsewhere: str, generator: str
) -> None:
    found = place(range(count), Limits(cpus=cpus), services)
    assert (found.target, found.elsewhere, found.generator) == (target, elsewhere, generator)
    assert found.generator_has_services is (elsewhere == generator)
    assert found.only_cpu == (0 if target == "0" else None)
    assert found.of_service(Service(image="a")) == elsewhere


@pytest.mark.parametrize(
    ("count", "limits", "target", "generator"),
    [
        (2, Limits(), "0", "1"),
        (8, Limits(cpus=1.5), "0,1", "6,7"),
        (8, Limits(cpuset="2-4"), "2,3,4", "7"),
    ],
)
def test_services_beside_the_app_have_its_cpus_and_no_more(
    count: int, limits: Limits, target: str, generator: str
) -> None:
    found = place(range(count), limits, has_beside=True)
    assert (found.target, found.generator, found.elsewhere) == (target, generator, None)
    assert found.of_service(Service(image="a", runs=Runs.BESIDE)) == target
    assert found.only_cpu is None


@pytest.mark.parametrize(
    ("count", "limits", "services", "target", "elsewhere", "generator"),
    [
        (4, Limits(cpuset="2-3", cpus=2), 0.0, "2,3", None, "0,1"),
        (4, Limits(cpuset="0", client_cpus=2), 1.0, "0", "1", "2,3"),
        (4, Limits(cpuset="0", client_cpus=3), 1.0, "0", "1,2,3", "1,2,3"),
        (8, Limits(client_cpus=4), 0.0, "0,1,2,3", None, "4,5,6,7"),
        (2, Limits(client_cpus=2), 0.0, "0,1", None, "0,1"),
    ],
)
def test_a_job_may_say_which_cpus(
    count: int, limits: Limits, services: float, target: str, elsewhere: str | None, generator: str
) -> None:
    found = place(range(count), limits, services)
    assert (found.target, found.elsewhere, found.generator) == (target, elsewhere, generator)
    together = {*cpus_in(target)} & {*cpus_in(generator)}
    assert found.shares_cpus is bool(together)
    assert found.client_cpus == len(cpus_in(generator))


@pytest.mark.parametrize(
    ("count", "limits", "words"),
    [
        (1, Limits(), "the app takes 1, and this host has 1 CPUs: 0. 2 CPUs would do, 4 give each"),
        (2, Limits(cpus=2), "the app takes 2, and this host has 2 CPUs: 0,1. 3 CPUs would do"),
        (2, Limits(cpuset="0-1"), "the app takes 2, and this host has 2 CPUs: 0,1. 3 CPUs would"),
    ],
)
def test_a_host_too_small_for_services_elsewhere_is_refused_with_the_cpus_that_would_do(
    count: int, limits: Limits, words: str
) -> None:
    facts = HostFacts(cpu_ids=tuple(range(count)), cpu_model="x", nofile=1024)
    services = {"postgres": {"image": "postgres:16"}, "redis": {"image": "redis:7"}}
    with pytest.raises(TargetFailed, match=re.escape(words)) as failed:
        check_cpus(facts, limits, target(services=services))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED
    check_cpus(facts, limits, target())
    beside = {name: {**its, "runs": "beside"} for name, its in services.items()}
    check_cpus(facts, limits, target(services=beside))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(cpuset="1-3"), "limits.cpuset = 1-3 names CPU 2,3, and this host has 2 CPUs: 0,1"),
        (Limits(client_cpus=3), "limits.client_cpus = 3, and this host has 2 CPUs: 0,1"),
    ],
)
def test_cpus_that_a_host_does_not_have_are_refused(limits: Limits, words: str) -> None:
    facts = HostFacts(cpu_ids=(0, 1), cpu_model="x", nofile=1024)
    check_cpus(facts, Limits(cpuset="0-1", client_cpus=2))
    with pytest.raises(TargetFailed, match=re.escape(words)) as failed:
        check_cpus(facts, limits)
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED
