"""A phase `conditions`, and the verdicts `depends` and `more_fragile`.

Revision: 20261128_conditions, after 20261127_years.

`NOT VALID` and `VALIDATE`: the old rows are read without a lock that keeps writers out.
"""

from alembic import op

revision = "20261128_conditions"
down_revision = "20261127_years"
branch_labels = None
depends_on = None

PHASES = ("validate", "prepare", "calibrate", "search", "race", "ablate", "confirm")
VERDICTS = ("better", "worse", "breaks_bound", "no_difference", "inconclusive")


def upgrade() -> None:
    _allow((*PHASES, "conditions", "compare", "done"), (*VERDICTS, "depends", "more_fragile"))


def downgrade() -> None:
    op.execute(
        "UPDATE jobs SET verdict = 'inconclusive' WHERE verdict IN ('depends', 'more_fragile')"
    )
    op.execute("UPDATE jobs SET phase = 'confirm' WHERE phase = 'conditions'")
    op.execute("UPDATE measurements SET phase = 'confirm' WHERE phase = 'conditions'")
    _allow((*PHASES, "compare", "done"), VERDICTS)


def _allow(phases: tuple[str, ...], verdicts: tuple[str, ...]) -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    for table, column, values in (
        ("jobs", "phase", phases),
        ("measurements", "phase", phases),
        ("jobs", "verdict", verdicts),
    ):
        name, allowed = f"ck_{table}_{column}", ", ".join(f"'{value}'" for value in values)
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        rule = f"CHECK ({column} IN ({allowed})) NOT VALID"
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {rule}")
        op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")
