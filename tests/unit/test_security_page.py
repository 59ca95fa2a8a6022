"""docs/security.md: each promise names a test that is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_each_promise_names_a_test_that_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)` \|", PAGE)
    assert len(named) >= 30
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text())
        assert name in {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
        }, f"{file}::{name}"


def test_the_table_has_no_promise_without_a_test() -> None:
    (table,) = re.findall(r"\| promise \| test \|\n.*\n((?:\|.*\n?)+)", PAGE)
    assert all(re.search(r"`tests/\S+` \|$", row) for row in table.strip().splitlines())
