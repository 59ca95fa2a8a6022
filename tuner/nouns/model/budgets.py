"""How much measuring a job may do: in numbers, or by name."""

from typing import Literal

from pydantic import Field

from tuner.nouns.model.base import Document
from tuner.nouns.model.conditions import SCENE_S

RUNS_OF_A_BLOCK = 4
"""Configurations of an ablation in one block, beside the baseline."""

WARM_UPS_AT_MOST = 4
"""The longest warm-up of an arm that does not get steady, in multiples of `warmup_s`."""

ANSWERS_OF_A_CONNECTION = 5
"""A window of fewer may begin or end within a wave of answers, which moves its count."""

LONGER_AT_MOST = 4
"""The longest window of a comparison in which requests take long, in multiples of `window_s`."""


GATE_BLOCKS = 12
"""Blocks of the race's winner alone before an ablation, at most: until it surely gains, or not."""


class Budget(Document):
    """How much measuring a job may do. Times are seconds of load; starts come on top."""

    trials: int = Field(ge=0, le=1000, description="blocks of the search, each with a candidate")
    calibrate_blocks: int = Field(2, ge=2, le=64, description="A/A blocks before the search")
    confirm_blocks: int = Field(ge=0, le=256, description="fresh blocks for the verdict, at most")
    conditions: int = Field(
        0, ge=0, le=8, description="conditions of production that a better file is checked under"
    )
    condition_blocks: int = Field(
        8,
        ge=4,
        le=64,
        description="blocks of a condition, at most: a clear one ends early",
    )
    scene_blocks: int = Field(
        0, ge=0, le=16, description="blocks in which a better file meets what goes wrong; 0: none"
    )
    compare_blocks: int = Field(0, ge=0, le=256, description="blocks of a comparison")
    race: int = Field(0, ge=0, le=16, description="candidates that race; 0: none do")
    race_blocks: int = Field(
        4, ge=4, le=32, description="blocks of the race's first round; fewer candidates get more"
    )
    ablate_runs: int = Field(
        0, ge=0, le=480, multiple_of=24, description="runs of the ablation; 0: there is none"
    )
    cycles: int = Field(2, ge=1, le=64, description="windows of each arm in one block")
    window_s: float = Field(2.0, ge=0.5, le=120, description="seconds of load in one window")
    warmup_s: float = Field(1.0, ge=0, le=120, description="seconds of load before the first one")
    minutes: float | None = Field(
        None, gt=0, le=1440, description="measure less, to end within about this"
    )

    @property
    def block_load_s(self) -> float:
        """Seconds of load in one block of two arms, warm-up included."""
        return 2 * self.arm_load_s(self.cycles)

    @property
    def race_cycles(self) -> int:
        """Cycles of a block of the race: half as many, because more starts tell more there.

        Not fewer: long blocks are for a host on which windows differ more than starts do.
        """
        return min(self.cycles, max(2, self.cycles // 2))

    @property
    def race_rounds(self) -> tuple[int, ...]:
        """Candidates in each round of the race: after every one the better half goes on."""
        rounds, racing = [], self.race
        while racing > 1:
            rounds.append(racing)
            racing = -(-racing // 2)
        return tuple(rounds)

    def blocks_of_round(self, racing: int, *, entered: int) -> int:
        """Blocks of a round of `racing` candidates: every round takes about as long."""
        return self.race_blocks * max(1, entered // racing)

    @property
    def arms_at_once(self) -> int:
        """Arms of the largest block of a tuning job."""
        ablated = RUNS_OF_A_BLOCK if self.ablate_runs else 1
        return 1 + max(1, ablated, *self.race_rounds)

    def scenes_s(self, scenes: int) -> float:
        """Seconds of load of both arms in all blocks of so many scenes."""
        return self.scene_blocks * 2 * (self.warmup_s + scenes * SCENE_S)

    def arm_load_s(self, cycles: int, warm_ups: int = 1) -> float:
        """Seconds of load on one arm of a block of `cycles`, with so many warm-ups."""
        return warm_ups * self.warmup_s + cycles * self.window_s


_STANDARD = Budget(
    trials=30,
    calibrate_blocks=4,
    race=4,
    ablate_runs=96,
    confirm_blocks=40,
    conditions=8,
    scene_blocks=4,
    cycles=4,
    window_s=2.5,
    warmup_s=3.0,
)
_THOROUGH = {
    "trials": 60,
    "calibrate_blocks": 8,
    "race": 8,
    "race_blocks": 8,
    "ablate_runs": 144,
    "confirm_blocks": 80,
}
PRESETS = {
    "demo": Budget(trials=8, confirm_blocks=8, cycles=2, window_s=1.5, warmup_s=1.0),
    "quick": Budget(
        trials=16,
        calibrate_blocks=4,
        race=3,
        confirm_blocks=16,
        conditions=1,
        condition_blocks=6,
        scene_blocks=2,
        cycles=2,
        window_s=2.5,
        warmup_s=1.5,
    ),
    "standard": _STANDARD,
    "thorough": _STANDARD.model_copy(update=_THOROUGH),
    "noisy": _STANDARD.model_copy(update={"race": 8, "ablate_runs": 192, "cycles": 16}),
}
"""Budgets by name; the figures behind them are in `docs/searching.md`."""


_ABOUT = {name: field.description for name, field in Budget.model_fields.items()}


class PresetBudget(Document):
    """A budget by name, optionally with some of its numbers replaced."""

    preset: Literal["demo", "quick", "standard", "thorough", "noisy"] = Field(
        "quick", description="the budget by name; the fields below replace its numbers"
    )
    trials: int | None = Field(None, ge=1, le=1000, description=_ABOUT["trials"])
    calibrate_blocks: int | None = Field(None, ge=2, le=64, description=_ABOUT["calibrate_blocks"])
    confirm_blocks: int | None = Field(None, ge=4, le=256, description=_ABOUT["confirm_blocks"])
    conditions: int | None = Field(None, ge=0, le=8, description=_ABOUT["conditions"])
    condition_blocks: int | None = Field(None, ge=4, le=64, description=_ABOUT["condition_blocks"])
    scene_blocks: int | None = Field(None, ge=0, le=16, description=_ABOUT["scene_blocks"])
    race: int | None = Field(None, ge=0, le=16, description=_ABOUT["race"])
    race_blocks: int | None = Field(None, ge=4, le=32, description=_ABOUT["race_blocks"])
    ablate_runs: int | None = Field(
        None, ge=0, le=480, multiple_of=24, description=_ABOUT["ablate_runs"]
    )
    cycles: int | None = Field(None, ge=1, le=64, description=_ABOUT["cycles"])
    window_s: float | None = Field(None, ge=0.5, le=120, description=_ABOUT["window_s"])
    warmup_s: float | None = Field(None, ge=0, le=120, description=_ABOUT["warmup_s"])
    minutes: float | None = Field(None, gt=0, le=1440, description=_ABOUT["minutes"])

    def resolve(self) -> Budget:
        """The preset's numbers with the given ones in their place."""
        given = self.model_dump(exclude={"preset"}, exclude_none=True)
        return PRESETS[self.preset].model_copy(update=given)
