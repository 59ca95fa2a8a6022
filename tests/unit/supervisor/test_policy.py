"""Restarting, with a clock of our own."""

from dataclasses import dataclass, field

from tuner.nouns.errors import Unavailable
from tuner.service.supervisor import Backoff, Kept


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Child:
    clock: Clock
    starts: list[float] = field(default_factory=list)
    code: int | None = None
    refuses: int = 0

    def start(self) -> None:
        self.starts.append(self.clock.now)
        if self.refuses:
            self.refuses -= 1
            raise Unavailable("postgresql", "not yet")
        self.code = None

    def poll(self) -> int | None:
        return self.code


def _kept(refuses: int = 0) -> tuple[Clock, Child, Kept]:
    clock = Clock()
    made = Child(clock, refuses=refuses)
    return clock, made, Kept("child", made.start, made.poll, clock)


def test_the_delay_doubles_up_to_five_seconds() -> None:
    backoff = Backoff()
    assert [backoff.after(0.0) for _ in range(7)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_a_child_that_ran_for_half_a_minute_begins_anew() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.after(1.0)
    assert backoff.after(30.0) == 0.2
    assert backoff.after(1.0) == 0.4


def test_a_child_is_started_at_once_and_then_left_alone() -> None:
    clock, child, kept = _kept()
    for _ in range(3):
        assert kept.look() is None
        clock.now += 1
    assert child.starts == [100.0]


def test_a_dead_child_is_started_again_after_the_delay() -> None:
    clock, child, kept = _kept()
    kept.look()
    child.code, clock.now = -9, 101.0
    assert kept.look() == -9
    assert kept.look() is None
    assert child.starts == [100.0]
    clock.now = 101.3
    kept.look()
    assert child.starts == [100.0, 101.3]


def test_a_child_that_cannot_be_started_is_tried_again() -> None:
    clock, child, kept = _kept(refuses=2)
    for _ in range(10):
        kept.look()
        clock.now += 0.1
    assert len(child.starts) == 3
