"""mkdocs hook: titles of the lint pages from their front matter, and a list of all of them."""

from typing import Any

from mkdocs.utils.meta import get_data

_INDEX = "lint/README.md"


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """The text of a page: a rule gets its title and severity, the index its table."""
    if "severity" in page.meta:
        page.meta["title"] = f"{page.meta['id']} {page.meta['name']}"
        return f"**{page.meta['severity']}**, fix: {page.meta['fix']}\n\n{markdown}"
    if page.file.src_uri != _INDEX:
        return markdown
    rules = [get_data(file.content_string)[1] for file in files if _is_rule(file.src_uri)]
    rows = [f"| [{r['id']}]({r['id']}.md) | {r['name']} | {r['severity']} |" for r in rules]
    return "\n".join([markdown, "| id | name | severity |", "|---|---|---|", *rows])


def _is_rule(path: str) -> bool:
    return path.startswith("lint/U")
