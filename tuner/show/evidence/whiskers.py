"""Effects as small pictures beside their figures."""

from collections.abc import Sequence

from tuner.nouns import wording
from tuner.nouns.model import Effect
from tuner.show.evidence.document import Whisker


def whiskers(effects: Sequence[Effect | None]) -> tuple[Whisker | None, ...]:
    """Pictures on one scale, which holds all figures and most intervals; none without effects."""
    known = [effect for effect in effects if effect is not None]
    ends = [wording.bounded(end) for effect in known for end in (effect.ci_low, effect.ci_high)]
    sizes = sorted(abs(end) for end in ends if end is not None)
    most = sizes[(3 * len(sizes)) // 4 - 1] if sizes else 0.0
    reach = 1.1 * max([*(abs(effect.estimate) for effect in known), most, 0.01])
    return tuple(_whisker(own, reach) if own else None for own in effects) if known else ()


def _whisker(effect: Effect, reach: float) -> Whisker:
    """The effect turned so that better is to the right."""
    sign = effect.metric.sign
    low, high = wording.bounded(effect.ci_low), wording.bounded(effect.ci_high)
    if sign < 0:
        low, high = (None if high is None else -high), (None if low is None else -low)
    return Whisker(gain=sign * effect.estimate, low=low, high=high, reach=reach)
