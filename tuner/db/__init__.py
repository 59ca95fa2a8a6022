"""PostgreSQL: our tables, the store over them, their migrations, and a server of our own.

    store      what the rest of the product calls: nouns in, nouns out. It owns the transactions;
    |          the modules below work on the connection they are given
    +- jobs      create, read, list, lock, finish; who is next in a pool
    +- history   everything of one job in a handful of queries
    +- steps     what `study.decide` asks for, as SQL
    +- work      measurements: claim, heartbeat, complete, fail, release, find the lost
    +- hosts     who measures, when last seen, and what ails it
    +- ports     what the store asks of a queue
    rows       rows <-> nouns
    tables     the schema
    engine     connections, and the one place where driver errors become ours
    migrate    Alembic, driven from code
    embedded   a PostgreSQL server that lives and dies with this process
    +- binaries  where its programs are, and who may run them
    +- cluster   its files

Nothing else imports sqlalchemy or alembic.
"""

from tuner.db.embedded import EmbeddedPostgres, require_room
from tuner.db.engine import make_engine
from tuner.db.ports import JobQueue
from tuner.db.rows import Claim, HostRow
from tuner.db.store import Store

__all__ = [
    "Claim",
    "EmbeddedPostgres",
    "HostRow",
    "JobQueue",
    "Store",
    "make_engine",
    "require_room",
]
