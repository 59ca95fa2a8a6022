"""The Helm chart of deploy/: its files, and what it sets."""

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
CHART = CHECKOUT / "deploy" / "helm" / "uwsgi-tuner"
TEMPLATES = {path.name: path.read_text() for path in sorted((CHART / "templates").rglob("*.*"))}
SET_BY_TEMPLATES = {
    name for text in TEMPLATES.values() for name in re.findall(r"name: (TUNER_[A-Z_]+)", text)
}
