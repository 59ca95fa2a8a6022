"""The options of uWSGI: of one build as it says itself, enriched by what we know of them."""

from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.option import Advice, Danger, Kind, Option

__all__ = ["Advice", "Catalogue", "Danger", "Kind", "Option"]
