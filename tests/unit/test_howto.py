"""The commands of docs/howto and docs/install.md exist, with their options; links lead to files."""

import re
from pathlib import Path

import pytest

from tuner.cli import COMMANDS, main
from tuner.uwsgi import lint
from tuner.uwsgi.options import known

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted((DOCS / "howto").glob("*.md")), DOCS / "install.md"]
LINES = sorted({m for page in PAGES for m in re.findall(r"^\$ tuner (.+)", page.read_text(), re.M)})


@pytest.mark.parametrize("line", LINES)
def test_a_command_exists_with_its_options(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = line.partition("#")[0].split()
    command = words[:2] if words[0] in {"workload", "spaces"} else words[:1]
    assert command[0] in COMMANDS
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    shown = capsys.readouterr().out
    assert [w for w in words if w.startswith("--") and w not in shown] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_file_on_a_page_has_no_error(page: Path) -> None:
    for text in re.findall(r"```ini\n(.*?)```", page.read_text(), re.S):
        found = lint.lint(lint.subject_of(text, known()))
        assert [f.message for f in found if f.severity is lint.Severity.ERROR] == []
