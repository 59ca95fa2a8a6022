"""Blocks with a course of their own; trials of earlier jobs, of the ablation, and what it leaves.

Revision: 20261121_search, after the kinds of job. Everything old reads as before: its blocks ran
as the job's budget said.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261121_search"
down_revision = "20261121_kinds"
branch_labels = None
depends_on = None

ORIGINS = ("baseline", "heuristic", "sampler", "given")
NEW_ORIGINS = {"earlier": "heuristic", "ablation": "sampler", "minimal": "sampler"}
"""Each with what comes nearest to it among the old ones."""

NEW_FIELDS = {
    "": ("sampler", "seeds"),
    "objective": ("also",),
    "slo": ("throughput_rps",),
    "budget": ("race", "race_blocks", "ablate_runs"),
}
"""Fields of a spec by the part that holds them; the version before refuses a spec with any."""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("measurements", sa.Column("block_options", JSONB(), nullable=True))
    _allow((*ORIGINS, *NEW_ORIGINS))


def downgrade() -> None:
    """Only jobs with an objective that the version before does not know go, with all they measured.

    The others lose what it cannot read: who proposed a trial is said less exactly, and a job that
    still runs goes on as if nothing but its old fields had been asked for.
    """
    op.execute("SET LOCAL lock_timeout = '5s'")
    connection = op.get_bind()
    for origin, nearest in NEW_ORIGINS.items():
        connection.execute(
            sa.text("UPDATE trials SET origin = :nearest WHERE origin = :origin"),
            {"nearest": nearest, "origin": origin},
        )
    _allow(ORIGINS)
    op.drop_column("measurements", "block_options")
    for job_id, spec in connection.execute(sa.text("SELECT id, spec FROM jobs")).all():
        if _has_new_objective(spec):
            connection.execute(sa.text("DELETE FROM jobs WHERE id = :id"), {"id": job_id})
        else:
            connection.execute(
                sa.text("UPDATE jobs SET spec = CAST(:spec AS json) WHERE id = :id"),
                {"id": job_id, "spec": json.dumps(_without_new_fields(spec))},
            )


def _has_new_objective(spec: dict[str, Any]) -> bool:
    objective = spec["objective"]
    return (
        objective.get("maximize") == "rps_per_cpu"
        or bool(objective.get("also"))
        or spec["slo"].get("throughput_rps") is not None
    )


def _without_new_fields(spec: dict[str, Any]) -> dict[str, Any]:
    """The same spec, its keys in the same order: that of a search space orders the lines."""
    for part, names in NEW_FIELDS.items():
        holder = spec[part] if part else spec
        for name in names:
            holder.pop(name, None)
    return spec


def _allow(origins: tuple[str, ...]) -> None:
    name = op.f("ck_trials_origin")
    values = ", ".join(repr(origin) for origin in origins)
    op.drop_constraint(name, "trials", type_="check")
    op.create_check_constraint(name, "trials", f"origin IN ({values})")
