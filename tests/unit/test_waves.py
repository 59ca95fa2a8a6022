"""How well a window counts the answers of a server that works in waves."""

from statistics import median

import pytest

from tuner.bench.load.probe import rows
from tuner.bench.load.probe.rows import Row
from tuner.nouns.model import ANSWERS_OF_A_CONNECTION

CONNECTIONS = 200
HEAD_S = 0.5


def answers(wave_s: float, length_s: float, read_share: float) -> list[Row]:
    """A server that reads all requests, then writes all answers, in waves of `wave_s`.

    Connections that have their answer send at once, until `length_s`.
    """
    found, began_s = [], 0.0
    while began_s < length_s:
        writes_from_s = began_s + read_share * wave_s
        step_s = (1 - read_share) * wave_s / CONNECTIONS
        ends = [writes_from_s + step_s * (n + 1) for n in range(CONNECTIONS)]
        sent = [end - wave_s if began_s else 0.0 for end in ends]
        found += [(at, at, end, True) for at, end in zip(sent, ends, strict=True) if at < length_s]
        began_s += wave_s
    return found


def errors(waves: float, read_share: float) -> list[float]:
    """How far the counts of windows of so many waves are from the true rate, as shares of it."""
    found = []
    for wave_s in (tenths / 10 for tenths in range(6, 41)):
        length_s = waves * wave_s
        served = answers(wave_s, length_s, read_share)
        counted = rows.summary(served, head_s=HEAD_S, length_s=length_s)
        rate_rps = counted["requests"] / counted["duration_s"]
        found.append(abs(rate_rps * wave_s / CONNECTIONS - 1))
    return found


@pytest.mark.parametrize(("read_share", "worst"), [(0.5, 0.11), (0.9, 0.2)])
def test_a_window_of_several_waves_counts_them_better_than_one_of_one(
    read_share: float, worst: float
) -> None:
    long, short = errors(ANSWERS_OF_A_CONNECTION, read_share), errors(1, read_share)
    assert median(short) == pytest.approx(0.27, abs=0.02)
    assert median(long) == pytest.approx(0.045, abs=0.01)
    assert max(long) == pytest.approx(worst, abs=0.01)
