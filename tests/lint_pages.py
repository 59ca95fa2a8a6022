"""The files and the versions that a rule's page shows.

Its diff gives the problem and the better file. `python -m tests.lint_pages` writes the versions
into all pages, from their front matter and what each release brought (options/releases.tsv).
"""

import re
from pathlib import Path

from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint import RULES, Rule
from tuner.uwsgi.options.releases import OLDEST, first_releases

PAGES = Path(__file__).parents[1] / "tuner" / "uwsgi" / "lint" / "pages"

_DIFF = re.compile(r"```diff\n(.*?)```", re.DOTALL)
_ESCAPE = re.compile(r"\\(r|x[0-9a-f]{2}|u[0-9a-f]{4})")


def example(rule: Rule) -> str:
    """The file with the problem."""
    return _side(rule, "+")


def better(rule: Rule) -> str:
    """The same file, repaired."""
    return _side(rule, "-")


def _side(rule: Rule, other: str) -> str:
    """One side of the diff. A page shows invisible characters as escapes, `\\x00`."""
    (diff,) = _DIFF.findall(rule.text)
    lines = (line for line in diff.splitlines() if not line.startswith(other))
    text = "".join(f"{line[1:]}\n" for line in lines)
    return _ESCAPE.sub(lambda found: "\r" if found[1] == "r" else chr(int(found[1][1:], 16)), text)


def versions(rule: Rule) -> str:
    """For which uWSGI the rule holds, and since when the options of its files exist."""
    lines = [*IniFile.parse(example(rule)).lines, *IniFile.parse(better(rule)).lines]
    new = {line.key: first_releases()[line.key] for line in lines if line.key in first_releases()}
    holds = f"{rule.versions}." if rule.versions else f"checked for every uWSGI from {OLDEST} on."
    return " ".join((f"Versions: {holds}", *(f"`{key}` is new in {new[key]}." for key in new)))


def main() -> None:
    """Write the versions at the end of each page."""
    for rule in RULES:
        page = PAGES / f"{rule.id}.md"
        text = page.read_text(encoding="utf-8").partition("\n\nVersions: ")[0].rstrip("\n")
        page.write_text(f"{text}\n\n{versions(rule)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
