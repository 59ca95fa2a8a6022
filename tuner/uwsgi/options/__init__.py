"""The options of uWSGI: those that a build lists, with what we know of them.

lookup     `known`: all of them in one `Catalogue`; `of_release`: those of an earlier release;
           `of_build`: those of one build. known.tsv has facts from the C source (made by
           tests/option_tables.py), danger.yaml what a trial leaves out, notes.yaml our own
           sentences, defaults and rules
releases   what each release since 2.0.15 brought (releases.tsv, made in the same way)
guessing   an option, a catalogue, and the option that a wrong name means (spellings.yaml)
"""

from tuner.nouns.plain import Danger
from tuner.uwsgi.options.guessing import Advice, Catalogue, Kind, Option, Takes, nearest
from tuner.uwsgi.options.lookup import elsewhere, known, later_release, of_build, of_release
