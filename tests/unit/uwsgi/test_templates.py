"""Placeholders of templates, beside what uWSGI fills itself and what is a text."""

import pytest

from tuner.uwsgi.lint import Severity, lint, subject_of
from tuner.uwsgi.options import known
from tuner.uwsgi.templates import filled, has_placeholder, placeholders


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("${N}", [("${N}", "N")]),
        ("/run/$APP.sock", [("$APP", "APP")]),
        ("{{ n }}{{m}}", [("{{ n }}", "n"), ("{{m}}", "m")]),
        ("{{- n | default(4) -}}", [("{{- n | default(4) -}}", "n")]),
        ("a!NAME!b", [("!NAME!", "NAME")]),
        *((text, []) for text in ("$(N)", "%(n)", "@(n)", "$1", "a!b!c", "{n}", "$", "!!", "%n")),
    ],
)
def test_a_placeholder_has_a_name(text: str, found: list[tuple[str, str]]) -> None:
    assert list(placeholders(text)) == found
    assert has_placeholder(text) == bool(found)


def test_only_what_has_a_value_is_filled() -> None:
    text = "a = $N ${N} {{ N }} !N! $(N) $NO {{ n }}"
    assert filled(text, {"N": "4"}) == "a = 4 4 4 4 $(N) $NO {{ n }}"


def test_no_other_rule_looks_at_a_value_that_nobody_knows() -> None:
    options = ("processes = ${N}", "threads = {{ t }}", "listen = !L!", "harakiri = $H")
    text = "\n".join(("[uwsgi]", *options, "log-date = {{ on }}", "buffer-size = 16${K}", ""))
    found = [f for f in lint(subject_of(text, known())) if f.line and f.line > 1]
    assert [(f.rule, f.line, f.severity) for f in found] == [
        ("U147", 2, Severity.WARNING),
        ("U147", 3, Severity.NOTE),
        ("U147", 4, Severity.NOTE),
        ("U147", 5, Severity.WARNING),
        ("U147", 6, Severity.NOTE),
        ("U147", 7, Severity.WARNING),
    ]


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("{% if lazy %}", "{%- endif %}"),
        ("<% if lazy %>", "<% end -%>"),
        ("<% apps.each do |app| %>", "<% end %>"),
        ("% if lazy:", "% endif"),
    ],
)
def test_a_line_in_a_block_of_a_template_may_be_left_out(begins: str, ends: str) -> None:
    lines = ("[uwsgi]", begins, "threads = 2", "threads = 4", ends, "nonsense = 1", "")
    subject = subject_of("\n".join(lines), known())
    assert [entry.is_conditional for entry in subject.entries if entry.key == "threads"] == [
        True
    ] * 2
    found = [(f.rule, f.line) for f in lint(subject) if f.line and 2 <= f.line <= 5]
    assert found == [("U147", 2), ("U147", 5)]


@pytest.mark.parametrize("line", ["{% if a %}lazy = true{% endif %}", "{% endif %}", "<% end %>"])
def test_a_block_that_is_closed_in_its_line_or_never_opened_leaves_the_next_lines(
    line: str,
) -> None:
    subject = subject_of(f"[uwsgi]\n{line}\nthreads = 2\n<% if a %>\nlisten = 9\n", known())
    found = {entry.key: entry.is_conditional for entry in subject.entries}
    assert not found["threads"]
    assert found["listen"]


@pytest.mark.parametrize(
    "line",
    [
        "route-if = equal:${HTTP_HOST};a redirect:http://b${REQUEST_URI}",
        "attach-daemon = sh -c 'echo $HOME'",
        "processes = $(N)",
    ],
)
def test_a_dollar_sign_of_uwsgi_or_a_shell_is_no_template(line: str) -> None:
    found = lint(subject_of(f"[uwsgi]\n{line}\n", known()))
    assert "U147" not in {finding.rule for finding in found}
