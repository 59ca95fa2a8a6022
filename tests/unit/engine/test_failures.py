"""What an ended container means."""

from typing import Any

import pytest

from tuner.bench.engine.failures import telling_line, why_ended, why_not_frozen, why_not_started
from tuner.nouns.model import FailureCode

IMPORT_LOG = """Traceback (most recent call last):
  File "/app/app.py", line 1, in <module>
ModuleNotFoundError: No module named 'nope'
unable to load app 0 (mountpoint='') (callable not found or import error)
*** no app loaded. GAME OVER ***"""


@pytest.mark.parametrize(
    ("state", "was_ready", "code"),
    [
        ({"ExitCode": 1}, False, FailureCode.BAD_OPTIONS),
        ({"ExitCode": 22}, False, FailureCode.APP_FAILED),
        ({"ExitCode": 22}, True, FailureCode.APP_FAILED),
        ({"ExitCode": 137}, False, FailureCode.OUT_OF_MEMORY),
        ({"ExitCode": 0, "OOMKilled": True}, True, FailureCode.OUT_OF_MEMORY),
        ({"ExitCode": 0}, False, FailureCode.NOT_STARTED),
        ({"ExitCode": 1}, True, FailureCode.DIED),
        ({"ExitCode": 30}, True, FailureCode.DIED),
    ],
)
def test_exit_codes(state: dict[str, Any], was_ready: bool, code: FailureCode) -> None:
    assert why_ended(state, "", was_ready=was_ready).code == code


def test_the_message_quotes_the_line_that_tells() -> None:
    failure = why_ended({"ExitCode": 22}, IMPORT_LOG, was_ready=False)
    assert failure.message.endswith("(exit 22): ModuleNotFoundError: No module named 'nope'")
    assert failure.log_tail == IMPORT_LOG


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", ""),
        ("hello\nbye", "bye"),
        ("invalid cheaper value: must be lower than processes\nbye", "invalid cheaper value"),
        (
            "django.core.exceptions.ImproperlyConfigured: Set the SECRET_KEY variable\nbye",
            "django.core.exceptions.ImproperlyConfigured",
        ),
    ],
)
def test_telling_lines(log: str, line: str) -> None:
    assert telling_line(log).startswith(line)


@pytest.mark.parametrize(
    ("explanation", "code"),
    [
        (
            'OCI runtime create failed: exec: "uwsgi": executable file not found in $PATH',
            FailureCode.NOT_STARTED,
        ),
        ('exec: "/a/uwsgi": stat /a/uwsgi: no such file or directory', FailureCode.NOT_STARTED),
        ("Minimum memory limit allowed is 6MB", FailureCode.OUT_OF_MEMORY),
        ("container init was OOM-killed (memory limit too low?)", FailureCode.OUT_OF_MEMORY),
        (
            "error during container init: write /proc/sys/net/core/somaxconn: invalid argument",
            FailureCode.WORKLOAD_REFUSED,
        ),
        (
            "open /proc/sys/net/ipv4/tcp_syncookies: no such file or directory",
            FailureCode.WORKLOAD_REFUSED,
        ),
    ],
)
def test_refusals_that_are_the_targets_fault(explanation: str, code: FailureCode) -> None:
    failure = why_not_started(explanation, "uwsgi")
    assert failure is not None
    assert failure.code == code


def test_a_full_disk_is_the_fault_of_the_data_that_fill_it() -> None:
    full = why_not_frozen("Error response: write /var/lib/layer.tar: no space left on device")
    assert full is not None
    assert full.code == FailureCode.OUT_OF_DISK
    assert "`prepare`" in full.message
    assert why_not_frozen("the container does not exist") is None


@pytest.mark.parametrize(
    "explanation",
    [
        "error setting rlimit type 7: operation not permitted",
        "lstat /proc/42/ns/net: no such file or directory",
        "write /proc/sys/net/ipv4/ip_local_port_range: invalid argument",
    ],
)
def test_refusals_that_are_the_hosts(explanation: str) -> None:
    assert why_not_started(explanation, "uwsgi") is None


@pytest.mark.parametrize(
    ("file", "field"),
    [
        ("net/core/somaxconn", "limits.somaxconn"),
        ("net/ipv4/tcp_tw_reuse", "limits.sysctls.net.ipv4.tcp_tw_reuse"),
    ],
)
def test_a_kernel_setting_that_the_host_refuses_is_named_as_in_the_job(
    file: str, field: str
) -> None:
    failure = why_not_started(f"write /proc/sys/{file}: invalid argument", "uwsgi")
    assert f"refuses {field}: give the value of `sysctl {file.replace('/', '.')}`" in str(failure)
