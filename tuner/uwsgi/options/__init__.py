"""The options of uWSGI: those that a build lists, with what we know of them.

lookup          `known`: all of them in one `Catalogue`; `of_build`: those of one build;
│               notes.yaml: our own sentences, defaults and rules
├── table       known.tsv: facts from the C source of 2.0.31 (made by tests/option_tables.py)
└── danger      danger.yaml: what a trial leaves out
other_releases  options that 2.0.31 does not have
guessing        the option that a wrong name means; spellings.yaml
"""

from tuner.nouns.model import Danger
from tuner.uwsgi.options.guessing import Advice, Catalogue, Kind, Option, Takes, nearest
from tuner.uwsgi.options.lookup import elsewhere, known, of_build
