"""Is this file what its author means? Rules over a uwsgi.ini, each with its own page."""

from tuner.uwsgi.lint.finding import Edit, Finding, Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.subject import Box, Subject

__all__ = ["Box", "Edit", "Finding", "Fix", "Hit", "Rule", "Severity", "Subject"]
