"""Which options do more than serve the app: danger.yaml, read once."""

from collections.abc import Mapping
from functools import cache

from tuner.nouns.model import Danger
from tuner.uwsgi import knowledge


@cache
def dangers() -> Mapping[str, Danger]:
    """The danger of each option by its canonical name; a name that ends in `-` is a prefix."""
    table = knowledge.mapping("options/danger.yaml")
    return {name: Danger(danger) for danger, names in table.items() for name in names}


def danger_of(name: str) -> Danger | None:
    """What the option of that canonical name may do besides serving the app; None for nothing."""
    head, hyphen, _ = name.partition("-")
    return dangers().get(name) or dangers().get(f"{head}{hyphen}" if hyphen else "")
