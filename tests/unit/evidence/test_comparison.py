"""A comparison as a page and as Markdown."""

import re
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import comparisons, finished_jobs
from tests.budgets import examples
from tests.comparisons import PATHS, RUNGS
from tests.patience import quickest
from tests.unit.evidence.test_page import HOSTILE, Read
from tuner.nouns.model import (
    Failure,
    FailureCode,
    History,
    Limits,
    OverTime,
    ProxyTimes,
    RequestFigures,
    ServiceFigures,
    Spread,
    UsageSeries,
    Window,
)
from tuner.show import evidence
from tuner.show.evidence.rendering import LONGEST


def composed(found: History) -> evidence.Document:
    return evidence.compose_comparison(evidence.measured_job(found, rendered_by="uwsgi-tuner 1"))


def page(found: History) -> str:
    return evidence.page(composed(found))


def markdown(found: History) -> str:
    return evidence.markdown(composed(found))


def test_two_arms_begin_with_the_effect_of_the_second() -> None:
    text = Read(page(comparisons.history())).text
    answer = "arm-1.ini against arm-0.ini: better, +100.0 % requests per second (95 % CI"
    assert answer in text
    assert text.index("comparison · job 1") < text.index(answer)
    assert "Closed loop of 64 connections." in text
    assert text.index(answer) < text.index("What limits each arm") < text.index("Evidence")


def test_one_arm_begins_with_its_figure_and_many_with_the_verdicts() -> None:
    alone = Read(page(comparisons.history(comparisons.blocks((None,), 1, 4), arms=1))).text
    assert "arm-0.ini: 1 002.5 requests per second (95 % CI 975.5 .. 1 030.0)" in alone
    assert "Against" not in alone
    many = Read(page(comparisons.history(arms=4))).text
    assert "3 arms against arm-0.ini: 3 better" in many
    ladder = comparisons.history(comparisons.blocks(RUNGS, 1, 4), arms=1, rungs=RUNGS)
    assert "arm-0.ini, rung by rung" in Read(page(ladder)).text


@pytest.mark.parametrize("rungs", [(), RUNGS])
def test_every_chart_has_its_figures_as_a_table(rungs: tuple[int, ...]) -> None:
    written = page(comparisons.history(rungs=rungs))
    sections = [part for part in written.split("<section>") if 'role="img"' in part]
    titles = [re.findall(r"<h2>(.*?)</h2>", section)[0] for section in sections]
    relative = ["In percent of arm-0.ini, rung by rung"] if rungs else []
    own = ["Requests per second", "P95 latency", "Error rate", "CPU", "Peak memory"]
    assert titles == relative + own
    for section in sections:
        table = section[section.index("<table>") :]
        assert "arm-0.ini" in table
        assert "arm-1.ini" in table


def watched(arm: int, connections: int, noise: float, services: tuple[str, ...] = ()) -> Window:
    used = UsageSeries(cores=(0.25, 0.5, 0.75), memory_mb=(40.0, 41.0, 42.0 + arm))
    over_time = OverTime(queue=(0, 8, 3), usage={name: used for name in ("app", *services)})
    return comparisons.window(arm, connections, noise, over_time=over_time)


def over_seconds(found: History) -> str:
    """The section of the page that shows windows step by step."""
    _, _, rest = page(found).partition("<h3>Over the seconds of a window</h3>")
    return rest.partition("</section>")[0]


def test_cpu_memory_and_queue_are_drawn_over_the_seconds_of_one_window() -> None:
    shown = over_seconds(comparisons.history(comparisons.blocks((None,), 2, 4, watched)))
    assert re.findall(r"<title>([^<]*)</title><desc>([^<]*)", shown) == [
        ("CPU", "CPU, % of its limit, at most: arm-0.ini 75; arm-1.ini 75"),
        ("Memory", "memory, MB, at most: arm-0.ini 42; arm-1.ini 43"),
        ("Listen queue", "connections that wait, at most: arm-0.ini 8; arm-1.ini 8"),
    ]
    assert "its window of median throughput. There is" in Read(shown).text


def test_services_are_named_and_the_rung_is_said() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        return watched(arm, connections, noise, services=("db",) if arm else ())

    blocks = comparisons.blocks(RUNGS, 2, 4, made)
    shown = over_seconds(comparisons.history(blocks, rungs=RUNGS))
    assert "window of median throughput at 10 000 connections." in Read(shown).text
    assert "CPU, % of one core, at most: arm-0.ini none; arm-1.ini 75" in shown
    assert "<title>Memory of service db</title>" in shown


def test_cpu_is_a_share_of_the_box_of_each_arm() -> None:
    found = comparisons.history(comparisons.blocks((None,), 2, 4, watched))
    first, second = found.job.spec.variants
    own = second.model_copy(update={"limits": Limits(cpus=2.0, memory_mb=256)})
    boxed = found.job.spec.model_copy(update={"variants": (first, own)})
    shown = over_seconds(replace(found, job=replace(found.job, spec=boxed)))
    assert "CPU, % of its limit, at most: arm-0.ini 75; arm-1.ini 37.5" in shown


def test_without_a_series_nothing_is_drawn_over_seconds() -> None:
    assert over_seconds(comparisons.history()) == ""
    drawn = comparisons.history(comparisons.blocks((None,), 2, 4, watched))
    assert "Over the seconds" not in markdown(drawn), "Markdown has no charts"


def test_a_ladder_is_a_table_of_arms_and_connections_with_intervals_and_trimmed_means() -> None:
    lines = markdown(comparisons.history(rungs=RUNGS)).splitlines()
    at = lines.index("### Requests per second")
    assert lines[at + 2] == "| arm | 100 connections | 1 000 connections | 10 000 connections |"
    assert lines[at + 4].startswith("| `arm-0.ini` | **1 002.5** (975.5 .. 1 030.0) |")
    trimmed = lines[at + 5 :].index(
        "<summary>Trimmed mean: without the highest and the lowest "
        "block, as benchmark articles have it</summary>"
    )
    assert "| `arm-1.ini` | 2 010.0 | 2 010.0 | 2 010.0 |" in lines[at + 5 + trimmed :]


def test_one_load_has_the_trimmed_mean_beside_the_figure() -> None:
    lines = markdown(comparisons.history()).splitlines()
    at = lines.index("### Requests per second")
    assert lines[at + 2] == "| arm | requests/s | 95 % interval | trimmed mean |"
    assert lines[at + 4] == "| `arm-0.ini` | **1 002.5** | 975.5 .. 1 030.0 | 1 005.0 |"


def test_shares_are_in_percent() -> None:
    text = markdown(comparisons.history())
    assert "| arm | CPU, % of its limit | 95 % interval | trimmed mean |" in text
    assert "| `arm-0.ini` | **90.0** | 90.0 .. 90.0 | 90.0 |" in text


def test_errors_and_limits_are_shown_rung_by_rung() -> None:
    text = markdown(comparisons.history(rungs=RUNGS))
    assert "| `arm-0.ini` | 10 000 connections | `app_errors` | 120 reset |  |" in text
    assert "| `arm-0.ini` | 100 connections | `cpu_quota` | 0 |  |" in text


def test_paths_are_a_table_in_percent_of_the_first_arm() -> None:
    lines = markdown(comparisons.history(rungs=PATHS)).splitlines()
    at = lines.index("### In percent of arm-0.ini, rung by rung")
    assert lines[at + 2] == "| arm | /4k | /64k | /512k |"
    assert lines[at + 4].startswith("| `arm-1.ini` | **200.0** (200.0 .. 200.0) |")
    best = "arm-1.ini at /4k, arm-1.ini at /64k, arm-1.ini at /512k"
    below = lines.index(f"<summary>In percent of the best arm: {best}</summary>")
    assert any(
        line.startswith("| `arm-0.ini` | **50.0** (50.0 .. 50.0) |") for line in lines[below:]
    )
    page_of = Read(page(comparisons.history(rungs=PATHS))).text
    assert "requests/s, % of arm-0.ini over size of the answer" in page_of
    assert all(f">{size}</text>" in page(comparisons.history(rungs=PATHS)) for size in (4, 64, 512))


def test_a_rung_at_which_nothing_was_measured_is_in_no_comparison() -> None:
    below = comparisons.blocks(RUNGS[:2], 2, 4)
    found = comparisons.history([*below, comparisons.broken(10_000)], rungs=RUNGS)
    written = page(found)
    section = written[written.index("In percent of arm-0.ini, rung by rung") :]
    section = section[: section.index("</section>")]
    assert "arm-1.ini at 100 connections, arm-1.ini at 1 000 connections<" in section
    assert "requests/s, % of arm-0.ini: arm-0.ini 100.0, 100.0; arm-1.ini 200.0, 200.0" in section


def test_an_arm_that_breaks_says_from_which_rung_on_and_shows_its_log() -> None:
    below = comparisons.blocks(RUNGS[:2], 2, 4)
    blocks = [*below, comparisons.broken(10_000), *comparisons.blocks(RUNGS[2:], 1, 4)]
    found = comparisons.history(blocks, rungs=RUNGS)
    text = Read(page(found)).text
    assert "arm-1.ini against arm-0.ini: not measured to the end" in text
    assert "| `arm-1.ini` | 10 000 connections | died: processes kept dying |" in markdown(found)
    assert "segfault <b>here</b>" in text, "as text"
    assert "<b>here</b>" not in page(found)
    assert "| `arm-1.ini` | 10 000 connections | not measured | 0 |  |" in markdown(found)


def test_a_file_with_a_box_of_its_own_says_so() -> None:
    found = comparisons.history()
    first, second = found.job.spec.variants
    own = second.model_copy(update={"limits": Limits(cpus=2.0, memory_mb=256)})
    boxed = found.job.spec.model_copy(update={"variants": (first, own)})
    text = markdown(replace(found, job=replace(found.job, spec=boxed)))
    assert "`arm-0.ini`\n" in text
    assert "`arm-1.ini in 2 CPU, 256 MB, somaxconn 4096`\n" in text


def test_what_a_service_wrote_is_compared_with_the_first_arm() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        wrote = ServiceFigures(cores=0.1, memory_mb=90, written_mb=10.0 * (arm + 1))
        return comparisons.window(arm, connections, noise, services={"db": wrote})

    text = markdown(comparisons.history(comparisons.blocks((None,), 2, 4, made)))
    assert "| `arm-0.ini` | `db` | 90 MB, wrote up to 10.0 MB a block |" in text
    assert "| `arm-1.ini` | `db` | 90 MB, wrote up to 20.0 MB a block (+10.0 MB) |" in text


STEP = "[uwsgi]\nprocesses = {n}\nenv = DB_PASSWORD=hunter{n}\n"


@pytest.mark.parametrize("rungs", [(), RUNGS])
def test_each_step_has_its_lines_and_its_effect_on_the_one_before(rungs: tuple[int, ...]) -> None:
    found = comparisons.history(arms=3, rungs=rungs, ini=STEP, compare_with="previous")
    text = markdown(found)
    row = next(line for line in text.splitlines() if line.startswith("| `arm-2.ini` | `-proc"))
    assert "`-processes = 2`" in row
    assert "`+processes = 3`" in row
    assert "+50.0 % requests per second" in row
    assert "real: better" in row
    assert "hunter" not in text
    assert "Step by step" in Read(page(found)).text


@pytest.mark.parametrize("rungs", [(), RUNGS])
def test_a_grid_has_its_curve_and_where_it_stops(rungs: tuple[int, ...]) -> None:
    found = comparisons.history(arms=3, rungs=rungs, ini=STEP, vary=("processes",))
    text = markdown(found)
    assert "3 processes are better than 2: the curve still rises" in text
    columns = "against the one below | verdict |"
    assert f"| processes | {columns if rungs else f'requests/s | {columns}'}" in text
    assert "Step by step" not in text


def test_an_arm_of_one_load_that_breaks_has_its_reason() -> None:
    found = comparisons.history([comparisons.broken(None), *comparisons.blocks((None,), 1, 4)])
    assert "died: processes kept dying" in Read(page(found)).text
    assert "arm-1.ini against arm-0.ini: not measured to the end" in Read(page(found)).text


def test_requests_services_and_files_are_evidence() -> None:
    def made(arm: int, connections: int, noise: float) -> Window:
        one = RequestFigures(request=0, sent=90, failed=7, p95_ms=12.5)
        redis = {"redis": ServiceFigures(cores=0.1, cpu=0.25, memory_mb=9.0)}
        return comparisons.window(arm, connections, noise, by_request=(one,), services=redis)

    text = markdown(comparisons.history(comparisons.blocks((None,), 2, 4, made)))
    after = text[text.index("<summary>Evidence</summary>") :]
    assert "| `arm-1.ini` | `GET /` | 360 | 28 |" in after
    assert "| `arm-0.ini` | `redis` | CPU 25.0 %, 9 MB |" in after
    assert "processes = 2" in after


def test_what_nginx_logged_is_a_table_of_statuses_and_times() -> None:
    def spread(ms: float) -> Spread:
        return Spread(p50_ms=ms, p95_ms=2 * ms, max_ms=3 * ms)

    def made(arm: int, connections: int, noise: float) -> Window:
        proxy = ProxyTimes(
            requests=100,
            by_status={"200": 98, "499": 2},
            connect=spread(1.0),
            header=spread(10.0),
            response=spread(20.0),
            request=spread(30.0),
        )
        return comparisons.window(arm, connections, noise, proxy=proxy)

    text = markdown(comparisons.history(comparisons.blocks((None,), 2, 4, made)))
    assert "| arm | answered | connect | header | response | request |" in text
    times = "1.00 / 2.00 / 3.00 | 10.0 / 20.0 / 30.0 | 20.0 / 40.0 / 60.0 | 30.0 / 60.0 / 90.0"
    assert f"| `arm-1.ini` | 200: 392, 499: 8 | {times} |" in text
    assert "What nginx in front logged" not in markdown(comparisons.history())


def test_the_page_says_where_the_figures_come_from() -> None:
    lines = markdown(comparisons.history(rungs=RUNGS)).splitlines()
    assert "- hosts: `bench-1` of pool default" in lines
    assert "- budget: 4 blocks; 1 window an arm of 2 s" in lines
    assert "- job: 1, seed 1" in lines
    assert "- page written by: uwsgi-tuner 1" in lines


def hostile(words: str, **asked: Any) -> History:
    """A comparison with these words in every field that comes from outside."""
    failure = Failure(code=FailureCode.DIED, message=words, arm=1, log_tail=words)
    blocks = [*comparisons.blocks(asked.get("rungs") or (None,), 2, 4)]
    rung = asked["rungs"][-1] if asked else None
    blocks.append(comparisons.broken(rung, failure=failure))

    def with_errors(window: Window) -> Window:
        return replace(window, errors=1, errors_by_class={words: 1})

    blocks = [
        replace(b, result=replace(b.result, windows=tuple(map(with_errors, b.windows))))
        if b.result
        else b
        for b in blocks
    ]
    found = comparisons.history(
        blocks, name=words.replace("{", "").replace("}", "") + "{}", ini=words, **asked
    )
    target = found.job.spec.target.model_copy(update={"image": words, "target_app": None})
    spec = found.job.spec.model_copy(update={"target": target, "app": words})
    return replace(found, job=replace(found.job, spec=spec))


@pytest.mark.parametrize("words", [HOSTILE, "]]>", "<!--", "\ud800", "\x1b[31m"])
@pytest.mark.parametrize("asked", [{}, {"rungs": RUNGS}])
def test_hostile_text_never_becomes_a_tag(words: str, asked: dict[str, Any]) -> None:
    written = page(hostile(words, **asked))
    read, calm = Read(written), Read(page(hostile("calm", **asked)))
    assert {name for name, _ in read.tags} == {name for name, _ in calm.tags}
    assert read.count("svg") == calm.count("svg")
    assert "<script" not in written
    written.encode("utf-8")
    text = markdown(hostile(words, **asked))
    outside = re.sub(r"(?s)(`{3,})[a-z]*\n.*?\n\1", "", text)  # fenced blocks
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)  # code spans
    tags = set(re.findall(r"(?<!\\)<[^>]*>", outside))
    assert tags <= {"<details>", "</details>", "<summary>", "</summary>"}


@given(st.text(max_size=60))
@settings(max_examples=examples(25), deadline=None)
def test_the_page_stays_whole_with_any_text(words: str) -> None:
    assert Read(page(hostile(words))).count("h1") == 1


def test_secrets_in_a_file_are_masked() -> None:
    found = comparisons.history(ini="[uwsgi]\nenv = DB_PASSWORD=hunter2\n")
    assert "hunter2" not in page(found)
    assert "hunter2" not in markdown(found)


def test_a_job_without_a_report_has_no_page() -> None:
    with pytest.raises(ValueError, match="has no report"):
        composed(finished_jobs.history())


def test_the_largest_comparison_is_written_in_a_moment_and_fits_into_a_comment() -> None:
    rungs = tuple(2**n for n in range(12))
    found = comparisons.history(comparisons.blocks(rungs, 16, 4), arms=16, rungs=rungs)
    assert len(markdown(found)) <= LONGEST

    def seconds() -> float:
        began = time.process_time()
        page(found)
        return time.process_time() - began

    assert quickest(1.0, seconds) < 1.0
