"""All apps in two statements, each with its newest job and its last answers."""

from collections import defaultdict
from typing import Any

from sqlalchemy import Select, func, select

from tuner.db import checks
from tuner.db.engine import Database
from tuner.db.rows import noun_of
from tuner.db.tables import jobs
from tuner.errors import NotFound
from tuner.model import (
    MOST_ANSWERS,
    AppInBrief,
    JobKind,
    JobState,
    JobSummary,
    PastAnswer,
)

_IS_OF_AN_APP = jobs.c.kind != JobKind.CALIBRATE
_IS_OPEN = jobs.c.state.in_((JobState.QUEUED, JobState.RUNNING))
_from_newest = func.row_number().over(partition_by=jobs.c.app, order_by=jobs.c.id.desc())


def _newest(app: str | None, after: str | None, limit: int) -> Select[Any]:
    placed = select(
        jobs.c.id,
        _from_newest.label("place"),
        func.count().filter(_IS_OPEN).over(partition_by=jobs.c.app).label("open_jobs"),
    ).where(_IS_OF_AN_APP)
    if app is not None:
        placed = placed.where(jobs.c.app == app)
    if after is not None:
        placed = placed.where(jobs.c.app > after)
    found = placed.subquery()
    columns = (jobs.c[name] for name in JobSummary.model_fields)
    return (
        select(*columns, found.c.open_jobs)
        .select_from(jobs.join(found, found.c.id == jobs.c.id))
        .where(found.c.place == 1)
        .order_by(jobs.c.app)
        .limit(limit)
    )


def _answers(apps: list[str]) -> Select[Any]:
    """Only the chosen rows have their documents read: the places are found by the columns."""
    placed = (
        select(jobs.c.id, _from_newest.label("place"))
        .where(
            jobs.c.app.in_(apps),
            jobs.c.kind == JobKind.TUNE,
            jobs.c.state == JobState.SUCCEEDED,
        )
        .subquery()
    )
    return (
        select(
            jobs.c.app,
            jobs.c.id.label("job"),
            jobs.c.verdict,
            jobs.c.finished_at,
            jobs.c.recommendation["comparison"]["effect"].label("effect"),
            jobs.c.recommendation["lines"].label("lines"),
        )
        .select_from(jobs.join(placed, placed.c.id == jobs.c.id))
        .where(placed.c.place <= MOST_ANSWERS)
        .order_by(jobs.c.id.desc())
    )


class Apps(Database):
    """The store's calls about apps."""

    def apps(
        self, *, app: str | None = None, after: str | None = None, limit: int = 200
    ) -> list[AppInBrief]:
        """Apps by name, or the one `app`; `after` is the last name of the page before."""
        with self._transaction() as connection:
            rows = connection.execute(_newest(app, after, limit)).mappings().all()
            names = [row["app"] for row in rows]
            answers: defaultdict[str, list[PastAnswer]] = defaultdict(list)
            for row in connection.execute(_answers(names)).mappings() if names else ():
                answers[row["app"]].append(noun_of(PastAnswer, row))
            checked = checks.of_apps(connection, names)
        return [
            AppInBrief(
                app=row["app"],
                newest=JobSummary(**{name: row[name] for name in JobSummary.model_fields}),
                open_jobs=row["open_jobs"],
                answers=tuple(answers[row["app"]]),
                checks=tuple(checked.get(row["app"], ())),
            )
            for row in rows
        ]

    def app(self, name: str) -> AppInBrief:
        """One app. Raises `NotFound` where no job has that name."""
        found = self.apps(app=name, limit=1)
        if not found:
            raise NotFound(f"there is no job for an app {name!r} yet")
        return found[0]
