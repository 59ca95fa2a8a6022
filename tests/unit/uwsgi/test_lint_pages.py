"""The pages of the rules: the only source of their texts."""

import pytest

from tests.lint_pages import PAGES, better, example, versions
from tests.unit.uwsgi.test_lint_meaning import subject
from tuner.uwsgi.lint import RULES, Finding, Rule
from tuner.uwsgi.lint.rule import CHECKS

TOO_LARGE = "U003"  # its example is not as long as it says
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def test_each_page_is_a_rule_with_a_check_and_each_check_has_a_page() -> None:
    assert {path.name for path in PAGES.glob("U*.md")} == {f"{rule.id}.md" for rule in RULES}
    assert {rule.name for rule in RULES} == set(CHECKS)


@every_rule
def test_a_page_says_what_uwsgi_does_and_how_we_know(rule: Rule) -> None:
    assert rule.why.startswith("uWSGI")
    assert 40 < len(rule.why) < 400
    assert rule.why.endswith(".")
    assert "\n\nEvidence: " in rule.text
    assert rule.text.endswith(".")
    assert example(rule) != better(rule)
    assert all(len(line) <= 100 and line.isprintable() for line in rule.text.splitlines())


@every_rule
def test_a_page_says_for_which_versions_it_holds(rule: Rule) -> None:
    assert rule.text.endswith(f"\n\n{versions(rule)}"), "run `python -m tests.lint_pages`"


def test_the_versions_of_a_page_are_from_what_each_release_brought() -> None:
    texts = {rule.id: versions(rule) for rule in RULES}
    assert texts["U132"] == "Versions: uWSGI 2.0.26 and earlier."
    assert texts["U053"].endswith("from 2.0.15 on. `http11-socket` is new in 2.0.16.")
    assert texts["U105"] == (
        "Versions: uWSGI 2.0.29 and later. `max-requests-delta` is new in 2.0.29."
    )


@every_rule
def test_a_page_names_the_kind_of_fix_that_its_example_gets(rule: Rule) -> None:
    text = example(rule) + "; x\n" * 60_000 * (rule.id == TOO_LARGE)
    assert rule.fix == _kind(next(iter(rule.findings(subject(text, rule)))))


def _kind(finding: Finding) -> str:
    if finding.fix is None or not finding.fix.edits:
        return "advice" if finding.fix else "none"
    return "safe" if finding.fix.is_safe else "unsafe"
