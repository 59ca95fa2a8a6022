"""A folder of a target app with which a volume starts: what counts, is sent, or is refused."""

import io
import os
import socket
import tarfile
from pathlib import Path

import pytest

from tuner.bench.engine import folders
from tuner.bench.engine.folders import AppFolder, AppFolders
from tuner.nouns.errors import NotFound, TargetFailed


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder `data` of the app `shop`."""
    found = tmp_path / "shop" / "data"
    (found / "base" / "1").mkdir(parents=True)
    (found / "base" / "1" / "rows").write_text("one\ntwo\n")
    (found / "base" / "last").symlink_to("1/rows")
    (found / "PG_VERSION").write_text("17\n")
    (found / "PG_VERSION").chmod(0o600)
    found.chmod(0o700)
    return found


def read(data: Path, job: str = "1") -> AppFolder:
    return AppFolders(data.parents[1].joinpath).of(job, "shop", "./data")


def refusal(data: Path) -> str:
    with pytest.raises(TargetFailed) as failed:
        read(data)
    assert failed.value.code == "prepare_failed"
    return failed.value.message.removeprefix("the folder ./data of shop: ")


def test_the_tar_has_the_folder_itself_and_all_in_it_as_it_is(data: Path) -> None:
    packed = io.BytesIO(b"".join(read(data).packed("filled")))
    with tarfile.open(fileobj=packed) as tar:
        entries = {os.path.normpath(each.name): each for each in tar}
        content = tar.extractfile(entries["filled/base/1/rows"])
        assert content is not None
        assert content.read() == b"one\ntwo\n"
    inside = ("", "/PG_VERSION", "/base", "/base/1", "/base/1/rows", "/base/last")
    assert sorted(entries) == [f"filled{each}" for each in inside]
    assert entries["filled"].mode == 0o700
    assert entries["filled/PG_VERSION"].mode == 0o600
    assert entries["filled/base/last"].linkname == "1/rows"
    owner = data.stat()
    assert {(each.uid, each.gid) for each in entries.values()} == {(owner.st_uid, owner.st_gid)}


def test_the_hash_counts_names_modes_links_and_content_but_no_times(data: Path) -> None:
    first = read(data).sha256
    os.utime(data / "PG_VERSION", (0, 0))
    assert read(data).sha256 == first
    (data / "PG_VERSION").chmod(0o640)
    seen = {first, read(data).sha256}
    (data / "PG_VERSION").rename(data / "VERSION")
    seen.add(read(data).sha256)
    (data / "base" / "1" / "rows").write_text("one\ntoo\n")
    seen.add(read(data).sha256)
    (data / "base" / "last").unlink()
    (data / "base" / "last").symlink_to("../VERSION")
    seen.add(read(data).sha256)
    assert len(seen) == 5


def test_two_names_of_one_file_stay_so(data: Path) -> None:
    (data / "again").hardlink_to(data / "base" / "1" / "rows")
    with tarfile.open(fileobj=io.BytesIO(b"".join(read(data).packed("filled")))) as tar:
        links = {each.name: each.linkname for each in tar if each.islnk()}
    assert links == {"filled/base/1/rows": "filled/again"}


def test_a_job_reads_a_folder_once_and_refuses_to_copy_another_content(data: Path) -> None:
    known = AppFolders(data.parents[1].joinpath)
    first = known.of("1", "shop", "data")
    (data / "base" / "1" / "rows").write_text("one\n")
    assert known.of("1", "shop", "./data/").sha256 == first.sha256
    assert known.of("2", "shop", "data").sha256 != first.sha256
    with pytest.raises(TargetFailed, match="it changed meanwhile: stop what writes to it"):
        list(first.packed("filled"))


@pytest.mark.parametrize("target", ["/etc/passwd", "../../other", "../.."])
def test_a_link_that_leaves_the_folder_is_refused(data: Path, target: str) -> None:
    (data / "base" / "out").symlink_to(target)
    assert refusal(data) == f"base/out is a link to {target}, outside of it"


def test_a_folder_elsewhere_is_refused_even_through_a_link(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    data.rename(other)
    data.symlink_to(other)
    assert refusal(data) == "it is a link that leaves the app's folder"


def test_what_is_missing_or_too_much_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_ENTRIES", 4)
    assert refusal(data) == "it has more than 4 entries or 1024 MB"
    monkeypatch.setattr(folders, "MOST_ENTRIES", 20_000)
    with (data / "large").open("wb") as large:
        large.truncate((1 << 30) + 1)  # a hole: it takes no room
    assert refusal(data) == "it has more than 20000 entries or 1024 MB"
    data.rename(data.with_name("gone"))
    assert refusal(data) == "there is no such folder"


def test_a_socket_is_left_out_and_a_pipe_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read(data).sha256
    monkeypatch.chdir(data)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("server.sock")
        assert read(data).sha256 == first
    os.mkfifo(data / "pipe")
    assert refusal(data) == "pipe is neither a file nor a folder nor a link"


def test_only_a_target_app_of_this_host_has_folders() -> None:
    def unknown(name: str) -> Path:
        raise NotFound(f"this host has no target app {name!r}")

    with pytest.raises(TargetFailed, match="this host has no target app 'shop'"):
        AppFolders(unknown).of("1", "shop", "data")
    with pytest.raises(TargetFailed, match="only a target app has folders to copy"):
        AppFolders(unknown).of("1", None, "data")
