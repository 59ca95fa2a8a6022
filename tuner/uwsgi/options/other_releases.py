"""Options of other releases that 2.0.31 does not have."""

from tuner.uwsgi.options.option import Advice, Kind, Option

_OPTIONS = (
    Option(
        name="thunder-lock-watchdog",
        names=("thunder-lock-watchdog",),
        kind=Kind.FLAG,
        sentence="Frees the thunder lock when its worker has died.",
        since="2.1",
        rules=("Only the unreleased 2.1 has it; every 2.0 silently ignores it.",),
        advice=Advice.NEVER,
    ),
)
_BY_NAME = {name: option for option in _OPTIONS for name in option.names}


def elsewhere(name: str) -> Option | None:
    """An option that 2.0.31 lacks; its `since` or `until` names the releases."""
    return _BY_NAME.get(name)
