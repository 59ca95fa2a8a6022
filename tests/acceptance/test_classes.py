"""The bottleneck is named: one run of every scene; `make bench-classes` counts how often."""

import pytest

from tests.bench_scenes import SCENES, Scene
from tests.bench_sides import opened

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.bottleneck.value)
def test_what_was_provoked_is_named(scene: Scene) -> None:
    with opened() as bench:
        found = scene.diagnosed(scene.play(bench, seed=1).windows)
    assert found.bottleneck is scene.bottleneck, dict(found.evidence)
