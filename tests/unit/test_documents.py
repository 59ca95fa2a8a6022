"""What a request may hold: nothing that becomes a second line of a file or of a command."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.builders import spec
from tuner.nouns.model import (
    PRESETS,
    HttpRequest,
    Metric,
    Objective,
    PresetBudget,
    SearchSpace,
    Slo,
)

BOOL = {"type": "bool"}


@pytest.mark.parametrize("path", ["cart", "/a b", "/a\nb", "/\x00"])
def test_a_path_is_absolute_and_one_word(path: str) -> None:
    with pytest.raises(ValidationError, match="a path"):
        HttpRequest(path=path)


@pytest.mark.parametrize("headers", [{"X\r\nY": "1"}, {"X": "1\r\nHost: other"}, {"": "1"}])
def test_a_header_cannot_smuggle_another(headers: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        HttpRequest(headers=headers)


@pytest.mark.parametrize(
    "parameters",
    [
        {"processes\nexec-asap": BOOL},
        {"x": {"type": "choice", "values": ["a"], "emit": {"a": {"x\ny": True}}}},
        {"x": {"type": "choice", "values": ["a"], "emit": {"a": {"x": "1\nexec-asap = id"}}}},
        {},
        {f"p{number}": BOOL for number in range(33)},
    ],
)
def test_a_space_cannot_write_a_second_line(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SearchSpace.model_validate({"parameters": parameters})


@pytest.mark.parametrize("document", [{}, {"maximize": "throughput_rps", "minimize": "memory_mb"}])
def test_there_is_exactly_one_objective(document: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="either maximize or minimize"):
        Objective.model_validate(document)


def test_an_objective_knows_its_metric_and_direction() -> None:
    assert Objective(maximize=Metric.THROUGHPUT_RPS).sign == 1
    assert Objective(minimize=Metric.LATENCY_P95_MS).metric is Metric.LATENCY_P95_MS


def test_a_presets_numbers_may_be_replaced_one_by_one() -> None:
    budget = PresetBudget(preset="standard", trials=5).resolve()
    assert (budget.trials, budget.confirm_blocks) == (5, 40)


def test_a_study_uses_its_objective_and_the_metrics_of_its_bounds() -> None:
    chosen = spec(slo=Slo(latency_p99_ms=200.0))
    assert chosen.metrics == {Metric.THROUGHPUT_RPS, Metric.LATENCY_P99_MS}


@pytest.mark.parametrize(("cycles", "of_race"), [(1, 1), (2, 2), (4, 2), (16, 8)])
def test_a_race_has_half_the_windows_of_other_blocks(cycles: int, of_race: int) -> None:
    budget = PRESETS["standard"].model_copy(update={"cycles": cycles})
    assert budget.race_cycles == of_race


def test_an_objective_names_each_metric_once() -> None:
    with pytest.raises(ValidationError, match="names a metric twice"):
        Objective.model_validate(
            {"maximize": "throughput_rps", "also": [{"maximize": "throughput_rps"}]}
        )
