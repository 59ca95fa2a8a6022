"""The merged options that uWSGI prints at its start, and its log without them."""

_BEGIN = ";uWSGI instance configuration"
_END = ";end of configuration"


def printed(log: str) -> str:
    """The section, as ini text; empty where the log has none."""
    _, begin, rest = log.partition(_BEGIN)
    section, end, _ = rest.partition(_END)
    return f"{section.strip()}\n" if begin and end else ""


def without(log: str) -> str:
    """The log less the section, or less the part of it that a tail of the log still holds."""
    before, end, after = log.partition(_END)
    if not end:
        return log
    return f"{before.rpartition(_BEGIN)[0]}{after.lstrip()}".strip()
