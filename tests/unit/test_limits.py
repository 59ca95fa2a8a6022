"""The box of a job: its kernel settings and open files, and what is refused of them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tuner.nouns.model import Limits, TuneRequest, mistakes_of
from tuner.nouns.model.limits import OF_A_NAMESPACE, OF_THE_HOST, is_sysctl

SIZES = "4096 131072 6291456"


def refusals(**limits: Any) -> dict[str, str]:
    """The mistakes of a job with these limits, by their paths."""
    request = {"app": "shop", "target": {"target_app": "mixed"}, "limits": limits}
    with pytest.raises(ValidationError) as refused:
        TuneRequest.model_validate(request)
    return dict(mistakes_of(refused.value))


def test_a_setting_has_one_form_however_it_is_written() -> None:
    one = Limits(sysctls={"net.ipv4.tcp_syncookies": 0, "net.ipv4.tcp_rmem": SIZES})
    other = Limits.model_validate(
        {"sysctls": {"net.ipv4.tcp_syncookies": "0", "net.ipv4.tcp_rmem": " 4096\t131072 6291456"}}
    )
    assert one == other
    assert one.kernel_settings == {
        "net.core.somaxconn": 4096,
        "net.ipv4.tcp_syncookies": 0,
        "net.ipv4.tcp_rmem": SIZES,
    }
    assert Limits.model_validate(one.model_dump(mode="json")) == one


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("net.ipv4.tcp_syncookies", 3, "give a number from 0 to 2"),
        ("net.ipv4.tcp_syncookies", "on", "give a number from 0 to 2"),
        ("net.ipv4.tcp_fin_timeout", 0, "from 1 to 2147483"),
        ("net.ipv4.tcp_max_syn_backlog", 2**31, "from 1 to 2147483647"),
        ("net.ipv4.tcp_max_syn_backlog", "1 2", "give a number"),
        ("net.ipv4.tcp_synack_retries", -1, "from 0 to 255"),
        ("net.ipv4.tcp_rmem", 4096, "give 3 numbers, the least first"),
        ("net.ipv4.tcp_rmem", "8192 4096 16384", "give 3 numbers, the least first"),
        ("net.ipv4.tcp_wmem", "0 1 2", "from 1 to"),
        ("net.ipv4.ip_forward", 1, "choose from net.ipv4.tcp_abort_on_overflow, "),
        ("kernel.shmmax", 1, "not known as a setting of a network namespace"),
    ],
)
def test_a_value_that_the_kernel_would_not_take_is_refused(
    name: str, value: int | str, reason: str
) -> None:
    assert reason in refusals(sysctls={name: value})[f"limits.sysctls.{name}"]


def test_all_mistakes_of_a_box_are_told_at_once() -> None:
    wrong = {"net.ipv4.tcp_syncookies": 9, "net.ipv4.tcp_mem": "1 2 3", "net.core.rmem_max": 1}
    found = refusals(nofile=3, sysctls=wrong)
    assert set(found) == {"limits.nofile", *(f"limits.sysctls.{name}" for name in wrong)}


@pytest.mark.parametrize("name", OF_THE_HOST)
def test_a_setting_of_the_whole_host_is_refused_with_its_reason_and_the_command(name: str) -> None:
    found = refusals(sysctls={name: "1 2 3"})[f"limits.sysctls.{name}"]
    assert found.startswith("belongs to the whole host, not to a container: ")
    assert found.endswith(f": sysctl -w {name}='1 2 3'")


def test_somaxconn_among_the_sysctls_is_the_field_and_is_given_once() -> None:
    given = {"net.core.somaxconn": 1024, "net.ipv4.tcp_tw_reuse": 1}
    found = Limits.model_validate({"sysctls": given})
    assert (found.somaxconn, found.sysctls) == (1024, {"net.ipv4.tcp_tw_reuse": 1})
    assert "not both" in refusals(somaxconn=1024, sysctls=given)["limits"]


def test_more_settings_replace_those_of_the_box() -> None:
    own = Limits(nofile=1024, sysctls={"net.ipv4.tcp_syncookies": 1, "net.ipv4.tcp_rmem": SIZES})
    found = own.with_sysctls({"net.ipv4.tcp_syncookies": "0"})
    assert found.sysctls == {"net.ipv4.tcp_syncookies": 0, "net.ipv4.tcp_rmem": SIZES}
    assert found.nofile == 1024


def test_the_page_names_every_setting() -> None:
    page = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text(encoding="utf-8")
    for name in OF_A_NAMESPACE:
        assert is_sysctl(name)
        assert f"`{name.removeprefix('net.ipv4.')}`" in page
    for name in OF_THE_HOST:
        assert f"`{name}`" in page


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"cpuset": "0-"}, "give CPUs as in 0-2,5"),
        ({"cpuset": "0-99999"}, "give CPUs as in 0-2,5"),
        ({"cpuset": "0,0", "cpus": 2}, "cpuset 0,0 has fewer CPUs than cpus, which is 2"),
    ],
)
def test_a_cpuset_is_a_list_with_room_for_the_quota(limits: dict[str, Any], words: str) -> None:
    assert words in refusals(**limits)["limits"]
