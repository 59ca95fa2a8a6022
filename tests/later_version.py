"""Versions of the tables that come after those of this checkout, to see an upgrade."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.store.db import dumps

_MIGRATION = """
from alembic import op

revision = {revision!r}
down_revision = {before!r}
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("COMMENT ON FUNCTION number_event() IS {revision!r}")


def downgrade() -> None:
    op.execute("COMMENT ON FUNCTION number_event() IS NULL")
"""


def versions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Adds a version to those that the code knows; its migration leaves a comment."""
    own = folder / "migrations"
    shutil.copytree(dumps.scripts(), own)
    monkeypatch.setattr(dumps, "scripts", lambda: own)
    names = sorted(path.stem for path in (own / "versions").glob("*.py"))

    def add(revision: str) -> None:
        text = _MIGRATION.format(revision=revision, before=names[-1])
        (own / "versions" / f"{revision}.py").write_text(text)
        names.append(revision)

    return add
