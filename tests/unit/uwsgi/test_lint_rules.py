"""Rules on syntax, keys and values: each with its own example, and the cases beside it."""

import pytest

from tests.lint_pages import better, example
from tuner.uwsgi.lint import RULES as ALL
from tuner.uwsgi.lint import Finding, Rule, Severity, applicable, fixed, lint, subject_of
from tuner.uwsgi.options import Catalogue, known, of_build, of_release

RULES = tuple(rule for rule in ALL if rule.id < "U050")
TOO_LARGE = "U003"
"""Its example is no page long: it has tests of its own."""

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.id}-{rule.name}")


def _syntax(text: str, catalogue: Catalogue | None = None) -> tuple[Finding, ...]:
    return lint(subject_of(text, catalogue or known()), RULES)


def _found(*lines: str, catalogue: Catalogue | None = None) -> list[tuple[str, int | None]]:
    text = "\n".join(("[uwsgi]", *lines, ""))
    return [(finding.rule, finding.line) for finding in _syntax(text, catalogue)]


@every_rule
def test_an_example_has_this_finding_and_no_other(rule: Rule) -> None:
    if rule.id != TOO_LARGE:
        assert {finding.rule for finding in _syntax(example(rule))} == {rule.id}


@every_rule
def test_the_better_file_has_no_finding(rule: Rule) -> None:
    assert _syntax(better(rule)) == ()


@every_rule
def test_a_safe_fix_makes_the_finding_vanish(rule: Rule) -> None:
    text = example(rule)
    found = applicable(_syntax(text))
    if found:
        assert _syntax(fixed(text, found)) == ()


@every_rule
def test_any_edits_change_the_example(rule: Rule) -> None:
    found = applicable(_syntax(example(rule)), unsafe=True)
    if found:
        assert fixed(example(rule), found, unsafe=True) != example(rule)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("process = 2", "processes"),
        ("vaccum = true", "vacuum"),
        ("py-callos-afterfork = true", "py-call-osafterfork"),
        ("harakri = 30", "harakiri"),
        ("p = 4", "processes"),
    ],
)
def test_a_misspelt_key_has_the_nearest_option_as_its_fix(line: str, meant: str) -> None:
    text = f"[uwsgi]\n  {line}\n"
    (finding,) = _syntax(text)
    assert finding.rule == "U019"
    assert finding.fix is not None
    assert not finding.fix.is_safe
    value = line.partition("=")[2]
    assert fixed(text, [finding], unsafe=True) == f"[uwsgi]\n  {meant} ={value}\n"


def test_a_key_is_dead_for_certain_once_the_build_was_asked() -> None:
    text = "[uwsgi]\nvaccum = 1\ngraceful-restarts = 1\n"
    guess = {finding.severity for finding in _syntax(text)}
    asked = {f.severity for f in _syntax(text, of_build("2.0.31", ["vacuum", "processes"]))}
    assert guess == {Severity.WARNING}
    assert asked == {Severity.ERROR}


@pytest.mark.parametrize(
    "lines",
    [
        ("base = /srv", "chdir = %(base)/app"),
        ("chdir = %(base)/app", "base = /srv"),
        ("base = 2", "processes = %(base * 2)"),
        ("debug = 1", "if-opt = debug=1", "log-slow = 10", "endif ="),
        ("set = base=/srv", "chdir = %(base)"),
        ("declare-option = twice=processes=$1", "twice = 4"),
        ("end =", "if-env = A", "endif =", "for = a", "end-for ="),
    ],
)
def test_a_placeholder_that_is_used_is_no_dead_key(lines: tuple[str, ...]) -> None:
    assert not {"U019", "U020", "U039"}.intersection(rule for rule, _ in _found(*lines))


def test_only_the_very_next_line_continues_a_line() -> None:
    assert _found("env = A=1 \\", "vaccum = 1") == [("U035", 2)]
    assert _found("env = A=1 \\", "", "vaccum = 1") == [("U035", 2), ("U019", 4)]


def test_a_placeholder_may_be_for_another_file_that_is_included() -> None:
    (finding,) = _syntax("[uwsgi]\nplace-of-app = /srv\ninclude = common.ini\n")
    assert (finding.rule, finding.severity) == ("U020", Severity.NOTE)


def test_what_a_build_lacks_says_what_it_needs() -> None:
    build = of_build("2.0.31", ["processes", "static-expires-type"])
    (finding,) = _syntax("[uwsgi]\nroute = ^/ log:hello\n", build)
    assert (finding.rule, finding.severity) == ("U021", Severity.ERROR)
    assert "it needs pcre" in finding.message


def test_an_option_of_a_later_release_is_dead_in_an_earlier_one() -> None:
    old = of_release("2.0.20")
    (finding,) = _syntax("[uwsgi]\nmax-requests-delta = 1\n", old)
    assert finding.rule == "U022"
    option = known().find("max-requests-delta")
    assert option is not None
    assert f"exists only from {option.since}: your 2.0.20 ignores it" in finding.message
    assert finding.fix is not None
    assert not finding.fix.is_safe
    assert _syntax("[uwsgi]\nmax-requests-delta = 1\n", of_release("2.0.29")) == ()


def test_a_build_of_an_earlier_release_lacks_an_option_for_its_release_and_not_for_its_build() -> (
    None
):
    build = of_build("2.0.26-debian", ["max-requests", "strict"])
    (finding,) = _syntax("[uwsgi]\nmax-requests-delta = 1\nstrict = true\n", build)
    assert (finding.rule, finding.line) == ("U022", 2)
    assert finding.message == (
        "This option exists only from 2.0.29: your 2.0.26-debian does not start with it, "
        "because of strict"
    )


def test_a_queue_may_be_a_variable_before_2_0_18() -> None:
    lines = ("set-placeholder = queue=256", "listen = %(queue)")
    assert ("U043", 3) in _found(*lines, catalogue=of_release("2.0.18"))
    assert ("U043", 3) not in _found(*lines, catalogue=of_release("2.0.17.1"))


@pytest.mark.parametrize(
    "value", ["true", "True", "ON", "yes", "1", "false", "False", "OFF", "No", "0", "", "%(x)"]
)
def test_the_words_of_uwsgi_are_fine_in_any_case(value: str) -> None:
    assert "U033" not in [rule for rule, _ in _found(f"master = {value}", "x = 1")]


@pytest.mark.parametrize(
    ("value", "severity"),
    [("none", Severity.ERROR), ("disabled", Severity.ERROR), ("enabled", Severity.NOTE)],
)
def test_a_word_that_means_no_but_switches_on_is_worse_than_one_that_means_yes(
    value: str, severity: Severity
) -> None:
    (finding,) = _syntax(f"[uwsgi]\nmaster = {value}\n")
    assert (finding.rule, finding.severity) == ("U033", severity)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("disable-logging = false  # keep it", "U027"),
        ("lazy-apps = false;c", "U027"),
        ("chdir = /app ; there", "U027"),
        ("cheaper-algo = busyness ; c", "U027"),
        ("harakiri = 30 ; c", "U028"),
        ("harakiri = 30# c", "U028"),
        ("harakiri = true", "U029"),
        ("harakiri", "U029"),
        ("harakiri =", "U029"),
        ("buffer-size = 32k", "U030"),
        ("max-requests = 5,000", "U030"),
        ("harakiri = 5m", "U030"),
        ("log-maxsize = 50M", "U030"),
        ("threads = -1", "U031"),
        ("buffer-size = 65536", "U032"),
        ('chdir = "/app"', "U034"),
        ("processes = '4'", "U034"),
        ("module: app", "U023"),
        ("env: A=b", "U023"),
        ("env A=b", "U024"),
        ("--processes = 4", "U018"),
        ("Processes = 4", "U018"),
        ("log-date = %d.%m.%Y", "U041"),
        ("http-socket = :80 # %20", "U027"),
        ("listen = %(backlog)", "U043"),
    ],
)
def test_a_line_has_this_finding(line: str, rule: str) -> None:
    assert (rule, 2) in _found(line, "backlog = 100")


@pytest.mark.parametrize(
    "line",
    [
        "harakiri = 30s",
        "reload-on-rss = 512M",
        "limit-as = 512MB",
        "log-slow = 100ms",
        "prio = -5",
        "processes = %k",
        "harakiri = $(HARAKIRI)",
        "chdir = /srv/a;b",
        "add-header = Cache-Control: max-age=3; public",
        "exec-pre-app = sleep 1 ; echo done # really",
        "env = PATH=/a;/b",
        'log-format = "%(method) %(uri)" %(status) "%(uagent)"',
        "log-format = %(addr) %(nosuchthing)",
        "logto = %d/%n.log",
        "chdir = /100%%",
        "static-map = /a=/b ",
        "plugins = python3",
        "http-socket = 0.0.0.0:$(PORT)",
        "spooler = /a\nspooler = /b",
        "touch-reload = a\ntouch-reload = b",
    ],
)
def test_a_line_that_is_well_has_no_finding(line: str) -> None:
    assert [rule for rule, _ in _found(*line.split("\n")) if rule != "U021"] == []


def test_a_comment_that_changes_nothing_is_a_note() -> None:
    found = _syntax("[uwsgi]\nvacuum = true ; c\nlazy-apps = false ; c\n")
    assert [(f.rule, f.severity) for f in found] == [
        ("U027", Severity.NOTE),
        ("U027", Severity.ERROR),
    ]


def test_a_comment_behind_a_value_is_moved_above_it() -> None:
    text = "[uwsgi]\r\n\tlazy-apps=false ; not yet\r\n"
    assert fixed(text, _syntax(text)) == "[uwsgi]\r\n\t; not yet\r\n\tlazy-apps=false\r\n"


def test_a_unit_is_worked_out_but_not_without_being_asked() -> None:
    text = "[uwsgi]\nbuffer-size = 32k\n"
    found = _syntax(text)
    assert fixed(text, found) == text
    assert fixed(text, found, unsafe=True) == "[uwsgi]\nbuffer-size = 32768\n"


def test_of_several_lines_those_that_never_count_are_found() -> None:
    lines = ("processes = 1", "workers = 2", "threads = 3", "processes = 2")
    assert _found(*lines) == [("U037", 2)]


def test_a_value_of_a_condition_overrides_nothing_for_certain() -> None:
    assert _found("processes = 1", "if-env = A", "processes = 2", "endif =") == []


def test_a_first_line_that_a_reference_takes_is_not_left_out_in_passing() -> None:
    text = "[uwsgi]\nprocesses = 1\nprocesses = 2\nthreads = %(processes)\n"
    found = _syntax(text)
    assert [finding.rule for finding in found] == ["U037"]
    assert fixed(text, found) == text  # %(processes) is 1, and would be 2


def test_a_header_in_other_letters_is_another_section() -> None:
    found = _syntax("[uwsgi]\nthreads = 2\n[uWSGI]\nprocesses = 2\n")
    assert [(f.rule, f.severity) for f in found] == [("U011", Severity.ERROR)]


def test_a_line_below_a_backslash_is_not_called_a_dead_key() -> None:
    text = "[uwsgi]\nchdir = /srv \\\n    more of it\n"
    found = _syntax(text)
    assert [finding.rule for finding in found] == ["U035"]
    assert fixed(text, found, unsafe=True) == "[uwsgi]\nchdir = /srv more of it\n"


def test_any_number_of_lines_with_backslashes_is_one_finding() -> None:
    text = "[uwsgi]\nchdir = /srv \\\n  a \\\n  b = c\nthreads = 2\n"
    found = _syntax(text)
    assert [(finding.rule, finding.line) for finding in found] == [("U035", 2)]
    assert fixed(text, found, unsafe=True) == "[uwsgi]\nchdir = /srv a b = c\nthreads = 2\n"


def test_a_percent_sign_at_the_end_of_a_comment_is_found_and_doubled() -> None:
    text = "[uwsgi]\n; at most 50%\nprocesses = 4\n"
    found = _syntax(text)
    assert [(finding.rule, finding.line) for finding in found] == [("U042", 2)]
    assert fixed(text, found) == "[uwsgi]\n; at most 50%%\nprocesses = 4\n"


def test_a_file_without_a_header_gets_one() -> None:
    text = "; the app\nmodule = app\n"
    assert fixed(text, _syntax(text)) == "; the app\n[uwsgi]\nmodule = app\n"


def test_what_set_sets_is_put_right_where_it_stands() -> None:
    text = "[uwsgi]\nset = lazy-apps=false # c\n"
    assert fixed(text, _syntax(text)) == "[uwsgi]\n# c\nset = lazy-apps=false\n"


def test_a_value_that_goes_on_in_the_next_line_is_not_changed_in_passing() -> None:
    text = "[uwsgi]\nchdir = /a ; 50%\nmaster = true\n"
    assert fixed(text, _syntax(text)) == "[uwsgi]\nchdir = /a ; 50%%\nmaster = true\n"


def test_with_strict_a_wrong_name_is_what_uwsgi_does_not_start_with() -> None:
    (found,) = _syntax("[uwsgi]\nstrict = true\nprocess = 4\n")
    assert found.severity is Severity.ERROR
    assert found.message.startswith("uWSGI does not start with `process`")


def test_the_size_of_the_buffer_is_no_size_of_a_body() -> None:
    (found,) = _syntax("[uwsgi]\nbuffer-size = 10485760\n")
    assert "of the headers, not of the body" in found.message
