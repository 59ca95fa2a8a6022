"""What the next arm finds where an earlier one has worked, on the real engine."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.real_bench import LOAD_IMAGE
from tuner.bench.engine import DockerLauncher
from tuner.bench.engine.containers import ROOT_USER, Containers
from tuner.bench.engine.states import Copies
from tuner.nouns.errors import Infrastructure

pytestmark = pytest.mark.docker

JOB = "1"
FROZEN = r"""
cd /data && umask 022
echo one > plain && echo two > same-size && cp plain kept && chmod 640 kept
ln plain linked && ln -s plain pointer && mkdir -p deep/er empty && echo x > deep/er/file
chown 1234:1235 deep/er/file && chmod 1777 empty && echo z > 'odd [*?] name'
printf '%s' y > "$(printf 'with\nline')" && touch -d '2001-02-03 04:05:06.789' kept deep
truncate -s 40M holes && echo end >> holes && head -c 4M /dev/zero > zeros
python3 -c "import os; os.setxattr('kept', 'user.note', b'1')"
"""
CHANGED = r"""
cd /data
echo ONE > plain && echo 1 > new
was=$(stat -c %y same-size) && echo TWO > same-size
touch -d "$(date -d "$was" '+%F %T')" same-size
rm linked && ln kept linked && rm pointer && mkdir pointer && touch pointer/x
rm -r deep empty && echo file > deep && ln same-size empty && rm 'odd [*?] name'
chmod 600 kept && echo 1 >> holes && echo 1 >> zeros && mv "$(printf 'with\nline')" moved
python3 -c "import os; os.setxattr('kept', 'user.note', b'2')"
"""
LISTED = r"""
cd /data && find . -printf '%p %y %m %U:%G %n %s %b %T@ %l\n' | sort
find . -type f -print0 | sort -z | xargs -0 sha256sum
python3 -c "import os; print(os.getxattr('kept', 'user.note'))"
"""


@pytest.fixture
def copies(engine: DockerLauncher) -> Copies:
    return engine._host.states.copies


@pytest.fixture
def containers(engine: DockerLauncher) -> Containers:
    return engine.for_measurement(JOB, "7")._starting.containers


@pytest.fixture
def frozen(containers: Containers) -> Iterator[str]:
    """A volume with all kinds of files."""
    with containers.volume() as volume:
        said(containers, volume, FROZEN)
        yield volume


def said(containers: Containers, volume: str, script: str, *more: str) -> str:
    """What a script prints that has a volume in `/data`; it may have `more` capabilities."""
    options = {
        "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", *more],
        "binds": {volume: {"bind": "/data"}},
    }
    code, output = containers.run(LOAD_IMAGE, ["bash", "-ec", script], 20, options, user=ROOT_USER)
    assert code == 0, output
    return output


@contextmanager
def left_over(containers: Containers, volume: str) -> Iterator[None]:
    """A container of ours that has a volume."""
    with containers.connection.api() as api:
        has = api.create_host_config(binds={volume: {"bind": "/data"}})
        mine = dict(containers.labels)
        left = api.create_container(LOAD_IMAGE, ["true"], labels=mine, host_config=has)["Id"]
    yield
    containers.connection.remove([left])


def test_an_arm_gets_the_copy_of_an_earlier_one_and_finds_what_was_frozen(
    copies: Copies, containers: Containers, frozen: str
) -> None:
    expected = said(containers, frozen, LISTED)
    used = []
    for _ in range(3):
        with copies.lent(JOB, containers, {"data": frozen}) as lent:
            assert said(containers, lent["data"], LISTED) == expected
            said(containers, lent["data"], CHANGED)
            assert said(containers, lent["data"], LISTED) != expected
            used.append(lent["data"])
    assert len({*used}) == 1


def test_two_arms_at_once_have_a_copy_each(
    copies: Copies, containers: Containers, frozen: str
) -> None:
    with (
        copies.lent(JOB, containers, {"data": frozen}) as one,
        copies.lent(JOB, containers, {"data": frozen}) as other,
    ):
        assert one["data"] != other["data"]


def test_a_copy_that_a_container_still_has_is_not_lent(
    copies: Copies, containers: Containers, frozen: str
) -> None:
    """A process before this one may have been killed."""
    with copies.lent(JOB, containers, {"data": frozen}) as lent:
        first = lent["data"]
    with left_over(containers, first), copies.lent(JOB, containers, {"data": frozen}) as lent:
        assert lent["data"] != first


def test_a_file_that_cannot_be_copied_is_not_left_out(
    copies: Copies, containers: Containers, frozen: str
) -> None:
    said(containers, frozen, "mknod /data/device c 1 3", "MKNOD")
    with pytest.raises(Infrastructure, match=r"cannot be copied: .*device.*not permitted"):
        copies.lent(JOB, containers, {"data": frozen}).__enter__()
