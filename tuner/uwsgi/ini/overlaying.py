"""The changes as a second file, which uWSGI reads after the user's."""

from collections.abc import Iterable, Mapping

from tuner.uwsgi.ini.lines import MARK, SECTION
from tuner.uwsgi.ini.values import as_comment, why_unwritable


def overlay(
    changes: Mapping[str, str],
    comments: Iterable[str] = (),
    notes: Mapping[str, str] | None = None,
) -> str:
    """A file for a second `--ini`, which overrides the first.

    It adds to lists and cannot replace them. `%(option)` in the first file still means the first
    file's value. `notes` are comments on options. Raises `ValueError` for an option or a value that
    no line can contain.
    """
    lines = [f"{MARK}{as_comment(comment)}" for comment in comments]
    lines.append(f"[{SECTION}]")
    for option, value in changes.items():
        wrong = why_unwritable(option, value)
        if wrong:
            raise ValueError(f"{option} {wrong}")
        if notes and option in notes:
            lines.append(f"{MARK}{as_comment(notes[option])}")
        lines.append(f"{option} = {value}")
    return "\n".join(lines) + "\n"
