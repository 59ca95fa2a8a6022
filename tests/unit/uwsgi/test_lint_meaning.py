"""Every rule on meaning finds its own example, at its line, and leaves the better file alone."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.lint_pages import better, example
from tuner.uwsgi.forms import Misread
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint import RULES as ALL
from tuner.uwsgi.lint import Box, Rule, Severity, Subject, TimeLimit, lint
from tuner.uwsgi.lint.finding import fixed
from tuner.uwsgi.options import Catalogue, known

RULES = tuple(rule for rule in ALL if rule.id >= "U050")
HERE = Box(
    cpus=1,
    memory_mb=512,
    somaxconn=128,
    nofile=1_073_741_816,
    memory_per_process_mb=80,
)
WITHOUT_ASYNCIO = Catalogue.of(
    "2.0.31", (o for o in known().options if o.name != "asyncio"), is_of_build=True
)

# Where each rule finds its example, from 1.
AT: Mapping[str, int] = {
    "U050": 9, "U051": 8, "U052": 2, "U053": 2, "U054": 8, "U055": 2, "U056": 2, "U057": 7,
    "U058": 7, "U059": 2, "U060": 8, "U061": 2, "U062": 8, "U063": 7, "U064": 7, "U065": 7,
    "U066": 8, "U067": 7, "U068": 7, "U069": 2, "U070": 7,
    "U075": 7, "U076": 7, "U077": 8, "U078": 8, "U079": 8,
    "U080": 8, "U081": 9, "U082": 9, "U083": 9, "U084": 10, "U085": 9, "U086": 8,
    "U090": 1, "U091": 1, "U092": 1, "U093": 8, "U094": 8, "U095": 8, "U096": 2, "U097": 2,
    "U100": 8, "U101": 9, "U102": 9, "U103": 8, "U104": 8,
    "U105": 8, "U106": 8, "U107": 8, "U108": 8, "U109": 8,
    "U110": 9, "U111": 7, "U112": 8, "U113": 8, "U114": 6,
    "U115": 9, "U116": 8, "U117": 7, "U118": 8, "U119": 8,
    "U120": 8, "U121": 8,
    "U125": 7, "U126": 8, "U127": 8, "U128": 8,
    "U130": 3, "U131": 8, "U132": 3, "U133": 8, "U134": 8, "U135": 7, "U136": 6, "U137": 8,
    "U140": 8, "U141": 8, "U142": 1, "U143": 1, "U144": 1, "U145": 2, "U146": 8, "U147": 8,
    "U148": 8, "U149": 8,
}  # fmt: skip

# The box that a rule needs when HERE is not enough.
GRACE = TimeLimit("stop_grace_period", 10.0, "compose.yaml, service web")
BOXES: Mapping[str, Box] = {
    "U113": Box(proxy=TimeLimit("proxy_read_timeout", 60.0, "nginx.conf:7")),
    "U114": Box(grace=GRACE),
    "U119": Box(grace=GRACE),
    "U140": Box(command=("uwsgi", "--ini", "uwsgi.ini", "--processes", "8")),
    "U141": Box(command=("uwsgi", "--processes", "8", "--ini", "uwsgi.ini")),
    "U142": Box(environ={"UWSGI_THREADS": "4", "PATH": "/bin"}),
    "U143": Box(command=("uwsgi", "--http-socket", ":8000", "--module", "app")),
    "U144": Box(command=("uwsgi", "--ini", "uwsgi.ini", "--so-send-timeout", "5")),
    "U145": Box(clients_keep=True),
    "U146": Box(misread=(Misread(8, "uWSGI stops reading at this line"),)),
}
CATALOGUES: Mapping[str, Catalogue] = {
    "U118": WITHOUT_ASYNCIO,
    "U132": replace(known(), version="2.0.26"),
}
# The better file is the same; the command, the environment or the file it was made of is better.
ELSEWHERE = {"U140", "U141", "U143", "U144", "U146"}

rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.id}-{rule.name}")


def subject(text: str, rule: Rule) -> Subject:
    """A file as that rule's example is looked at."""
    return Subject(
        ini=IniFile.parse(text),
        catalogue=CATALOGUES.get(rule.id, known()),
        box=BOXES.get(rule.id, HERE),
    )


def found(text: str, rule: Rule) -> list[int | None]:
    """The lines of this rule's findings."""
    return [finding.line for finding in rule.findings(subject(text, rule))]


@rules
def test_a_rule_finds_its_example_at_its_line(rule: Rule) -> None:
    assert found(example(rule), rule) == [AT[rule.id]]


@rules
def test_a_rule_is_silent_about_its_better_file(rule: Rule) -> None:
    box = Box() if rule.id in ELSEWHERE else BOXES.get(rule.id, HERE)
    assert list(rule.findings(replace(subject(better(rule), rule), box=box))) == []


@rules
def test_a_better_file_has_no_error_and_no_warning(rule: Rule) -> None:
    box = replace(HERE, nofile=65_536)
    looked_at = Subject(ini=IniFile.parse(better(rule)), catalogue=known(), box=box)
    bad = [
        (finding.rule, finding.line, finding.message)
        for finding in lint(looked_at)
        if finding.severity is not Severity.NOTE
    ]
    assert bad == []


@rules
def test_a_fix_that_has_edits_does_away_with_the_finding(rule: Rule) -> None:
    findings = list(rule.findings(subject(example(rule), rule)))
    edited = [f for f in findings if f.fix and f.fix.edits]
    for finding in edited:
        text = fixed(example(rule), [finding], unsafe=True)
        assert text != example(rule)
        assert found(text, rule) == []


# A list, to which an include can only add; the command; a line that is wrong in itself.
WHATEVER_IS_INCLUDED = {
    *("U051", "U053", "U054", "U056", "U057", "U062", "U066", "U093", "U125", "U128"),
    *("U140", "U141", "U142", "U143", "U144", "U146", "U147", "U148", "U149"),
}


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.id not in WHATEVER_IS_INCLUDED], ids=lambda r: r.id
)
def test_a_rule_keeps_silent_where_another_file_may_say_otherwise(rule: Rule) -> None:
    assert found(f"{example(rule)}ini = /etc/more.ini\n", rule) == []


def test_ids_and_names_are_given_once() -> None:
    assert len({rule.id for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert all("U050" <= rule.id < "U150" for rule in RULES)
    assert set(AT) == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule_id", ["U050", "U069", "U077", "U100", "U101"])
def test_a_rule_about_a_limit_keeps_silent_where_nobody_says_the_limit(rule_id: str) -> None:
    rule = next(rule for rule in RULES if rule.id == rule_id)
    nowhere = Subject(ini=IniFile.parse(example(rule)), catalogue=known())
    assert [f for f in rule.findings(nowhere) if f.severity is not Severity.NOTE] == []


def test_a_table_of_the_router_is_as_large_as_it_says() -> None:
    rule = next(rule for rule in RULES if rule.id == "U069")
    (finding,) = rule.findings(
        replace(subject(example(rule), rule), box=replace(HERE, nofile=2**30))
    )
    assert finding.message.endswith("1073741824 file descriptors at start-up: 8192 MB")
