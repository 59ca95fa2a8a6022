"""Fresh blocks to an answer."""

import math
from collections.abc import Sequence

import pytest

from tests.builders import FACTS, INI, block, history, job, pair, space, spec, window
from tuner.judge.recommendation import compare_blocks, keep_untested, recommend
from tuner.nouns.model import (
    Advice,
    Bottleneck,
    Doubt,
    Evidence,
    Failure,
    FailureCode,
    Measurement,
    Metric,
    Objective,
    Origin,
    Outcome,
    Phase,
    Recommendation,
    RelativeBound,
    Scalar,
    ServiceFigures,
    ServiceUse,
    Slo,
    Trial,
    TrialNumber,
    TrialState,
    Verdict,
    box_of,
)
from tuner.targets.search_space import derive
from tuner.uwsgi.ini import IniFile

FASTER = (120, 122, 118, 121, 119, 123)
DONE = Outcome(state=TrialState.COMPLETE, score=0.3, constraints={})


def confirm(rates: Sequence[float], **changes: object) -> list[Measurement]:
    return [
        block(pair(100, rate, **changes), phase=Phase.CONFIRM, sequence=n)
        for n, rate in enumerate(rates, 1)
    ]


def finalist(**params: Scalar) -> Trial:
    return Trial(
        number=TrialNumber(1),
        params=params,
        origin=Origin.SAMPLER,
        state=TrialState.COMPLETE,
        outcome=DONE,
    )


SPEC = spec(
    search_space=space(
        processes={"type": "int", "low": 1, "high": 8}, **{"thunder-lock": {"type": "bool"}}
    )
)


def answer(blocks: list[Measurement]) -> Recommendation:
    rows = history(job=job(spec=SPEC, phase=Phase.CONFIRM), measurements=tuple(blocks))
    trial = finalist(processes=4, **{"thunder-lock": False})
    return recommend(rows, derive(SPEC), trial, trial.params, Evidence())


def postgres(cpu: float, memory_mb: float = 90.0) -> dict[str, ServiceFigures]:
    return {"postgres": ServiceFigures(cores=cpu / 2, cpu=cpu, memory_mb=memory_mb)}


def test_the_answer_shows_each_service_under_both_files() -> None:
    void = window(1, 120, services=postgres(0.1), doubts=(Doubt.PORTS_EXHAUSTED,))
    blocks = [
        block(
            [
                window(0, 100, services=postgres(0.6)),
                window(1, rate, services=postgres(0.97, 100.0)),
                *([void] if n == 1 else []),
            ],
            phase=Phase.CONFIRM,
            sequence=n,
        )
        for n, rate in enumerate(FASTER, 1)
    ]
    found = answer(blocks)
    own, tried = postgres(0.6)["postgres"], postgres(0.97, 100.0)["postgres"]
    assert found.services == (ServiceUse(name="postgres", baseline=own, candidate=tried),)
    assert found.diagnosis.bottleneck is Bottleneck.BACKING_SERVICE  # of the file to deploy
    slower = [
        block(
            [window(0, 100, services=postgres(0.6)), window(1, 90, services=postgres(0.97))],
            phase=Phase.CONFIRM,
            sequence=n,
        )
        for n in range(1, 7)
    ]
    kept = answer(slower)
    assert kept.services[0].candidate == postgres(0.97)["postgres"]
    assert kept.diagnosis.bottleneck is not Bottleneck.BACKING_SERVICE


def test_an_answer_without_a_candidate_shows_services_under_the_users_file() -> None:
    measured = [window(arm, services=postgres(0.5)) for arm in (0, 1)]
    rows = history(
        job=job(spec=SPEC), measurements=(block(measured, arms=(0, 0), phase=Phase.CALIBRATE),)
    )
    domain = derive(SPEC)
    found = keep_untested(rows, domain, "nothing ran", domain.baseline, Evidence())
    own = postgres(0.5)["postgres"]
    assert found.services == (ServiceUse(name="postgres", baseline=own, candidate=None),)


def test_a_proven_gain_is_recommended_with_only_its_lines_changed() -> None:
    found = answer(confirm(FASTER))
    assert found.verdict is Verdict.BETTER
    assert [(line.option, line.value, line.baseline_value) for line in found.lines] == [
        ("processes", "4", "2")
    ]
    body = [line for line in found.uwsgi_ini.splitlines() if not line.startswith("; uwsgi-tuner")]
    assert "\n".join(body) + "\n" == INI.replace("processes = 2", "processes = 4")


def test_the_file_says_where_it_comes_from_and_what_it_holds_for() -> None:
    text = answer(confirm(FASTER)).uwsgi_ini
    assert "better: +20" in text
    assert "holds for 1 CPU, 512 MB, somaxconn 4096" in text
    assert IniFile.parse(text).get("processes") == "4"


def test_a_kernel_setting_is_in_the_answer_and_its_header_and_no_line_of_the_file() -> None:
    cookies = {
        "type": "choice",
        "values": ["user", "off"],
        "emit": {"off": {"net.ipv4.tcp_syncookies": 0}},
    }
    its = spec(search_space=space(processes={"type": "int", "low": 1, "high": 8}, cookies=cookies))
    rows = history(job=job(spec=its, phase=Phase.CONFIRM), measurements=tuple(confirm(FASTER)))
    trial = finalist(processes=4, cookies="off")
    found = recommend(rows, derive(its), trial, trial.params, Evidence())
    assert [(line.option, line.value, line.baseline_value) for line in found.lines] == [
        ("processes", "4", "2"),
        ("net.ipv4.tcp_syncookies", "0", None),
    ]
    assert found.reason.startswith("Deploy it, with net.ipv4.tcp_syncookies = 0 in its container: ")
    for text in (found.uwsgi_ini, found.overlay_ini):
        mentions = [line for line in text.splitlines() if "syncookies" in line]
        holds = "holds for 1 CPU, 512 MB, somaxconn 4096, net.ipv4.tcp_syncookies = 0"
        assert [line.rpartition("uwsgi-tuner: ")[2] for line in mentions] == [holds]
    assert box_of(its.limits, found.lines).sysctls == {"net.ipv4.tcp_syncookies": 0}


def test_an_answer_that_takes_a_line_out_has_no_overlay_and_says_what_else_changes() -> None:
    fast = {
        "type": "choice",
        "values": ["user", "workers"],
        "emit": {"workers": {"http": None, "http-socket": {"of": "http"}}},
        "note": "only behind a proxy",
    }
    ini = "[uwsgi]\nhttp = :8000\nprocesses = 2\n"
    its = spec(search_space=space(front=fast), baseline_ini=ini)
    rows = history(job=job(spec=its, phase=Phase.CONFIRM), measurements=tuple(confirm(FASTER)))
    trial = finalist(front="workers")
    found = recommend(rows, derive(its), trial, trial.params, Evidence())
    assert [(line.option, line.value, line.baseline_value) for line in found.lines] == [
        ("http", None, ":8000"),
        ("http-socket", ":8000", None),
    ]
    assert found.overlay_ini == ""
    told = IniFile.parse(found.uwsgi_ini)
    assert (told.get("http"), told.get("http-socket")) == (None, ":8000")
    (note,) = [line for line in found.uwsgi_ini.splitlines() if "only behind a proxy" in line]
    assert note.startswith("; uwsgi-tuner: http-socket was not set; confirmed together")


def test_each_tuned_line_has_a_comment_of_ours_above_it() -> None:
    found = answer(confirm(FASTER))
    for text in (found.uwsgi_ini, found.overlay_ini):
        lines = text.splitlines()
        above = lines[lines.index("processes = 4") - 1]
        assert above.startswith("; uwsgi-tuner: processes was 2; +20")
        assert above.endswith(" %), confirmed")


def test_the_header_names_uwsgi_and_the_host() -> None:
    text = answer(confirm(FASTER)).uwsgi_ini
    host = FACTS.fingerprint
    assert f"measured with uWSGI 2.0.31 on {host.cpu_model}, {host.cpus} CPUs" in text
    assert f"Linux {host.kernel}, cgroup v{host.cgroup_version}" in text


def test_the_overlay_holds_the_changes_alone() -> None:
    overlay = IniFile.parse(answer(confirm(FASTER)).overlay_ini)
    assert [line.key for line in overlay.lines if line.key] == ["processes"]


def test_without_proof_the_users_file_comes_back_unchanged() -> None:
    for rates in (
        (100, 101, 99, 100, 101, 99),
        (80, 81, 79, 80, 82, 78),
        (150, 60, 140, 70, 90, 100),
    ):
        found = answer(confirm(rates))
        assert found.verdict is not Verdict.BETTER
        assert found.uwsgi_ini == INI
        assert found.params["processes"] == 2
        assert [line.option for line in found.reverted] == ["processes"]


def test_a_faster_file_that_misses_a_bound_is_not_recommended() -> None:
    chosen = spec(slo=Slo(latency_p95_ms=RelativeBound(relative_to_baseline=1.05)))
    found = compare_blocks(confirm(FASTER, latency_p95_ms=60.0), job(spec=chosen))
    assert found.verdict is Verdict.BREAKS_BOUND
    (bound,) = found.missed
    assert bound.is_users
    assert (
        found.reason
        == bound.sentence
        == ("it misses your bound on p95 latency (at most 105 % of the baseline) by 185.7 %")
    )


def test_a_faster_file_that_answers_errors_is_not_recommended() -> None:
    found = compare_blocks(confirm(FASTER, errors=5), job())
    assert found.verdict is Verdict.BREAKS_BOUND
    assert "the tuner's own bound on error rate (0.1 % above the baseline)" in found.reason


def test_a_gain_that_misses_a_bound_that_the_user_never_set_is_no_loss() -> None:
    """A Wagtail site: 7.5 % more requests per second, and a p95 that is half as long again."""
    rates = (104, 121, 98, 118, 102, 109)
    rows = answer(confirm(rates, latency_p95_ms=31.0))
    found = rows.comparison
    assert found.verdict is Verdict.BREAKS_BOUND
    assert found.effect is not None
    assert found.effect.estimate > 0
    assert [(bound.name, bound.is_users) for bound in found.missed] == [("latency_p95_ms", False)]
    assert found.missed[0].excess == pytest.approx(math.log(31 / 20 / 1.25))
    assert rows.reason.startswith(
        "Keep your file: it misses the tuner's own bound on p95 latency "
        "(at most 125 % of the baseline) by 24.0 %."
    )
    assert rows.uwsgi_ini == INI
    assert "worse" not in rows.reason


def test_a_loss_that_also_misses_a_bound_stays_a_loss() -> None:
    found = compare_blocks(confirm((80, 81, 79, 80, 82, 78), errors=5), job())
    assert found.verdict is Verdict.WORSE
    assert found.missed
    assert found.reason.startswith("the whole interval shows a loss; it misses")


@pytest.mark.parametrize(
    ("kept", "own_bounds", "owner"),
    [
        (0.95, (Metric.THROUGHPUT_RPS,), "the tuner's own bound"),
        (0.95, (), "your bound"),
        (0.97, (), "your bound"),
    ],
)
def test_the_throughput_that_less_memory_must_keep_has_an_owner(
    kept: float, own_bounds: tuple[Metric, ...], owner: str
) -> None:
    kept_bound = RelativeBound(relative_to_baseline=kept)
    chosen = spec(
        objective=Objective(minimize=Metric.MEMORY_MB),
        slo=Slo(throughput_rps=kept_bound),
        own_bounds=own_bounds,
    )
    found = compare_blocks(confirm((90,) * 6, memory_mb=30.0), job(spec=chosen))
    assert found.verdict is Verdict.BREAKS_BOUND
    assert owner in found.reason
    assert f"at least {100 * kept:g} % of the baseline" in found.reason


def test_a_candidate_that_breaks_once_on_fresh_data_is_worse() -> None:
    failure = Failure(code=FailureCode.OUT_OF_MEMORY, message="killed", arm=1)
    blocks = [*confirm(FASTER), block(phase=Phase.CONFIRM, sequence=9, failure=failure)]
    found = compare_blocks(blocks, job())
    assert found.verdict is Verdict.WORSE
    assert "killed" in found.reason


def test_latency_and_memory_are_reported_beside_the_objective() -> None:
    found = compare_blocks(confirm(FASTER, memory_mb=60.0), job())
    assert {effect.metric.value for effect in found.side_effects} == {
        "latency_p50_ms",
        "latency_p95_ms",
        "memory_mb",
    }


def test_a_file_whose_starts_differ_by_far_is_recommended_with_that_doubt() -> None:
    found = answer(confirm((200, 120, 210, 125, 190, 118)))
    assert found.verdict is Verdict.BETTER
    assert found.doubts == (Doubt.UNSTABLE_START,)
    assert found.reason.startswith("Deploy it to one instance first: ")
    assert "; restart the instance some times and compare." in found.reason


def test_doubts_of_the_fresh_windows_go_along() -> None:
    found = answer(confirm(FASTER, doubts=(Doubt.THROTTLED,)))
    assert (found.doubts, found.verdict) == ((Doubt.THROTTLED,), Verdict.BETTER)
    assert found.reason.startswith("Deploy it: ")


@pytest.mark.parametrize("doubt", [d for d in Doubt if d.advice is Advice.NOT_YET])
def test_a_doubt_that_can_turn_the_sign_leaves_no_file_to_deploy(doubt: Doubt) -> None:
    own = window(0, 100, doubts=(doubt,))
    blocks = [block([own, window(1, rate)], phase=Phase.CONFIRM) for rate in FASTER]
    if doubt.voids:  # the windows that are left still show the gain
        void = window(1, 120, doubts=(doubt,))
        blocks = [block([*each.windows, void], phase=Phase.CONFIRM) for each in confirm(FASTER)]
    found = answer(blocks)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.uwsgi_ini == INI
    assert "Deploy" not in found.reason
    assert doubt.sentence in found.reason
    assert doubt.remedy in found.reason


def test_what_slows_the_faster_file_alone_makes_no_gain() -> None:
    found = answer(confirm(FASTER, doubts=(Doubt.BENCH_BUSY,)))
    assert (found.verdict, found.doubts) == (Verdict.BETTER, (Doubt.BENCH_BUSY,))
    assert found.reason.startswith("Deploy it to one instance first: ")
    assert Doubt.BENCH_BUSY.remedy in found.reason


def test_a_few_void_windows_do_not_hold_up_an_answer() -> None:
    first, *others = confirm((*FASTER, *FASTER))
    void = window(1, 120, doubts=(Doubt.PORTS_EXHAUSTED,))
    found = answer([block([*first.windows, void], phase=Phase.CONFIRM), *others])
    assert (found.verdict, found.doubts) == (Verdict.BETTER, (Doubt.PORTS_EXHAUSTED,))
    assert found.reason.startswith("Deploy it: ")
