"""What to change in a target whose app does not work, from the failure and the app's last lines."""

import re
from collections.abc import Iterator

from tuner.model import Failure

_MOST = 3

_SIGNS = (
    (
        r"KeyError: '([A-Z][A-Z0-9_]+)'",
        "the app reads the variable {0}: give it in `env` or `env_file`",
    ),
    (
        r"(?:ImproperlyConfigured|UndefinedValueError)[^:]*: (.+)",
        'the app\'s settings say "{0}": set it in `env`',
    ),
    (
        r"Invalid HTTP_HOST header: '([^']+)'",
        "the app refuses the Host {0}: set `host_header` to a name of its ALLOWED_HOSTS",
    ),
    (
        r'could not translate host name "([^"]+)"',
        "the app looks for the host {0}: name the service so, as no other name exists there",
    ),
    (
        r"(?:host|connect to|Connection to) '?([a-z][\w.-]*)'?[^\n]*(?:Name or service not known"
        r"|name resolution|nodename nor servname)",
        "the app looks for the host {0}: name the service so, as no other name exists there",
    ),
    (
        r"Name or service not known|Temporary failure in name resolution|NameResolutionError",
        "the app looks for a host that is no service: there is no way out of an arm's network",
    ),
    (
        r"[Nn]o such table|relation \"[^\"]+\" does not exist|doesn't exist",
        "a table is missing: give the migration as a step of `prepare`",
    ),
    (
        r"answers GET \S+ on port \d+ with (30[1278]) only",
        "the health path answers {0}: give the path that it leads to, or one that answers 200",
    ),
    (
        r"answers GET \S+ on port \d+ with (40[0-9]) only",
        "the health path answers {0}: give a `health_path` that answers 200, and a `host_header`",
    ),
    (
        r"nothing listens on port (\d+)",
        "the file makes uWSGI listen elsewhere than on {0}: correct `port`, or the file",
    ),
    (
        r"No module named '([\w.]+)'",
        "the app imports {0}, which the image lacks: look at `working_dir`, chdir and pythonpath",
    ),
    (
        r"[Pp]assword authentication failed for user \"([^\"]+)\"",
        "the service refuses the password of {0}: `env` of app and service must agree",
    ),
)


def hints(failure: Failure) -> list[str]:
    """Advice, the likeliest cause first; empty if nothing is recognised."""
    text = f"{failure.message}\n{failure.log_tail}"
    return list(dict.fromkeys(_found(text)))[:_MOST]


def _found(text: str) -> Iterator[str]:
    for sign, advice in _SIGNS:
        if found := re.search(sign, text):
            yield advice.format(*(group.strip()[:200] for group in found.groups()))
