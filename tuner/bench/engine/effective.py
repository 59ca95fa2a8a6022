"""The effective options that uWSGI prints at its start, and its log without them."""

_BEGIN = ";uWSGI instance configuration"
_END = ";end of configuration"


def printed(log: str) -> str:
    """The section as ini text; empty if the log has none."""
    _, begin, rest = log.partition(_BEGIN)
    section, end, _ = rest.partition(_END)
    return f"{section.strip()}\n" if begin and end else ""


def without(log: str) -> str:
    """The log without the section; a tail of a log may hold only a part of it."""
    before, end, after = log.partition(_END)
    if not end:
        return log
    return f"{before.rpartition(_BEGIN)[0]}{after.lstrip()}".strip()
