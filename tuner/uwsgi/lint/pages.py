"""The pages of the rules, as Markdown: one for each rule, and one that lists them all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tuner.uwsgi.lint.finding import Severity
from tuner.uwsgi.lint.rule import Rule

INDEX = "README.md"
_MEANING = {
    Severity.ERROR: "uWSGI does not start, or does something else than what is written.",
    Severity.WARNING: "It works, but not under load, not everywhere, or not for long.",
    Severity.NOTE: "It works; there is a better way.",
}
_INTRODUCTION = (
    "`tuner lint uwsgi.ini` looks at a file by these rules; `--rule` and `--ignore` choose among "
    "them, by id or name, and `--explain` says here what a page says there. Rules up to U049 are "
    "about what uWSGI reads, those from U050 on about what comes of it. These pages are made of "
    "the rules themselves, by `python -m tests.lint_pages`."
)


def file_name(rule: Rule) -> str:
    """The name of a rule's page; it stays, as the id does."""
    return f"{rule.id}.md"


def pages(rules: Sequence[Rule]) -> Mapping[str, str]:
    """Every page by its file name, the index among them."""
    return {INDEX: index(rules), **{file_name(rule): page(rule) for rule in rules}}


def page(rule: Rule) -> str:
    """One rule: what happens, an example, the same put right, and how it is known."""
    return "\n".join(
        (
            f"# {rule.id} {rule.name}",
            "",
            f"**{rule.severity.value.capitalize()}.** {_MEANING[rule.severity]}",
            "",
            rule.why,
            "",
            "This file has it:",
            "",
            *_fenced(rule.example),
            "",
            "This one is better:",
            "",
            *_fenced(rule.better),
            "",
            "## How it is known",
            "",
            rule.evidence,
            "",
            f"[All rules]({INDEX})",
            "",
        )
    )


def index(rules: Iterable[Rule]) -> str:
    """All rules in a table, by id."""
    rows = (f"| [{r.id}]({file_name(r)}) | {r.name} | {r.severity.value} |" for r in rules)
    meanings = (f"- **{severity.value}**: {_MEANING[severity]}" for severity in Severity)
    return "\n".join(
        (
            "# Rules",
            "",
            _INTRODUCTION,
            "",
            *meanings,
            "",
            "| id | name | severity |",
            "|----|------|----------|",
            *rows,
            "",
        )
    )


def _fenced(text: str) -> Iterator[str]:
    """A file as it is to be seen: what shows on no screen is written out."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    fence = "````" if "```" in text else "```"
    yield f"{fence}ini"
    yield from map(_shown, lines)
    yield fence


def _shown(line: str) -> str:
    tabs_kept = line.replace("\t", " ")
    if tabs_kept.isprintable():
        return line
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in line)
