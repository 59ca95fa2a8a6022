"""What checks found where apps are deployed: the last word of each checker."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.errors import NotFound
from tuner.nouns.model import Check, JobId, NewCheck
from tuner.store.db.jobs import read_row
from tuner.store.db.engine import Database
from tuner.store.db.tables import checks

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

    def report_check(self, app: str, new: NewCheck) -> Check:
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
            return Check(**connection.execute(statement).mappings().one())
