"""The checks of all rules. Importing a module registers its checks.

Does uWSGI read what the file says? (U001 to U049)
    files     text, ini, line endings; headers, includes, blocks; of a scalar the last line wins
    keys      unknown, misspelt, of another build; command and environment
    values    quotes, words, comments; %(name) and %x; units, signs, sizes

Is it a good idea here? (from U050)
    sockets   addresses, queues, the http router, files that uWSGI serves; who can talk to uWSGI
    workers   how many and where, cheaper, threads, gevent, harakiri; interpreters and apps
    memory    limits of the box; start, stop, reload, a broken app
"""

from importlib import import_module
from pkgutil import iter_modules

from tuner.uwsgi.lint.rule import CHECKS

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["CHECKS"]
