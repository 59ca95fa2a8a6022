"""The benchmark's own rules: what is run, what it is held to, and that it goes on."""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.benchmarks import search
from tests.benchmarks.replay import jobs, tables
from tests.benchmarks.replay.figures import summary
from tests.benchmarks.replay.intervals import Figure
from tests.benchmarks.replay.jobs import DEFAULT_SAMPLER, Case, Rival, Scene, run
from tests.benchmarks.replay.scoring import Result
from tests.benchmarks.replay.tests.recorded import landscape
from tuner.nouns.model import SamplerName

CASE = Case(app="cpu-bound", scene=Scene.PLAIN, level=0.03, method=DEFAULT_SAMPLER, seed=1)
KEPT = Result(verdict="no_difference", shipped=0.0, best=0.2, visited=0.2)
CLAIM = Result(verdict="better", shipped=0.2, best=0.2, visited=0.2)


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One recorded app."""
    caches = (jobs.digest, jobs.landscape, jobs.truth_of, jobs._shapes)
    monkeypatch.setattr(jobs, "LANDSCAPES", tmp_path)
    (tmp_path / "cpu-bound.json").write_text(landscape().model_dump_json())
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def options(**changes: object) -> Namespace:
    values: dict[str, object] = {"only": [], "sampler": None, "seeds": 200, "budget": "standard"}
    return Namespace(**{**values, "bad_machine": False, "smoothed": False, **changes})


def verdicts(found: Mapping[Case, list[Result]]) -> dict[str, bool | None]:
    groups = {case.group: case for case in found}
    rows = {case.group: results for case, results in found.items()}
    summaries = {group: summary(results) for group, results in rows.items()}
    return {v.figure: v.holds for v in search.thresholds(groups, rows, summaries)}


def test_every_landscape_noise_and_seed_is_run_with_the_default_on_all_truths() -> None:
    cases = list(search.chosen(["cpu-bound", "io-bound"], options()))
    ours = {(c.app, c.level, c.scene, c.seed) for c in cases if c.method == DEFAULT_SAMPLER}
    assert len(ours) == 2 * len(search.BUDGETS) * len(Scene) * 200


def test_a_job_has_the_budget_for_its_noise_where_none_is_named() -> None:
    cases = list(search.chosen(["cpu-bound"], options(budget=None, seeds=1)))
    assert {(case.level, case.budget) for case in cases} == set(search.BUDGETS.items())


def test_cases_can_be_picked_by_key_and_sampler() -> None:
    picked = search.chosen(["cpu-bound"], options(only=["/plain/", "/3%/"], seeds=2))
    assert {(case.scene, case.level, case.seed) for case in picked} == {
        (Scene.PLAIN, 0.03, 1),
        (Scene.PLAIN, 0.03, 2),
    }
    by_sampler = search.chosen(["cpu-bound"], options(sampler=SamplerName.GP, seeds=1))
    assert {case.method for case in by_sampler} == {SamplerName.GP}


def test_a_key_tells_cases_apart_and_follows_the_record(tmp_path: Path) -> None:
    cases = list(search.chosen(["cpu-bound"], options(seeds=3)))
    assert len({case.key for case in cases}) == len(cases)
    before = CASE.key
    (tmp_path / "cpu-bound.json").write_text(landscape(rounds=3).model_dump_json())
    jobs.digest.cache_clear()
    assert CASE.key != before


def test_a_case_gives_the_same_result_again_but_for_its_cpu_time() -> None:
    first, again = (replace(run(CASE), cpu_s=0.0) for _ in range(2))
    assert first == again
    assert first.shipped > 0


@pytest.mark.parametrize("rival", [Rival.TPE_BEST, Rival.TPE_SEEDED_BEST, Rival.RANDOM_BEST])
def test_a_rival_spends_the_seconds_that_it_is_given_on_its_search(rival: Rival) -> None:
    found = run(replace(CASE, method=rival, seconds=1000.0))
    assert 1000.0 <= found.measured_s < 1030.0
    assert found.trials > 20


def test_the_luckiest_trial_claims_a_gain_where_nothing_matters() -> None:
    cases = (
        replace(CASE, scene=Scene.NULL, level=0.08, method=Rival.TPE_BEST, seed=s, seconds=600.0)
        for s in range(20)
    )
    found = [run(case) for case in cases]
    assert sum(result.is_claim for result in found) >= 12
    assert all((result.bias or 0.0) >= 0 for result in found)


def test_a_rival_without_seconds_is_refused() -> None:
    with pytest.raises(ValueError, match="seconds"):
        run(replace(CASE, method=Rival.TPE_BEST))


def test_heuristics_alone_are_confirmed_without_a_search() -> None:
    found = run(replace(CASE, method=Rival.HEURISTICS_DUEL))
    assert found.trials == len(jobs.truth_of("cpu-bound", Scene.PLAIN, "standard").domain.seeds())


def test_results_are_read_back_and_forgotten_when_asked(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    out.write_text(json.dumps({"key": CASE.key, "result": asdict(CLAIM)}) + "\n")
    assert search.stored(out, fresh=False) == {CASE.key: CLAIM}
    assert search.stored(out, fresh=True) == {}


@pytest.mark.parametrize(("claims", "holds"), [(15, True), (16, False)])
def test_at_most_15_of_200_null_jobs_may_claim(claims: int, holds: bool) -> None:
    null = replace(CASE, scene=Scene.NULL)
    found = verdicts({null: [CLAIM] * claims + [KEPT] * (200 - claims)})
    assert found == {"cpu-bound, null, 3 %, standard: false claims": holds}


@pytest.mark.parametrize(("worse", "holds"), [(2, True), (3, False)])
def test_at_most_one_percent_may_ship_something_worse(worse: int, holds: bool) -> None:
    bad = replace(CLAIM, shipped=-0.01)
    found = verdicts({CASE: [bad] * worse + [CLAIM] * (200 - worse)})
    assert found["cpu-bound, plain, 3 %, standard: truly worse"] is holds


@pytest.mark.parametrize(("shipped", "holds"), [(0.191, True), (0.189, False)])
def test_the_median_regret_is_held_to_its_threshold(shipped: float, holds: bool) -> None:
    found = verdicts({CASE: [replace(CLAIM, shipped=shipped)] * 200})
    assert found["cpu-bound, plain, 3 %, standard: regret"] is holds


@pytest.mark.parametrize(("theirs", "holds"), [(0.18, True), (0.181, False)])
def test_our_regret_is_at_most_half_of_that_of_best_trial(theirs: float, holds: bool) -> None:
    ours, rival = [replace(CLAIM, shipped=0.19)] * 200, [replace(CLAIM, shipped=theirs)] * 200
    found = verdicts({CASE: ours, replace(CASE, method=Rival.TPE_BEST): rival})
    name = "cpu-bound, plain, 3 %, standard: regret over that of tpe+best_trial"
    assert found[name] is holds


@pytest.mark.parametrize(
    ("covered", "holds"), [(183, False), (184, True), (196, True), (197, False)]
)
def test_the_interval_holds_in_92_to_98_of_100(covered: int, holds: bool) -> None:
    hit = replace(CLAIM, reported=0.2, low=0.1, high=0.3, compared=0.2)
    miss = replace(hit, low=0.21)
    found = verdicts({CASE: [hit] * covered + [miss] * (200 - covered)})
    assert found["cpu-bound, plain, 3 %, standard: 95 % interval holds"] is holds
    assert found["cpu-bound, plain, 3 %, standard: bias"] is True


@pytest.mark.parametrize(("kept", "holds"), [(20, True), (21, False)])
def test_at_most_a_tenth_of_the_null_lines_may_be_kept(kept: int, holds: bool) -> None:
    planted = replace(CASE, scene=Scene.PLANTED)
    lines = replace(CLAIM, nulls_seen=1, reals_seen=1, reals_kept=1)
    rows = [replace(lines, nulls_kept=1)] * kept + [lines] * (200 - kept)
    found = verdicts({planted: rows})
    assert found["cpu-bound, planted, 3 %, standard: null lines kept"] is holds
    assert found["cpu-bound, planted, 3 %, standard: lines of 4 % or more kept"] is True


def test_the_ask_of_the_default_has_a_threshold_the_others_are_shown() -> None:
    found = search.ask_verdicts({name: [200.0] * 3 for name in search.SAMPLERS})
    assert {v.figure.split(":")[0]: v.holds for v in found} == {
        name.value: False if name == DEFAULT_SAMPLER else None for name in search.SAMPLERS
    }


def test_a_loss_below_the_truths_own_error_is_said_to_be_below_it() -> None:
    assert tables.loss(Figure(0.004, 0.0, 0.01, 200), resolution=0.012) == "< 1.2 % (0.4 %)"
    assert tables.loss(Figure(0.03, 0.02, 0.04, 200), resolution=0.012).startswith("3 % (")


def test_a_table_is_markdown_too() -> None:
    grid = tables.Grid("what", ("a", "b"), [("1", "2")])
    assert grid.markdown() == "**what**\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
