"""Write docs/lint anew: `python -m tests.lint_pages`."""

from pathlib import Path

from tuner.uwsgi.lint import RULES
from tuner.uwsgi.lint.pages import pages

FOLDER = Path(__file__).parents[1] / "docs" / "lint"


def write(folder: Path = FOLDER) -> None:
    """Every page of today's rules, and no other."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages(RULES)
    for name, text in made.items():
        (folder / name).write_text(text)
    for path in folder.glob("*.md"):
        if path.name not in made:
            path.unlink()


if __name__ == "__main__":
    write()
