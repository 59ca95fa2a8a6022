"""Options that some other release has, and 2.0.31 has not."""

from tuner.uwsgi.options.option import Advice, Kind, Option

_OPTIONS = (
    Option(
        name="thunder-lock-watchdog",
        names=("thunder-lock-watchdog",),
        kind=Kind.FLAG,
        sentence="Frees the thunder lock when the worker that holds it is gone.",
        since="2.1",
        rules=("Only the unreleased 2.1 knows it; every 2.0 ignores it in silence.",),
        advice=Advice.NEVER,
    ),
)
_BY_NAME = {name: option for option in _OPTIONS for name in option.names}


def elsewhere(name: str) -> Option | None:
    """The option of that name that no 2.0.31 has; its `since` or `until` says which have it."""
    return _BY_NAME.get(name)
