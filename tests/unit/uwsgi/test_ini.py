"""The ini dialect: nothing is lost, and a patch makes exactly its own values count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.uwsgi.ini import IniFile, as_int, is_true, overlay

AWKWARD = "\ufeff; bom\r\n[uwsgi] \r\nprocesses=4\r\n\r\n  threads =2 ; no comment\r\nmaster"
lines = st.sampled_from(
    [
        "[uwsgi]",
        "[other]",
        "processes = 4",
        "  workers=2",
        "threads = 2 ; two",
        "master",
        "; note",
        "# note",
        "",
        "if-env = PROD",
        "endif =",
        "ini = other.ini",
        "thunder-lock = true",
    ]
)
files = st.lists(lines, max_size=12).map("\n".join)


@given(st.text())
def test_any_text_comes_back_byte_for_byte(text: str) -> None:
    assert IniFile.parse(text).dump() == text


@pytest.mark.parametrize("text", ["", "\n", AWKWARD, "[uwsgi]", "[uwsgi]\r\n", "a=b"])
def test_awkward_files_come_back_byte_for_byte(text: str) -> None:
    assert IniFile.parse(text).dump() == text


@given(files, st.sampled_from(["processes", "threads", "thunder-lock"]), st.integers(1, 99))
def test_a_patched_value_counts_and_patching_again_changes_nothing(
    text: str, option: str, value: int
) -> None:
    file = IniFile.parse(f"[uwsgi]\n{text}")
    once = file.patch({option: str(value)})
    assert once.get(option) == str(value)
    assert IniFile.parse(once.dump()).get(option) == str(value)
    assert IniFile.parse(once.dump()).patch({option: str(value)}).dump() == once.dump()


def test_the_last_duplicate_counts_under_any_name() -> None:
    assert IniFile.parse("[uwsgi]\nprocesses = 4\nworkers = 6\n").get("processes") == "6"


def test_the_last_occurrence_is_replaced_in_place_with_its_spacing() -> None:
    file = IniFile.parse("[uwsgi]\nprocesses = 4\n  workers=6\nmaster = true\n")
    assert file.patch({"processes": "8"}).dump() == (
        "[uwsgi]\nprocesses = 4\n  workers=8\nmaster = true\n"
    )


def test_an_absent_option_is_appended_to_the_last_block_of_the_section() -> None:
    file = IniFile.parse("[uwsgi]\nmaster = true\n\n[other]\nthreads = 9\n")
    assert file.patch({"threads": "2"}).dump() == (
        "[uwsgi]\nmaster = true\nthreads = 2\n\n[other]\nthreads = 9\n"
    )


def test_a_file_without_a_final_newline_gets_one_before_a_new_line() -> None:
    assert IniFile.parse("[uwsgi]\nmaster").patch({"threads": "2"}).dump() == (
        "[uwsgi]\nmaster\nthreads = 2\n"
    )


def test_windows_line_endings_are_kept() -> None:
    patched = IniFile.parse("[uwsgi]\r\nprocesses = 1\r\n").patch(
        {"processes": "2", "threads": "4"}
    )
    assert patched.dump() == "[uwsgi]\r\nprocesses = 2\r\nthreads = 4\r\n"


def test_a_conditional_copy_below_cannot_override_the_patch() -> None:
    file = IniFile.parse("[uwsgi]\nprocesses = 1\nif-env = P\nprocesses = 3\nendif =\n")
    patched = file.patch({"processes": "8"})
    live = [line.value for line in patched.lines if line.key == "processes"]
    assert live == ["8"]
    assert patched.dump() == (
        "[uwsgi]\nprocesses = 8\nif-env = P\n; uwsgi-tuner: was: processes = 3\nendif =\n"
    )


def test_an_include_below_cannot_override_the_patch() -> None:
    file = IniFile.parse("[uwsgi]\nprocesses = 1\nini = site.ini\n").patch({"processes": "8"})
    assert file.dump().endswith("ini = site.ini\nprocesses = 8\n")


def test_a_second_header_replaces_the_first() -> None:
    once = IniFile.parse("[uwsgi]\nmaster\n").annotate(["job 1"])
    assert IniFile.parse(once.dump()).annotate(["job 2"]).dump() == (
        "; uwsgi-tuner: job 2\n[uwsgi]\nmaster\n"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("8 ; c", 8), ("abc", 0), ("", 0), ("-3", -3), (" 12x", 12), ("9" * 5000, 2**31 - 1)],
)
def test_numbers_are_read_as_atoi_reads_them(text: str, value: int) -> None:
    assert as_int(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("false", False), ("0", False), ("false  # x", True), ("", True)]
)
def test_only_four_words_are_false(text: str, value: bool) -> None:
    assert is_true(text) is value


def test_an_overlay_is_a_file_of_its_own() -> None:
    text = overlay({"processes": "4"}, ["job 7"])
    assert text == "; uwsgi-tuner: job 7\n[uwsgi]\nprocesses = 4\n"
