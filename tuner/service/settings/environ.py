"""`TUNER_*` names in an environment, and what is wrong with them."""

import difflib
from collections.abc import Mapping

from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource

from tuner.nouns.errors import Mistake

PREFIX = "TUNER_"
TOLERATED = frozenset(
    {"TUNER_OHA_IMAGE", "TUNER_K6_IMAGE", "TUNER_PYTHON_IMAGE", "TUNER_PROVISION_PYTHON"}
)
"""Names that only `tuner.provision` reads; they may be set while the product runs."""


class Environ(EnvSettingsSource):
    """The fields' texts in a mapping in place of `os.environ`."""

    def __init__(self, settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        texts = {name.lower(): text.strip() for name, text in environ.items()}
        self.env_vars = {name: text for name, text in texts.items() if text}


def name_of(field: str) -> str:
    """The name of a field in the environment."""
    return f"{PREFIX}{field.upper()}"


def misspelt(settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> list[Mistake]:
    """A mistake for each `TUNER_*` name that is no setting, with the nearest one."""
    names = list(map(name_of, settings_cls.model_fields))
    known = TOLERATED.union(names)
    return [
        Mistake(name, f"there is no such setting; the nearest is {_nearest(name, names)}")
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in known and not name.startswith("TUNER_TEST_")
    ]


def mistakes_of(settings_cls: type[BaseSettings], error: ValidationError) -> list[Mistake]:
    """What is wrong with the values. They are not repeated: they may hold a password."""
    found = []
    for detail in error.errors(include_input=False):
        if detail["type"] != "default_factory_not_called":
            field = str(detail["loc"][0])
            reason = detail["msg"].removeprefix("Value error, ")
            wanted = settings_cls.model_fields[field].description
            found.append(Mistake(name_of(field), f"{reason}; give {wanted}"))
    return found


def _nearest(name: str, names: list[str]) -> str:
    return difflib.get_close_matches(name, names, n=1, cutoff=0)[0]
