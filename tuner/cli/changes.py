"""`OPTION=VALUE` on a command line → changes of a uwsgi.ini."""

from collections.abc import Sequence

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.uwsgi.ini import canonical, why_unwritable


def changes_of(settings: Sequence[str], option: str) -> dict[str, str]:
    """Value by option. Raises `InvalidInput` with every mistake; `option` stands before each."""
    changes: dict[str, str] = {}
    mistakes: list[Mistake] = []
    for setting in settings:
        name, equals, value = (part.strip(" \t") for part in setting.partition("="))
        wrong = why_unwritable(name, value)
        if not equals:
            mistakes.append(Mistake(f"{option}{setting}", "is not OPTION=VALUE"))
        elif wrong:
            mistakes.append(Mistake(f"{option}{setting}", wrong))
        elif canonical(name) in map(canonical, changes):
            mistakes.append(Mistake(f"{option}{setting}", f"sets {name} a second time"))
        changes[name] = value
    if mistakes:
        raise InvalidInput(mistakes)
    return changes
