"""Small files that are well in all other respects, for rules to show."""

_APP = ("module = app", "master = true", "need-app = true", "die-on-term = true")


def app_on(socket: str, *lines: str) -> str:
    """One that says where it listens in the first line, and these lines at the end."""
    return "\n".join(("[uwsgi]", socket, *_APP, *lines, ""))


def file_with(*lines: str) -> str:
    """One with nothing but these lines: for what is missing."""
    return "\n".join(("[uwsgi]", *lines, ""))
