"""Options of `tuner measure` become the request that was meant."""

from pathlib import Path
from typing import Any

import pytest

from tuner.cli.asking import Load, inis_of, limits_of, target_of, workload_of
from tuner.nouns.errors import InvalidInput

OWN: dict[str, Any] = {
    "kind": "closed_loop",
    "concurrency": 32,
    "keep_alive": False,
    "requests": [{"path": "/a", "weight": 3}, {"path": "/b", "weight": 1}],
}


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (Load(), None),
        (Load(keep_alive=True), {**OWN, "keep_alive": True}),
        (Load(paths=["/x"]), {**OWN, "requests": [{"path": "/x"}]}),
        (
            Load(concurrency=9),
            {"kind": "closed_loop", "concurrency": 9, "requests": OWN["requests"]},
        ),
        (
            Load(rate=50.0, concurrency=9),
            {
                "kind": "open_loop",
                "rate_rps": 50.0,
                "concurrency": 9,
                "requests": OWN["requests"],
            },
        ),
        (
            Load(ladder="100,1000", paths=["/x"]),
            {"kind": "ladder", "concurrencies": [100, 1000], "requests": [{"path": "/x"}]},
        ),
        (
            Load(burst=500, limit_s=2.0),
            {
                "kind": "burst",
                "users": 500,
                "limit_s": 2.0,
                "requests": [{"path": "/a", "weight": 1}, {"path": "/b", "weight": 1}],
            },
        ),
    ],
)
def test_what_is_not_said_is_the_targets_own(load: Load, expected: dict[str, Any] | None) -> None:
    assert workload_of(OWN, load) == expected


def test_a_burst_of_an_apps_own_requests_has_its_users_too() -> None:
    users = {"names": ["user"], "rows": [["ann"]]}
    own = {"kind": "journey", "requests": [{"path": "/{{user}}"}], "user_data": users}
    found = workload_of(own, Load(burst=5))
    assert found is not None
    assert found["user_data"] == users
    assert "user_data" not in (workload_of(own, Load(burst=5, paths=["/x"])) or {})


def test_an_image_has_no_workload_of_its_own() -> None:
    assert workload_of(None, Load(paths=["/x"])) == {
        "kind": "closed_loop",
        "requests": [{"path": "/x"}],
    }


def test_a_file_of_urls_is_read(tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text("/a\n/a\nhttps://example.org/b\n")
    found = workload_of(OWN, Load(urls=urls))
    assert found is not None
    assert found["requests"] == [{"path": "/a", "weight": 2}, {"path": "/b", "weight": 1}]


@pytest.mark.parametrize(
    ("load", "option"),
    [
        (Load(rate=1.0, burst=2), "--burst"),
        (Load(burst=2, ladder="1,2"), "--ladder"),
        (Load(burst=2, concurrency=3), "--concurrency"),
        (Load(ladder="1,2", concurrency=3), "--concurrency"),
        (Load(ladder="1;2"), "--ladder"),
        (Load(paths=["/"], urls=Path("x")), "--urls"),
        (Load(urls=Path("/nowhere/urls.txt")), "--urls"),
    ],
)
def test_what_does_not_go_together_is_said(load: Load, option: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        workload_of(OWN, load)
    assert caught.value.mistakes[0].path == option


def test_a_name_is_a_target_app_where_there_is_one_and_else_an_image() -> None:
    apps: dict[str, Any] = {"mixed": {}}
    assert target_of("mixed", apps, None, None) == {"target_app": "mixed"}
    assert target_of("shop:1", apps, 9000, "/up") == {
        "image": "shop:1",
        "port": 9000,
        "health_path": "/up",
    }
    with pytest.raises(InvalidInput, match="brings its own"):
        target_of("mixed", apps, 9000, None)


def test_limits_change_only_what_was_said() -> None:
    own = {"cpus": 1.0, "memory_mb": 512, "somaxconn": 4096}
    assert limits_of(own, cpus=2.0, memory_mb=None, somaxconn=None) == {**own, "cpus": 2.0}
    assert limits_of(own, cpus=None, memory_mb=None, somaxconn=None) is None


def test_kernel_settings_of_the_command_line_replace_those_of_the_target() -> None:
    own = {"cpus": 1.0, "sysctls": {"net.ipv4.tcp_fin_timeout": 30, "net.ipv4.tcp_syncookies": 1}}
    asked = ["net.ipv4.tcp_syncookies=0", "net.ipv4.tcp_rmem=4096 131072 6291456"]
    assert limits_of(own, asked, nofile=1024) == {
        "cpus": 1.0,
        "nofile": 1024,
        "sysctls": {
            "net.ipv4.tcp_fin_timeout": 30,
            "net.ipv4.tcp_syncookies": "0",
            "net.ipv4.tcp_rmem": "4096 131072 6291456",
        },
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("net.ipv4.tcp_syncookies", "is not NAME=VALUE"),
        ("net.core.somaxconn=128", "as --somaxconn"),
    ],
)
def test_a_kernel_setting_of_another_form_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as caught:
        limits_of(None, [text])
    assert caught.value.mistakes[0].path == "--sysctl"


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = []
    for folder in ("old one", "new"):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "uwsgi.ini")
        files[-1].write_text(folder)
    assert inis_of(files) == [
        {"name": "old-one-uwsgi.ini", "ini": "old one"},
        {"name": "new-uwsgi.ini", "ini": "new"},
    ]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        inis_of([tmp_path / "a.ini"])
