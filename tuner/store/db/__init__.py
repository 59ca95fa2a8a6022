"""PostgreSQL: our tables, the store over them, their migrations, and a server of our own.

    store      what the rest of the product calls: nouns in, nouns out
    +- work      measurements: claim, complete, fail, release; lost work gets a host again
    +- hosts     hosts: which live, what keeps each from measuring; proof of life
    +- jobs      one job: read, lock, change, finish; which one is next, and on which host
    +- apps      all apps, each with its newest job, its last answers and checks
    +- keys      keys, the audit of what their callers have changed, read-only links
    +- status    where a job stands, and all its rows
    +- steps     the steps of `study.decide`, as SQL
    +- retention  what goes: a job that is deleted, and what is old
    events     what has changed, and sums over all jobs: written with the rows
    rows       rows <-> nouns
    tables     the schema
    engine     connections: their parameters; here driver errors become ours
    dumps      the database as one file, and back; Alembic, driven from code
    embedded   a PostgreSQL server that lives and dies with this process
    +- server    one process on one cluster, and the cluster's files
    +- binaries  where its programs and its data are, and who may use them
    upgrading  the files of an older PostgreSQL become files of ours

Nothing else imports sqlalchemy or alembic.
"""

from tuner.store.db.embedded import EmbeddedPostgres, require_room
from tuner.store.db.engine import JobQueue, conninfo, make_engine
from tuner.store.db.events import new_events
from tuner.store.db.hosts import Liveness, host_alive
from tuner.store.db.store import Store
