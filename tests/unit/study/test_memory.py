"""What is learnt of an app's memory keeps the search from what would not fit."""

from dataclasses import replace

import pytest

from tests.builders import block, pair
from tests.unit.study.scenes import rows, state, trial
from tuner.nouns.model import History, MemoryLine, Phase
from tuner.study.candidates import learnt


def used(**by_slots: float) -> History:
    """Trials of `p8t2=200.0`: eight processes of two threads that used 200 MB."""
    trials, blocks = [], []
    for number, (name, megabytes) in enumerate(by_slots.items(), start=1):
        processes, threads = (int(part) for part in name[1:].split("t"))
        trials.append(trial(number, 0.1, processes=processes, threads=threads))
        windows = pair(100, 110, memory_mb=megabytes)
        windows[0] = replace(windows[0], memory_mb=None)
        blocks.append(block(windows, arms=(0, number), sequence=number))
    return rows(Phase.SEARCH, tuple(trials), tuple(blocks))


def test_two_configurations_say_no_more_than_prepare_did() -> None:
    history = used(p2t1=60.0, p4t1=100.0)
    assert history.job.facts is not None
    assert learnt(history) == history.job.facts.memory


def test_threads_have_a_part_of_their_own() -> None:
    line = learnt(used(p2t1=52.0, p4t1=84.0, p4t4=108.0, p8t2=164.0))
    assert line is not None
    assert line.base_mb == pytest.approx(20, abs=1e-6)
    assert line.per_process_mb == pytest.approx(14, abs=1e-6)
    assert line.per_thread_mb == pytest.approx(2, abs=1e-6)


def test_a_part_that_would_be_below_nothing_is_left_out() -> None:
    line = learnt(used(p2t1=60.0, p4t1=100.0, p4t4=97.0, p8t1=180.0))
    assert line is not None
    assert line.per_thread_mb == 0.0
    assert line.per_process_mb == pytest.approx(20, abs=1.0)


def test_what_would_not_fit_breaks_a_rule_before_it_is_started() -> None:
    domain = state(used(p2t1=160.0, p3t1=220.0, p4t1=280.0)).domain
    assert domain.memory is not None
    assert not domain.broken({**domain.baseline, "processes": 6})  # 400 MB
    broken = domain.broken({**domain.baseline, "processes": 8})  # 520 MB of 85 % of 512
    assert "would not fit" in broken[0].reason


def test_the_users_own_file_always_fits() -> None:
    domain = replace(
        state(used(p2t1=60.0)).domain, memory=MemoryLine(base_mb=900.0, per_process_mb=1.0)
    )
    assert not domain.broken(domain.baseline)
