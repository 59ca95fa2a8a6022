"""All apps in two statements, each with its newest job, its last answers and checks."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    CTE,
    Connection,
    Select,
    Text,
    and_,
    cast,
    column,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert

from tuner.nouns.errors import NotFound
from tuner.nouns.model import (
    MOST_ANSWERS,
    MOST_LISTED,
    Action,
    AppInBrief,
    Check,
    Job,
    JobId,
    JobKind,
    JobState,
    JobSummary,
    NewCheck,
    PastAnswer,
    measure_again,
)
from tuner.store.db.engine import Database
from tuner.store.db.jobs import read_row
from tuner.store.db.keys import note
from tuner.store.db.rows import fits, noun_of
from tuner.store.db.tables import checks, is_open, jobs

# ---- What checks found where apps are deployed: the last word of each checker

_CHECK = (
    checks.c.checker,
    checks.c.job_id.label("job"),
    checks.c.holds,
    checks.c.said,
    checks.c.at,
)


def of_apps(connection: Connection, apps: Sequence[str]) -> Mapping[str, Sequence[Check]]:
    """The checks of each app."""
    query = select(checks.c.app, *_CHECK).where(checks.c.app.in_(apps)).order_by(checks.c.checker)
    found: defaultdict[str, list[Check]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        found[row["app"]].append(Check(**{name: row[name] for name in Check.model_fields}))
    return found


class Checks(Database):
    """The store's calls about checks."""

    def report_check(self, app: str, new: NewCheck, *, by: str | None = None) -> Check:
        """Keep what a checker found, instead of what it found before.

        Raises `NotFound` where the app has no such job.
        """
        job_id = JobId(new.job)
        found = {"job_id": job_id, "holds": new.holds, "said": new.said}
        first = insert(checks).values(app=app, checker=new.checker, **found)
        statement = first.on_conflict_do_update(
            index_elements=["app", "checker"], set_={**found, "at": func.now()}
        ).returning(*_CHECK)
        with self._transaction() as connection:
            if read_row(connection, job_id)["app"] != app:
                raise NotFound(f"job {job_id} is not of app {app!r}")
            held = "holds" if new.holds else "does not hold"
            note(connection, by, Action.CHECK, job_id, f"{app}, {new.checker}: {held}")
            return Check(**connection.execute(statement).mappings().one())


# ---- All apps in two statements, each with its newest job and its last answers

_IS_OF_AN_APP = jobs.c.kind != JobKind.CALIBRATE
_is_answered = and_(jobs.c.kind == JobKind.TUNE, jobs.c.state == JobState.SUCCEEDED)


def _names(app: str | None, after: str | None, limit: int, among: Collection[str]) -> CTE:
    """The first apps by name. Each is found in the index after the one before it.

    So their jobs are not read: there are many more of them than apps.
    """
    least = select(func.min(jobs.c.app).label("app"), literal(1).label("place"))
    first = least.where(_IS_OF_AN_APP)
    if app is not None:
        first = first.where(jobs.c.app == app)
    if after is not None:
        first = first.where(jobs.c.app > after)
    allowed = fits(jobs.c.app, among) if among else true()
    first = first.where(allowed)
    names = first.cte("names", recursive=True)
    next_name = select(func.min(jobs.c.app)).where(_IS_OF_AN_APP, jobs.c.app > names.c.app, allowed)
    is_wanted = and_(names.c.app.is_not(None), names.c.place < (limit if app is None else 1))
    return names.union_all(
        select(next_name.correlate(names).scalar_subquery(), names.c.place + 1).where(is_wanted)
    )


def _newest(app: str | None, after: str | None, limit: int, among: Collection[str]) -> Select[Any]:
    names = _names(app, after, limit, among)
    newest = (
        select(*(jobs.c[name] for name in JobSummary.model_fields))
        .where(_IS_OF_AN_APP, jobs.c.app == names.c.app)
        .order_by(jobs.c.id.desc())
        .limit(1)
        .lateral("newest")
    )
    open_jobs = (
        select(jobs.c.app, func.count().label("count"))
        .where(_IS_OF_AN_APP, is_open)
        .group_by(jobs.c.app)
        .subquery("open_jobs")
    )
    return (
        select(*newest.c, func.coalesce(open_jobs.c.count, 0).label("open_jobs"))
        .select_from(
            names.join(newest, true()).outerjoin(open_jobs, open_jobs.c.app == names.c.app)
        )
        .order_by(names.c.app)
    )


def _answers(apps: list[str], most: int) -> Select[Any]:
    """The last ones of each app: no others are read, and the document of each is read once."""
    names = func.unnest(cast(apps, ARRAY(Text))).table_valued("app").render_derived(name="names")
    document = (
        func.jsonb_to_record(jobs.c.recommendation)
        .table_valued(column("comparison", JSONB), column("lines", JSONB), column("doubts", JSONB))
        .render_derived(name="document", with_types=True)
        .lateral()
    )
    last = (
        select(
            jobs.c.app,
            jobs.c.id.label("job"),
            jobs.c.verdict,
            jobs.c.finished_at,
            document.c.comparison["effect"].label("effect"),
            document.c.lines,
            document.c.doubts,
        )
        .select_from(jobs.join(document, true()))
        .where(_is_answered, jobs.c.app == names.c.app)
        .order_by(jobs.c.id.desc())
        .limit(most)
        .lateral("last")
    )
    return select(last).select_from(names.join(last, true())).order_by(last.c.job.desc())


class Apps(Database):
    """The store's calls about apps."""

    def apps(
        self,
        *,
        app: str | None = None,
        after: str | None = None,
        limit: int = 200,
        among: Collection[str] = (),
    ) -> list[AppInBrief]:
        """Apps by name, or the one `app`; `after` is the last name of the page before.

        `among` are globs of apps.
        """
        with self._transaction() as connection:
            rows = connection.execute(_newest(app, after, limit, among)).mappings().all()
            names = [row["app"] for row in rows]
            answers: defaultdict[str, list[PastAnswer]] = defaultdict(list)
            most = MOST_LISTED if app is None else MOST_ANSWERS
            for row in connection.execute(_answers(names, most)).mappings() if names else ():
                again = measure_again(row["doubts"] or ())
                answers[row["app"]].append(noun_of(PastAnswer, {**row, "measure_again": again}))
            checked = of_apps(connection, names)
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

    def answered(self, app: str, limit: int) -> list[Job]:
        """The tuning jobs of an app that have an answer, the newest first."""
        query = select(jobs).where(_is_answered, jobs.c.app == app).order_by(jobs.c.id.desc())
        with self._at_once() as connection:
            rows = connection.execute(query.limit(limit)).mappings()
            return [noun_of(Job, row) for row in rows]
