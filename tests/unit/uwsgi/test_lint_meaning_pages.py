"""docs/lint is what the rules say of themselves."""

from pathlib import Path

import pytest

from tests.lint_pages import FOLDER, write
from tuner.uwsgi.lint import RULES, Rule
from tuner.uwsgi.lint.pages import INDEX, file_name, page, pages


def test_the_pages_in_the_repository_are_those_of_todays_rules() -> None:
    in_repository = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    assert in_repository == pages(RULES), "run `python -m tests.lint_pages`"


def test_every_rule_has_a_page_and_a_line_in_the_index() -> None:
    made = pages(RULES)
    for rule in RULES:
        assert made[file_name(rule)].startswith(f"# {rule.id} {rule.name}\n")
        assert f"[{rule.id}]({file_name(rule)})" in made[INDEX]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_page_shows_both_files_the_reason_and_the_evidence(rule: Rule) -> None:
    text = page(rule)
    assert text.count("```ini") == 2
    assert rule.why in text
    assert rule.evidence in text
    assert text.isprintable() or set(text) - set(map(chr, range(32, 0x3000))) <= {"\n", "\t"}


def test_writing_leaves_no_page_of_a_rule_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "U999.md").write_text("gone")
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(pages(RULES))
