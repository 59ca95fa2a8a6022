"""Kinto as uWSGI starts it: with the settings and the logging of kinto.ini."""

import os

from pyramid.paster import get_app, setup_logging

setup_logging(os.environ["KINTO_INI"])
application = get_app(os.environ["KINTO_INI"])
