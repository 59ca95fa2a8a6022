"""docs/developing.md has a line for each direct dependency, and for nothing else."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_dependency_says_why_it_is_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = [re.split(r"[\[><=]", line)[0] for line in project["dependencies"]]
    section = (ROOT / "docs/developing.md").read_text().partition("## Dependencies")[2]
    table = section.partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \| (.+) \|$", table, re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == sorted(direct)
    assert all(len(why) > 10 and len(leave) > 10 for _, why, leave in rows)
