"""A patch makes its values count wherever the option stands, and leaves the rest alone."""

import pytest

from tests.ini_bytes import dumped, parsed
from tuner.uwsgi.ini import IniFile, overlay


def patched(text: str, notes: dict[str, str] | None = None, **changes: str | None) -> str:
    named = {option.replace("_", "-"): value for option, value in changes.items()}
    once = IniFile.parse(text).patch(named, notes)
    assert IniFile.parse(once.dump()).patch(named, notes).dump() == once.dump()
    return once.dump()


def test_an_option_of_an_included_section_is_changed_there() -> None:
    text = "[uwsgi]\nini = :base\nmaster = true\n\n[base]\nprocesses = 2\n"
    assert patched(text, processes="6") == text.replace("processes = 2", "processes = 6")


def test_of_two_sections_the_one_that_is_read_last_counts() -> None:
    text = "[base]\nprocesses = 2\n[uwsgi]\nprocesses = 3\nini = :base\n"
    assert patched(text, processes="6") == text.replace("processes = 2", "processes = 6")


def test_a_section_that_nobody_includes_is_left_alone() -> None:
    text = "[uwsgi]\nmaster\n[dev]\nprocesses = 2\n"
    assert patched(text, processes="6") == "[uwsgi]\nmaster\nprocesses = 6\n[dev]\nprocesses = 2\n"


def test_an_option_that_counts_on_a_condition_alone_gets_a_line_of_its_own() -> None:
    text = "[uwsgi]\nif-env = P\nprocesses = 3\nendif =\n"
    assert patched(text, processes="6") == f"{text}processes = 6\n"


def test_any_end_closes_a_block_and_the_next_section_does_not() -> None:
    text = "[uwsgi]\nif-env = P\n[other]\nendif =\n[uwsgi]\nprocesses = 3\nend =\nthreads = 2\n"
    assert IniFile.parse(text).get("processes") is None
    assert IniFile.parse(text).get("threads") == "2"
    assert patched(text, processes="6").endswith("threads = 2\nprocesses = 6\n")


def test_a_block_that_is_never_closed_is_not_appended_to() -> None:
    text = "[uwsgi]\nmaster\nif-env = P\nprocesses = 3\n"
    assert patched(text, processes="6") == (
        "[uwsgi]\nmaster\nprocesses = 6\nif-env = P\n; uwsgi-tuner: was: processes = 3\n"
    )


def test_a_set_is_changed_as_the_option_that_it_sets() -> None:
    assert patched("[uwsgi]\nset = processes=4\n", processes="6") == "[uwsgi]\nset = processes=6\n"


def test_a_line_moves_below_another_file_and_leaves_a_comment() -> None:
    assert patched("[uwsgi]\nprocesses = 1\nini = site.ini\n", processes="8") == (
        "[uwsgi]\n; uwsgi-tuner: was: processes = 1\nini = site.ini\nprocesses = 8\n"
    )


def test_an_option_that_is_taken_out_leaves_comments() -> None:
    text = "[uwsgi]\nhttp = :1\nmaster\nif-env = P\nhttp = :2\nendif =\n"
    assert patched(text, notes={"http": "http was :1"}, http=None) == (
        "[uwsgi]\n; uwsgi-tuner: http was :1\n; uwsgi-tuner: was: http = :1\nmaster\n"
        "if-env = P\n; uwsgi-tuner: was: http = :2\nendif =\n"
    )


def test_an_option_that_is_not_there_cannot_be_taken_out() -> None:
    assert patched("[uwsgi]\nmaster\n", notes={"http": "gone"}, http=None) == "[uwsgi]\nmaster\n"


def test_a_percent_sign_at_the_end_does_not_swallow_a_new_line() -> None:
    assert patched("[uwsgi]\nlabel = 100%", processes="6") == (
        "[uwsgi]\nlabel = 100%\n\nprocesses = 6\n"
    )


def test_what_hung_on_an_old_value_stays_dead() -> None:
    text = patched("[uwsgi]\nlog-format = 100%\nprocesses = 9\nthreads = 2\n", log_format="x")
    assert text == ("[uwsgi]\nlog-format = x\n; uwsgi-tuner: was: processes = 9\nthreads = 2\n")


@pytest.mark.parametrize("line", ["processes", "processes\0 = 9", "processes%", " processes\t"])
def test_a_key_without_a_value_gets_one(line: str) -> None:
    found = patched(f"[uwsgi]\n{line}\n", processes="6")
    assert found == f"[uwsgi]\n{' ' * line.startswith(' ')}processes = 6\n"


def test_a_file_without_the_section_gets_one() -> None:
    assert patched("; nothing", processes="6") == "; nothing\n[uwsgi]\nprocesses = 6\n"
    assert patched("", processes="6") == "[uwsgi]\nprocesses = 6\n"


def test_a_note_stands_above_its_line_and_takes_the_place_of_an_older_one() -> None:
    text = "[uwsgi]\n  processes = 2\nmaster\n"
    once = patched(text, {"processes": "was 2; +20 %"}, processes="6")
    assert once == "[uwsgi]\n  ; uwsgi-tuner: was 2; +20 %.\n  processes = 6\nmaster\n"
    again = patched(once, {"processes": "other"}, processes="8")
    assert again == "[uwsgi]\n  ; uwsgi-tuner: other\n  processes = 8\nmaster\n"
    assert patched(again, processes="8") == again
    assert patched(again, processes="9") == "[uwsgi]\n  processes = 9\nmaster\n"


def test_the_users_own_comments_are_not_taken_for_notes() -> None:
    text = "[uwsgi]\n; two are enough\nprocesses = 2\n"
    assert patched(text, {"processes": "four"}, processes="4") == (
        "[uwsgi]\n; two are enough\n; uwsgi-tuner: four\nprocesses = 4\n"
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [("a=b", "1"), ("", "1"), ("[x]", "1"), ("; x", "1"), ("x", "1\n2"), ("x", "5%"), ("x", " 1")],
)
def test_what_no_line_can_hold_is_refused(option: str, value: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        IniFile.parse("[uwsgi]\n").patch({option: value})
    with pytest.raises(ValueError, match=r".+"):
        overlay({option: value})


def test_a_value_may_end_in_two_percent_signs() -> None:
    assert patched("[uwsgi]\n", label="5%%") == "[uwsgi]\nlabel = 5%%\n"


def test_bytes_that_are_no_text_survive_a_patch() -> None:
    content = b"[uwsgi]\n; caf\xe9\nprocname-prefix = \xff\nprocesses = 2\n"
    found = dumped(parsed(content).patch({"processes": "4"}))
    assert found == content.replace(b"= 2", b"= 4")


def test_an_overlay_has_a_comment_above_each_line_with_a_note() -> None:
    assert overlay({"processes": "4", "threads": "2"}, ["job 7"], {"threads": "95 %"}) == (
        "; uwsgi-tuner: job 7\n[uwsgi]\nprocesses = 4\n; uwsgi-tuner: 95 %.\nthreads = 2\n"
    )


def test_a_comment_behind_the_old_value_moves_to_the_line_above() -> None:
    text = "[uwsgi]\n  processes = 2 ; as many as CPUs\nmaster = true\n"
    changed = "[uwsgi]\n  ; as many as CPUs\n  processes = 6\nmaster = true\n"
    assert patched(text, processes="6") == changed


def test_it_stands_above_our_note() -> None:
    text = "[uwsgi]\nprocesses = 2 # two\n"
    changed = "[uwsgi]\n# two\n; uwsgi-tuner: more\nprocesses = 6\n"
    assert patched(text, {"processes": "more"}, processes="6") == changed


def test_a_value_that_stays_keeps_what_stands_behind_it() -> None:
    text = "[uwsgi]\nlogto = /tmp/a #1\n"
    assert patched(text, logto="/tmp/a #1") == text
