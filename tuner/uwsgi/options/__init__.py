"""The options of uWSGI: of one build as it says itself, enriched by what we know of them.

known.tsv   facts out of the C source of 2.0.31; tests/option_tables.py makes it
├── table       reads it
├── notes       defaults, rules and sentences of our own, by subject
├── danger      what a benchmark does not run
└── known       all of it in one `Catalogue`, or what one build has of it
elsewhere   options of other releases
nearest     the option that was meant by a name that does not exist
"""

from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.guessing import nearest
from tuner.uwsgi.options.lookup import known, of_build
from tuner.uwsgi.options.option import Advice, Danger, Kind, Option
from tuner.uwsgi.options.other_releases import elsewhere

__all__ = [
    "Advice",
    "Catalogue",
    "Danger",
    "Kind",
    "Option",
    "elsewhere",
    "known",
    "nearest",
    "of_build",
]
