"""Rules on meaning: what a file that is well written asks for, and what comes of it.

sockets      addresses, queues, protocols     concurrency  threads, gevent, async
access       who may talk to uWSGI            memory       against the box's limit
http_router  the process in front of workers  recycling    workers that are replaced
workers      how many, and where              harakiri     requests that take too long
cheaper      fewer while there is little      logs         what is written, and where
lifecycle    start, stop, a broken app        static       files that uWSGI serves
command      the command and the environment  python       interpreters and apps
├── certain      what a file certainly says
├── invocation   what a command says
└── addresses    what an address is
"""

from tuner.uwsgi.lint.rule import Rule
from tuner.uwsgi.lint.rules_meaning import (
    access,
    cheaper,
    command,
    concurrency,
    harakiri,
    http_router,
    lifecycle,
    logs,
    memory,
    python,
    recycling,
    sockets,
    static,
    workers,
)

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *sockets.RULES,
            *access.RULES,
            *http_router.RULES,
            *workers.RULES,
            *cheaper.RULES,
            *lifecycle.RULES,
            *memory.RULES,
            *recycling.RULES,
            *harakiri.RULES,
            *concurrency.RULES,
            *logs.RULES,
            *static.RULES,
            *python.RULES,
            *command.RULES,
        ),
        key=lambda rule: rule.id,
    )
)
"""U050 to U149, by id."""
