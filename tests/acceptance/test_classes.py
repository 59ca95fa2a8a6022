"""The bottleneck is named in one of six starts of every scene; `make bench-classes` counts.

What is provoked does not come about in every single start: whether a herd of processes wakes up
for each connection depends on how the kernel's scheduler has spread them.
"""

import pytest

from tests.bench_arms import opened
from tests.bench_scenes import SCENES, Scene

pytestmark = [pytest.mark.full, pytest.mark.docker]


STARTS = 6


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.bottleneck.value)
def test_what_was_provoked_is_named(scene: Scene) -> None:
    found = []
    with opened() as bench:
        for seed in range(1, STARTS + 1):
            found.append(scene.diagnosed(scene.play(bench, seed=seed).windows))
            if found[-1].bottleneck is scene.bottleneck:
                return
    pytest.fail(f"{[(one.bottleneck, dict(one.evidence)) for one in found]}")
