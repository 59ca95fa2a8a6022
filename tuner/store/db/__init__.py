"""PostgreSQL: our tables, the store over them, their migrations, and a server of our own.

    store      what the rest of the product calls: nouns in, nouns out
    +- work      its calls about measurements: claim, complete, fail, release
    +- recovery  its calls that give lost work a host and a task again, and that drain a host
    +- placing   which host measures a job
    +- hosts     its calls about hosts: which live, and what keeps each from measuring
    +- jobs      one job: read, lock, change, finish
    +- turns     which queued job of a pool is next
    +- apps      all apps, each with its newest job and its last answers
    +- keys      keys, and the audit of what their callers have changed
    +- links     read-only links to jobs: make, list, revoke, open
    +- retention  what goes: a job that is deleted, and what is old
    +- status    where a job stands
    +- totals    what is counted for good, over all jobs
    +- history   all rows of one job in a few queries
    +- steps     the steps of `study.decide`, as SQL
    +- ports     what the store asks of a queue
    events     what has changed: written with the rows, read in the order of commits
    liveness   a worker's proof of life, and the lock on its host's name
    rows       rows <-> nouns
    tables     the schema
    engine     connections: their parameters; here driver errors become ours
    migrate    Alembic, driven from code
    dumps      the database as one file, and back
    embedded   a PostgreSQL server that lives and dies with this process
    +- home      the data directory: its places and its lock
    +- server    one process on one cluster
    +- binaries  where its programs are, and who may run them
    +- cluster   its files
    upgrading  the files of an older PostgreSQL become files of ours
    +- older     where its programs are, or where they come from
    +- digests   whether two databases hold the same

Nothing else imports sqlalchemy or alembic.
"""

from tuner.store.db.embedded import EmbeddedPostgres, require_room
from tuner.store.db.engine import JobQueue, conninfo, make_engine
from tuner.store.db.events import new_events
from tuner.store.db.hosts import Liveness, host_alive
from tuner.store.db.store import Store
