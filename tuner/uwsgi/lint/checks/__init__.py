"""The checks of all rules. Importing a module registers its checks.

Does uWSGI read what the file says? (U001 to U049)
    files        text, ini, line endings      keys         unknown, misspelt, of another build
    sections     headers, includes, blocks    placeholders %(name) and %x
    values       quotes, words, comments      duplicates   of a scalar the last line wins
    numbers      units, signs, sizes

Is it a good idea here? (from U050)
    sockets      addresses, queues            access       who can talk to uWSGI
    http_router  the process before workers   workers      how many, and where
    cheaper      fewer workers when idle      lifecycle    start, stop, reload, a broken app
    memory       limits of the box            concurrency  threads, gevent, harakiri
    static       files that uWSGI serves      python       interpreters and apps
    command      command and environment

patterns        checks that several rules share
"""

from importlib import import_module
from pkgutil import iter_modules

from tuner.uwsgi.lint.rule import CHECKS

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["CHECKS"]
