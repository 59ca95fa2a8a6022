"""One of each fault that `make bench-faults` plays, where no other test has it.

Each scene is a process of its own; what it asserts is in `tests/benchmarks/scenes.py`.
"""

import pytest

from tests.benchmarks import faults, scenes

pytestmark = [pytest.mark.full, pytest.mark.timeout(faults.SCENE_ENDS_WITHIN_S)]

FAULTS = (
    "the clock jumps by an hour, four times",
    "a worker hangs until another has its work",
    "a neighbour eats the memory",
    "10 % of the packets are lost",
)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_job_under_a_fault_ends_as_one_that_nothing_disturbs(fault: str) -> None:
    lacking = scenes.missing(fault)
    if lacking is not None:
        pytest.skip(f"there is no {lacking}")
    found = faults.played(fault, 0)
    assert sum(found["struck"].values()) > 0, found
    assert found["differs"] == [], found
