"""The answers of an app over time, as a small picture in a row of a table."""

from collections.abc import Sequence

from tuner.nouns.model import Effect
from tuner.nouns.wording import bounded, percent
from tuner.show.charts.svg import escaped, line, mark, path

_WIDTH, _HEIGHT, _MARGIN = 132, 34, 7  # pixels
_FARTHEST = 3.0
"""An interval is drawn at most this many times as far as the effects themselves reach."""


def sparkline(effects: Sequence[Effect | None]) -> str:
    """Effects with their intervals, the oldest first, better above the line of 0.

    None is an answer without a figure: its place stays empty. Empty where no figure is known.
    """
    known = [(place, effect) for place, effect in enumerate(effects) if effect is not None]
    if not known:
        return ""
    reach = _FARTHEST * max(0.01, *(abs(effect.estimate) for _, effect in known))
    gains = [(place, *_gain(effect, reach)) for place, effect in known]
    low = min(0.0, *(ends[1] for ends in gains))
    high = max(0.0, *(ends[2] for ends in gains))

    def x(place: int) -> float:
        return _MARGIN + place / max(1, len(effects) - 1) * (_WIDTH - 2 * _MARGIN)

    def y(share: float) -> float:
        return _HEIGHT - _MARGIN - (share - low) / ((high - low) or 1.0) * (_HEIGHT - 2 * _MARGIN)

    said = ", ".join(percent(effect.estimate) for _, effect in known)
    parts = [path(f"M0 {y(0):.1f}H{_WIDTH}", "grid")]
    parts += [path(f"M{x(n):.1f} {y(a):.1f}V{y(b):.1f}", "s5 thin") for n, _, a, b in gains]
    parts += [line([(x(n), y(gain)) for n, gain, _, _ in gains], 5, kind="thin")]
    parts += [mark(x(n), y(gain), 0) for n, gain, _, _ in gains]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart spark" role="img" width="{_WIDTH}"'
        f' height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"<title>{escaped(f'effects, the oldest first: {said}')}</title>{''.join(parts)}</svg>\n"
    )


def _gain(effect: Effect, reach: float) -> tuple[float, float, float]:
    """The effect turned so that better is above, with both ends of its interval."""
    ends = [bounded(end) for end in (effect.ci_low, effect.ci_high)]
    low, high = (
        own if end is None else max(-reach, min(end, reach))
        for end, own in zip(ends, (-reach, reach), strict=True)
    )
    sign = effect.metric.sign
    one, other = sign * low, sign * high
    return sign * effect.estimate, min(one, other), max(one, other)
