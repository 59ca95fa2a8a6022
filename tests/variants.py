"""Target apps that differ from one that is there, for jobs in which the difference matters."""

from pathlib import Path
from typing import Any

import yaml

from tests.real_bench import APPS
from tuner.targets.catalogue import own_data

SHOP = own_data("target_apps") / "django-shop"
BACKED = APPS / "backed"


def write_variant(
    folder: Path, name: str, of: Path, *, ini: str | None = None, **fields: Any
) -> None:
    """Describe a target app in `folder`/`name`; it is built from the folder of the app `of`.

    `fields` are laid over that app's target.yaml, key by key; `ini` replaces its uwsgi.ini.
    """
    home = folder / name
    home.mkdir(parents=True)
    described = yaml.safe_load((of / "target.yaml").read_text())
    changed = laid_over(described, {"name": name, "build": str(of), **fields})
    (home / "target.yaml").write_text(yaml.safe_dump(changed, sort_keys=False))
    (home / "uwsgi.ini").write_text(ini or (of / "uwsgi.ini").read_text())


def laid_over(below: Any, above: Any) -> Any:
    """Two mappings as one; of anything else the second."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: laid_over(below.get(key), value) for key, value in above.items()}
