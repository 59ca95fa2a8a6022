"""Jobs that measure and calibrate; windows with all that is seen; what each host can tell apart.

Revision: 20261121_kinds, after the queue. Everything old reads as before: jobs tune, and of their
windows nothing more was seen.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "20261121_kinds"
down_revision = "20261121_queue"
branch_labels = None
depends_on = None

PHASES = ("validate", "prepare", "calibrate", "search", "race", "ablate", "confirm")
ORIGINS = ("baseline", "heuristic", "sampler")


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("jobs", sa.Column("kind", sa.Text(), server_default="tune", nullable=False))
    op.add_column("jobs", sa.Column("report", JSONB(), nullable=True))
    op.create_check_constraint(
        op.f("ck_jobs_kind"), "jobs", _one_of("kind", ("tune", "compare", "calibrate"))
    )
    _allow((*PHASES, "compare", "done"), (*ORIGINS, "given"))
    for name in ("sent", "connections", "stalled"):
        kind = sa.BigInteger() if name == "sent" else sa.Integer()
        column = sa.Column(name, kind, server_default=sa.text("0"), nullable=False)
        op.add_column("windows", column)
    op.add_column("windows", sa.Column("over_limit", sa.Float(), nullable=True))
    for name in ("connect", "proxy", "server", "surroundings", "histogram"):
        op.add_column("windows", sa.Column(name, JSONB(), nullable=True))
    op.add_column("windows", sa.Column("series", ARRAY(sa.Integer()), nullable=True))
    op.add_column("hosts", sa.Column("calibration", JSONB(), nullable=True))
    op.add_column("hosts", sa.Column("calibrated_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("hosts", sa.Column("calibrated_with", sa.Text(), nullable=True))


def downgrade() -> None:
    """The version before knows one kind of job: the others go, with all that they measured."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DELETE FROM jobs WHERE kind <> 'tune'")
    for name in ("calibrated_with", "calibrated_at", "calibration"):
        op.drop_column("hosts", name)
    for name in ("series", "histogram", "surroundings", "server", "proxy", "connect"):
        op.drop_column("windows", name)
    for name in ("over_limit", "stalled", "connections", "sent"):
        op.drop_column("windows", name)
    _allow((*PHASES, "done"), ORIGINS)
    op.drop_column("jobs", "report")
    op.drop_column("jobs", "kind")


def _allow(phases: tuple[str, ...], origins: tuple[str, ...]) -> None:
    for table, column, values in (
        ("jobs", "phase", phases),
        ("measurements", "phase", phases),
        ("trials", "origin", origins),
    ):
        name = op.f(f"ck_{table}_{column}")
        op.drop_constraint(name, table, type_="check")
        op.create_check_constraint(name, table, _one_of(column, values))


def _one_of(column: str, values: tuple[str, ...]) -> str:
    return f"{column} IN ({', '.join(repr(value) for value in values)})"
