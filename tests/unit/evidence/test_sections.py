"""What a page says, in HTML and in Markdown."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from tests import builders, finished_jobs
from tuner.nouns.model import (
    PRESETS,
    Aim,
    ChangedLine,
    Comparison,
    Compromise,
    Danger,
    Evidence,
    History,
    HttpRequest,
    Job,
    Journey,
    LeftOut,
    Metric,
    MissedBound,
    Objective,
    Phase,
    Preflight,
    PreflightFinding,
    Recommendation,
    RequestFigures,
    ServiceFigures,
    ServiceUse,
    Surroundings,
    Verdict,
)
from tuner.show import evidence
from tuner.show.evidence.document import (
    Bullets,
    Code,
    Document,
    Facts,
    Folded,
    Gallery,
    Listing,
    Paragraph,
    Part,
    Picture,
    Section,
    Strong,
    Table,
    Words,
    words_of,
)


def composed(found: Recommendation | None = None, **changes: object) -> Document:
    return evidence.compose(evidence.collect(finished_jobs.history(found, **changes)))


def titles(document: Document) -> list[str]:
    return [section.title for section in document.sections]


def section(document: Document, title: str) -> Section:
    return next(section for section in document.sections if section.title == title)


def plain(words: Words) -> str:
    return "".join(w.text if isinstance(w, Code | Strong) else w for w in words_of(words))


def told(parts: Iterable[Part]) -> Iterator[str]:
    """Every text of some parts, a line each."""
    for part in parts:
        match part:
            case Paragraph(words=words):
                yield plain(words)
            case Bullets(items=items):
                yield from (plain(words) for words in items)
            case Facts(rows=facts):
                yield from (f"{name}: {plain(words)}" for name, words in facts)
            case Table(rows=rows):
                yield from (" | ".join(plain(cell) for cell in row) for row in rows)
            case Listing(text=text):
                yield text
            case Picture(caption=caption) | Gallery(caption=caption):
                yield caption
            case Folded(parts=inner):
                yield from told(inner)


def text(document: Document, title: str) -> str:
    return "\n".join(told(section(document, title).parts))


def without_evidence(verdict: Verdict, estimate: float) -> Recommendation:
    """An answer that leaves the user's file alone, as a job of old would have stored it."""
    comparison = replace(finished_jobs.comparison(verdict, estimate), looks=())
    return finished_jobs.recommendation(
        comparison=comparison,
        lines=(),
        reverted=(finished_jobs.line("processes", "6", "2"),),
        uwsgi_ini=finished_jobs.OWN_INI,
        overlay_ini="",
        evidence=Evidence(),
    )


def untested() -> Recommendation:
    nothing = Comparison(
        verdict=Verdict.NO_DIFFERENCE,
        effect=None,
        p_better=None,
        mde=None,
        blocks=0,
        reason="no candidate kept its bounds",
    )
    base = without_evidence(Verdict.NO_DIFFERENCE, 0.0)
    return replace(base, comparison=nothing, candidate=None, reverted=(), doubts=())


def test_the_answer_is_one_sentence_with_effect_interval_blocks_and_probability() -> None:
    headline = composed().headline
    assert plain(headline.answer) == (
        "Deploy the new file for checkout: +9.8 % requests per second "
        "(95 % CI +7.4 % .. +12.2 %), from 16 fresh blocks, P(better) over 99.9 %."
    )
    assert headline.verdict == "better"
    assert [figure.value for figure in headline.figures] == ["+9.8 %", "over 99.9 %", "2.7 %", "0"]


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.WORSE, "Keep your file for checkout: the candidate is worse, -4.0 %"),
        (
            Verdict.NO_DIFFERENCE,
            "Keep your file for checkout: no difference is worth a",
        ),
        (
            Verdict.INCONCLUSIVE,
            "Keep your file for now for checkout: the measurement is inconclusive",
        ),
    ],
)
def test_a_file_is_kept_unless_the_verdict_is_better(verdict: Verdict, words: str) -> None:
    document = composed(without_evidence(verdict, -0.04))
    assert plain(document.headline.answer).startswith(words)
    assert "byte for byte" in text(document, "The file")
    assert "processes | 2 | 6 | not ablated" in text(document, "Tried, and not recommended")


def test_services_are_shown_under_both_files_beside_the_bottleneck() -> None:
    own = ServiceFigures(cores=0.3, cpu=0.6, throttled=0.0, memory_mb=90.4, written_mb=12.0)
    tried = ServiceFigures(cores=0.49, cpu=0.98, throttled=0.4, memory_mb=95.0, written_mb=24.0)
    services = (
        ServiceUse(name="postgres", baseline=own, candidate=tried),
        ServiceUse(
            name="redis",
            baseline=ServiceFigures(cores=0.3, memory_mb=90.4, oom_kills=1),
            candidate=None,
        ),
    )
    document = composed(finished_jobs.recommendation(services=services))
    shown = text(document, "What limits the app")
    assert (
        "postgres | CPU 60.0 %, throttled 0.0 %, 90 MB, wrote up to 12.0 MB a block"
        " | CPU 98.0 %, throttled 40.0 %, 95 MB, wrote up to 24.0 MB a block (+12.0 MB)"
    ) in shown
    assert "redis | 90 MB, 1 OOM kill | not measured" in shown
    assert "| `postgres` | CPU 60.0 %" in evidence.markdown(document)
    assert "throttled 40.0\N{NO-BREAK SPACE}%" in evidence.page(document)
    assert "| `" not in text(composed(), "What limits the app")


def test_an_answer_without_blocks_has_no_figures() -> None:
    document = composed(untested(), trials=finished_jobs.trials(0), measurements=())
    answer = plain(document.headline.answer)
    assert answer == "Keep your file for checkout: no candidate reached the confirmation."
    assert document.headline.reason == "No candidate kept its bounds."
    assert document.headline.figures == ()
    assert not [s for s in document.sections if s.is_evidence]


def test_every_kept_line_has_its_effect_and_the_lines_measured_with_it() -> None:
    rows = text(composed(), "What changes").splitlines()
    assert rows[0].startswith("processes | 2 | 6 | +9.5 % requests per second (95 % CI +8.2 %")
    assert rows[0].endswith("together with threads")
    assert rows[1].startswith("threads | not set | 2 | ")
    assert "together" not in rows[2]


def test_a_line_that_was_not_measured_apart_says_so() -> None:
    found = finished_jobs.recommendation(lines=(finished_jobs.line("threads", "2", None),))
    changed = text(composed(found), "What changes")
    assert "threads | not set | 2 | not ablated" in changed
    assert "the share of this line is unknown" in changed


def test_a_line_that_comes_out_and_what_else_it_changes_are_shown() -> None:
    out = ChangedLine(option="http", value=None, baseline_value=":8000", note="behind a proxy")
    changed = text(composed(finished_jobs.recommendation(lines=(out,))), "What changes")
    assert "http | :8000 | not set | not ablated" in changed
    assert "Note: behind a proxy" in changed


def test_lines_put_back_say_whether_they_are_noise_or_harm() -> None:
    back = text(composed(), "Put back to your values")
    assert "inside noise: +0.3 % (-0.9 % .. +1.5 %)" in back
    assert "harmful: -1.6 % (-2.8 % .. -0.4 %)" in back


def test_less_latency_is_better_and_more_memory_is_worse() -> None:
    rows = text(composed(), "Side effects")
    assert "p95 latency | -4.1 % | -6.1 % .. -2.1 % | better" in rows
    assert "memory | +31.0 % | +26.0 % .. +36.0 % | worse" in rows
    assert "Errors of the candidate: 0 of 182 431 requests." in rows


def test_in_pictures_better_is_to_the_right_for_every_metric() -> None:
    table = next(p for p in section(composed(), "Side effects").parts if isinstance(p, Table))
    bars = [whisker for whisker in table.whiskers if whisker]
    assert [bar.gain for bar in bars] == [pytest.approx(0.041), pytest.approx(-0.31)]
    assert bars[0].low == pytest.approx(0.021)
    assert bars[0].high == pytest.approx(0.061)


def test_the_smallest_detectable_effect_and_equal_files_are_shown() -> None:
    trust = text(composed(), "How reliable it is")
    assert "smallest detectable effect: 2.7 %, from the noise of the confirmation" in trust
    assert (
        "two equal files (A/A): differ by +0.2 % (99.9 % CI -1.1 % .. +1.5 %) in 4 blocks" in trust
    )
    assert "the CPU quota ran out" in trust


@pytest.mark.parametrize(
    ("budget", "longer"), [("quick", "budget standard"), ("standard", "budget noisy")]
)
def test_a_coarse_job_is_advised_to_use_longer_blocks(budget: str, longer: str) -> None:
    assert f"the longer blocks of the {longer}" in _trust_of_a_coarse_job(budget)
    assert "longer blocks" not in _trust_of_a_coarse_job("noisy")


def _trust_of_a_coarse_job(budget: str) -> str:
    job = finished_jobs.job(finished_jobs.recommendation())
    spec = job.spec.model_copy(update={"budget": PRESETS[budget], "min_effect": 0.01})
    trust = text(composed(job=replace(job, spec=spec)), "How reliable it is")
    assert "2.7 %, from the noise of the confirmation; the job asked for 1.0 %" in trust
    return trust


@pytest.mark.parametrize("ends", [(-math.inf, math.inf), (math.log(0.05), math.log(21))])
def test_an_interval_of_the_bias_that_says_nothing_is_not_shown(ends: tuple[float, float]) -> None:
    few = replace(finished_jobs.CALIBRATION, bias_ci_low=ends[0], bias_ci_high=ends[1])
    job = finished_jobs.job(finished_jobs.recommendation(), calibration=few)
    trust = text(composed(job=job), "How reliable it is")
    assert "in 4 blocks, too few to tell bias from noise; sd of a block" in trust
    assert "99.9 %" not in trust


def test_an_interval_without_bounds_is_said_to_be_so() -> None:
    effect = replace(finished_jobs.effect(0.1, 0.0), ci_low=-0.2, ci_high=math.expm1(50))
    lines = (finished_jobs.line("threads", "2", None, effect),)
    found = finished_jobs.recommendation(lines=lines)
    assert "95 % CI -20.0 % .. unbounded" in text(composed(found), "What changes")


def test_a_job_without_a_calibration_says_nothing_about_it() -> None:
    job = finished_jobs.job(untested(), calibration=None)
    document = composed(job=job, measurements=())
    assert "How reliable it is" not in titles(document)


def test_the_evidence_comes_in_the_order_of_the_job() -> None:
    evidence = [s.title for s in composed().sections if s.is_evidence]
    assert evidence == [
        "The search",
        "Parameter by parameter",
        "The race",
        "What each line contributes",
        "The confirmation",
        "Which parameters matter",
    ]


def test_a_job_stored_before_there_was_evidence_has_fewer_sections() -> None:
    document = composed(without_evidence(Verdict.NO_DIFFERENCE, 0.01))
    assert [s.title for s in document.sections if s.is_evidence] == [
        "The search",
        "The confirmation",
    ]
    assert "Skipped and not tried" not in titles(document)


def test_the_best_of_the_search_is_called_no_evidence() -> None:
    search = text(composed(), "The search")
    assert (
        "The best trial of the search stands at +20.9 %. That is optimistic, and no evidence:"
        in search
    )
    assert "30 trials: 27 complete, 3 infeasible. It ended because the best did not rise" in search


def test_a_failed_trial_is_shown_with_its_log() -> None:
    search = text(composed(), "The search")
    assert "Trial 4: Out of memory: the kernel killed it at 512 MB." in search
    assert "worker 9 died, killed by signal 9" in search


def test_the_race_says_which_candidates_left_or_were_unstable() -> None:
    race = text(composed(), "The race")
    assert "1 | trial 4 | +15.0 % | +10.5 % .. +19.7 % | 4 | stays" in race
    assert "2 | trial 6 (unstable) | +7.3 % | +3.0 % .. +11.6 % | 4 | leaves" in race


def test_a_factor_without_bounds_is_shown_as_unbounded() -> None:
    evidence = finished_jobs.evidence()
    assert evidence.ablation is not None
    blind = replace(evidence.ablation.factors[2], low=-math.inf, high=math.inf, p=0.5)
    ablation = replace(evidence.ablation, factors=(blind,))
    found = finished_jobs.recommendation(evidence=replace(evidence, ablation=ablation))
    rows = text(composed(found), "What each line contributes")
    assert "thunder-lock | +0.3 % | unbounded | 0.5 | put back" in rows


def test_skipped_phases_and_untried_values_are_listed_word_for_word() -> None:
    gaps = text(composed(), "Skipped and not tried")
    assert gaps.splitlines() == [
        "no second day was measured: what differs from day to day is not in the interval",
        "processes above 14: the fitted memory line says that they need 530 MB",
    ]


def test_several_objectives_show_their_front_and_the_reason_of_the_choice() -> None:
    evidence = replace(
        finished_jobs.evidence(),
        front=finished_jobs.several_objectives(),
        chosen_because="it needs the least memory of those not clearly behind",
    )
    job = finished_jobs.job(finished_jobs.recommendation(evidence=evidence))
    both = Objective(maximize=Metric.THROUGHPUT_RPS, also=(Aim(minimize=Metric.MEMORY_MB),))
    job = replace(job, spec=job.spec.model_copy(update={"objective": both}))
    front = text(composed(job=job), "Several objectives")
    assert "It needs the least memory of those not clearly behind." in front
    assert "2 (chosen) | +10.5 % | -22.1 %" in front


def test_one_objective_has_no_front() -> None:
    evidence = replace(finished_jobs.evidence(), front=finished_jobs.several_objectives())
    document = composed(finished_jobs.recommendation(evidence=evidence))
    assert "Several objectives" not in titles(document)


def test_provenance_names_all_that_it_takes_to_do_it_again() -> None:
    rows = text(composed(), "Where it comes from")
    for words in (
        "machine: Test CPU, 2 CPUs",
        f"uWSGI: 2.0.31; image {builders.FACTS.image_digest}",
        "limits: 1 CPU, 512 MB, somaxconn 4096",
        "load: closed loop of 64 connections; GET /",
        "seed 1, sampler tpe",
        "windows began: 2026-11-21 12:00",
    ):
        assert words in rows


def test_provenance_says_how_much_slower_the_cpu_was_at_times() -> None:
    history = finished_jobs.history()
    windows = [
        builders.window(surroundings=Surroundings(cpu_speed=speed)) for speed in (15.0, 20.0, 13.0)
    ]
    seen = replace(history, measurements=(*history.measurements, builders.block(windows)))
    rows = text(evidence.compose(evidence.collect(seen)), "Where it comes from")
    assert "the target's CPU: in the slowest window at 65.0 % of the speed" in rows
    assert "the target's CPU" not in text(composed(), "Where it comes from")


def test_provenance_says_which_host_did_not_help_and_why() -> None:
    found = finished_jobs.history()
    calibration = replace(finished_jobs.CALIBRATION, hosts=("bench-1",), throughput_rps=100.0)
    rates = {"bench-1": 100.0, "bench-2": 60.0, "bench-3": 99.0}
    measured = tuple(
        replace(
            builders.block(builders.pair(rps, rps), arms=(0, 0), phase=Phase.CALIBRATE), host=host
        )
        for host, rps in rates.items()
        for _ in range(3)
    )
    helped = replace(
        found,
        job=replace(found.job, calibration=calibration),
        measurements=(*found.measurements, *measured),
    )
    rows = text(evidence.compose(evidence.collect(helped)), "Where it comes from")
    assert "did not help: bench-2: it serves -40.0 % requests with the same file" in rows
    assert rows.count("did not help") == 1


def test_provenance_says_what_was_removed_as_it_was_old() -> None:
    found = finished_jobs.history()
    old = replace(found, job=replace(found.job, pruned_at=builders.NOON))
    rows = text(evidence.compose(evidence.collect(old)), "Where it comes from")
    assert "removed: on 2026-11-21: windows that did not decide the verdict" in rows
    assert "removed:" not in text(composed(), "Where it comes from")


def test_the_file_is_shown_as_a_diff_to_the_users_own() -> None:
    file = section(composed(), "The file").parts
    assert isinstance(file[0], Listing)
    assert file[0].language == "diff"
    assert "-processes = 2\n" in file[0].text
    assert "+processes = 6\n" in file[0].text


def test_a_file_too_long_to_show_is_named_and_left_out() -> None:
    found = finished_jobs.recommendation(uwsgi_ini=finished_jobs.NEW_INI + "; x\n" * 10_000)
    document = composed(found)
    assert "fetch it from the job's uwsgi.ini" in text(document, "The file")
    assert len(text(document, "The file")) < 1000


def test_a_job_without_an_answer_has_no_evidence() -> None:
    with pytest.raises(ValueError, match="job 1 has no recommendation"):
        evidence.collect(builders.history())


def test_gains_of_latency_are_signed_so_that_more_is_better() -> None:
    job = finished_jobs.job(finished_jobs.recommendation())
    latency = Objective(minimize=Metric.LATENCY_P95_MS)
    job = replace(job, spec=job.spec.model_copy(update={"objective": latency}))
    windows = builders.pair(100.0, 100.0, latency_p95_ms=10.0)
    block = builders.block(windows, phase=Phase.CONFIRM)
    history: History = finished_jobs.history(job=job, measurements=(block,))
    assert list(evidence.collect(history).block_gains) == pytest.approx([math.log(2)])


SEEN = Preflight(
    somaxconn=4096,
    left_out=(
        LeftOut(option="cron", line=9, danger=Danger.COMMANDS),
        LeftOut(option="subscribe-to", line=11, danger=Danger.NETWORK),
    ),
    findings=tuple(
        PreflightFinding(rule=f"U0{line}", severity="warning", line=line, message="is odd")
        for line in range(20, 34)
    ),
)


def seen_job(seen: Preflight | None) -> Job:
    facts = replace(builders.FACTS, preflight=seen)
    return finished_jobs.job(finished_jobs.recommendation(), facts=facts)


def test_what_trials_went_without_and_what_is_odd_about_the_file_is_said() -> None:
    found = section(composed(job=seen_job(SEEN)), "Your file, before the first trial")
    lines = list(told(found.parts))
    assert lines[0] == (
        "Left out of all trials: cron (line 9: it starts programs), "
        "subscribe-to (line 11: it talks to others, or lets others in)."
    )
    assert "20 | warning | is odd | U020" in lines
    assert "33 | warning | is odd | U033" in lines
    assert [len(part.rows) for part in found.parts if isinstance(part, Table)] == [12]


def test_a_file_with_nothing_odd_has_no_section_of_its_own() -> None:
    for seen in (Preflight(somaxconn=4096), None):
        assert "Your file, before the first trial" not in titles(composed(job=seen_job(seen)))


def test_a_missed_bound_is_named_in_the_headline_and_beside_the_side_effects() -> None:
    sentence = "it misses your bound on p95 latency (at most 200 ms) by 12.0 %"
    bound = MissedBound(name="latency_p95_ms", is_users=True, excess=0.11, sentence=sentence)
    found = without_evidence(Verdict.BREAKS_BOUND, 0.075)
    missed = replace(found.comparison, reason=sentence, missed=(bound,))
    document = composed(replace(found, comparison=missed))
    assert plain(document.headline.answer).startswith(
        f"Keep your file for checkout: the candidate breaks a bound: {sentence}. It measured +7.5 %"
    )
    assert f"{sentence[0].upper()}{sentence[1:]}." in text(document, "Side effects")
    unmeasured = composed(replace(found, comparison=replace(missed, effect=None, blocks=3)))
    assert plain(unmeasured.headline.answer).endswith(
        f"{sentence}; no effect could be measured in 3 fresh blocks."
    )


def test_a_compromise_has_its_file_beside_that_of_the_candidate() -> None:
    third = Compromise(
        effect=finished_jobs.effect(0.04, 0.01),
        blocks=6,
        conditions=(),
        sentence="a compromise gains under all conditions",
        uwsgi_ini="[uwsgi]\nprocesses = 2\ndisable-logging = true\n",
    )
    found = without_evidence(Verdict.DEPENDS, 0.098)
    document = composed(replace(found, compromise=third, offered_ini=finished_jobs.NEW_INI))
    assert plain(document.headline.answer).startswith("Look at your production first")
    shown = text(document, "The file")
    order = ("Your file stays", "A compromise gains", "disable-logging = true", "processes = 6")
    assert sorted(order, key=shown.index) == [*order]
    assert "The compromise" not in text(composed(found), "The file")


def step(request: int, p50_ms: float, **more: int) -> RequestFigures:
    times = builders.histogram([p50_ms] * 9 + [3 * p50_ms])
    return RequestFigures(
        request=request, sent=1200, failed=3, max_ms=3 * p50_ms, histogram=times, **more
    )


def journey_history(own: tuple[RequestFigures, ...], new: tuple[RequestFigures, ...]) -> History:
    requests = (HttpRequest(), HttpRequest(method="POST", path="/login?token=hunter2"))
    found = finished_jobs.recommendation()
    job = finished_jobs.job(found)
    spec = job.spec.model_copy(update={"workload": Journey(kind="journey", requests=requests)})
    windows = (builders.window(0, by_request=own), builders.window(1, by_request=new))
    blocks = tuple(
        builders.block(windows, arms=(0, 31), phase=Phase.CONFIRM, sequence=n) for n in (1, 2)
    )
    return finished_jobs.history(found, job=replace(job, spec=spec), measurements=blocks)


def test_each_request_of_a_journey_has_a_row_with_both_files() -> None:
    own = (step(0, 10.0, over_limit=5), step(1, 20.0, over_limit=7))
    history = journey_history(own, (step(0, 5.0, over_limit=0),))
    document = evidence.compose(evidence.collect(history))
    found = text(document, "Request by request").splitlines()
    assert found[1:] == [
        "GET / | 2 400 → 2 400 | 6 → 6 | 10 → 0 | 10.0 → 5.01 | 30.0 → 15.0 | 30.0 → 15.0",
        "POST /login?token=*** | 2 400 → - | 6 → - | 14 → - | 20.0 → - | 60.0 → - | 60.0 → -",
    ]
    (table,) = (p for p in section(document, "Request by request").parts if isinstance(p, Table))
    assert table.headings[1:4] == ("sent", "failed", "over the limit")
    assert "GET /" in evidence.page(document)
    assert "| `GET /` | 2 400 → 2 400 |" in evidence.markdown(document)


def test_without_a_limit_there_is_no_column_of_it_and_without_requests_no_section() -> None:
    document = evidence.compose(evidence.collect(journey_history((step(0, 1),), (step(0, 2),))))
    (table,) = (p for p in section(document, "Request by request").parts if isinstance(p, Table))
    assert "over the limit" not in table.headings
    assert "Request by request" not in titles(composed())
