"""Figures as text: the same in a uwsgi.ini, a terminal and a page."""


def percent(share: float) -> str:
    """+0.068 as `+6.8 %`; never `-0.0 %`."""
    return f"{round(100 * share, 1) + 0.0:+.1f} %"
