"""What would count, against a model that knows what was put into the file."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.budgets import examples
from tuner.uwsgi.ini import IniFile, canonical, effective, overlay

ENVIRON = {"HERE": "yes"}
OPTIONS = ("processes", "workers", "threads", "master", "x", "env")
CHANGES = {"processes": "61", "threads": "62", "thunder-lock": "true"}
Found = list[tuple[str, str]]


@dataclass(frozen=True)
class Item:
    """One thing in a section: how it is written, and what comes of it."""

    kind: str
    key: str = ""
    value: str = ""
    inner: tuple["Item", ...] = ()


plain = st.builds(
    Item,
    kind=st.just("option"),
    key=st.sampled_from(OPTIONS),
    value=st.sampled_from(["", "1", "2", "3 ; c", "a b", "%%", "caf\u00e9"]),
)
noise = st.builds(Item, kind=st.sampled_from(["comment", "blank", "break"]))
leaf = st.builds(Item, kind=st.just("include"), value=st.sampled_from(["leaf", "missing"]))
inside = st.lists(st.one_of(plain, noise, leaf), max_size=4).map(tuple)
block = st.one_of(
    st.builds(
        Item, kind=st.just("if"), value=st.sampled_from(["HERE", "HERE=no", "GONE"]), inner=inside
    ),
    st.builds(Item, kind=st.just("for"), value=st.sampled_from(["", "1", "1 2"]), inner=inside),
)
branch = st.builds(Item, kind=st.just("include"), value=st.just("branch"))
sections = st.fixed_dictionaries(
    {
        "uwsgi": st.lists(st.one_of(plain, noise, block, leaf, branch), max_size=8),
        "branch": st.lists(st.one_of(plain, noise, block, leaf), max_size=5),
        "leaf": st.lists(st.one_of(plain, noise), max_size=3),
    }
)
styles = st.tuples(
    st.sampled_from(["\n", "\r\n"]), st.sampled_from([" = ", "=", "\t=  "]), st.booleans()
)


def written(files: Mapping[str, Sequence[Item]], style: tuple[str, str, bool]) -> str:
    """As a file, the included sections below."""
    ending, equals, is_ended = style
    lines: list[str] = []

    def write(items: Sequence[Item], section: str) -> None:
        for item in items:
            match item.kind:
                case "option":
                    lines.append(f"{item.key}{equals}{item.value}")
                case "comment":
                    lines.append("; processes = 77")
                case "blank":
                    lines.append("")
                case "break":
                    lines.extend(["[unused]", "processes = 78", f"[{section}]"])
                case "include":
                    lines.append(f"ini{equals}:{item.value}")
                case _:
                    lines.append(f"{'if-env' if item.kind == 'if' else 'for'}{equals}{item.value}")
                    write(item.inner, section)
                    lines.append("end")

    for section, items in files.items():
        lines.append(f"[{section}]")
        write(items, section)
    return ending.join(lines) + (ending if is_ended else "")


def meant(files: Mapping[str, Sequence[Item]], section: str = "uwsgi") -> Found:
    """What comes of it, by what the items are."""

    def of(items: Sequence[Item], times: int = 1) -> Found:
        found: Found = []
        for item in items:
            match item.kind:
                case "option":
                    value = item.value.replace("%%", "%")
                    found += [(item.key, value)] * times
                case "include":
                    found += meant(files, item.value) * times
                case "if":
                    found += of(item.inner, times=int(item.value == "HERE"))
                case "for":
                    found += of(item.inner, times=len(item.value.split()))
                case _:
                    pass
        return found

    return of(files.get(section, ()))


def counted(text: str) -> Found:
    found = effective(IniFile.parse(text), environ=ENVIRON)
    assert not any(setting.is_conditional for setting in found)
    return [(setting.option, setting.value) for setting in found]


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(sections, styles)
def test_what_counts_is_what_was_meant(
    files: dict[str, list[Item]], style: tuple[str, str, bool]
) -> None:
    assert counted(written(files, style)) == meant(files)


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(sections, styles)
def test_a_patch_changes_what_it_says_and_nothing_else(
    files: dict[str, list[Item]], style: tuple[str, str, bool]
) -> None:
    ini = IniFile.parse(written(files, style))
    notes = {"threads": "5 %"}
    once = ini.patch(CHANGES, notes).annotate(["95 %"])
    assert once.patch(CHANGES, notes).annotate(["95 %"]).dump() == once.dump()
    found = counted(once.dump())
    assert {option: dict(named(found)).get(option) for option in CHANGES} == CHANGES
    assert rest(found) == rest(meant(files))


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(sections, styles)
def test_all_lines_but_the_tuned_ones_stay_as_they_were(
    files: dict[str, list[Item]], style: tuple[str, str, bool]
) -> None:
    before = IniFile.parse(written(files, style))
    after = before.patch(CHANGES)
    kept = [line.raw.strip() for line in before.lines if canonical(line.key or "") not in CHANGES]
    left = [
        line.raw.strip()
        for line in after.lines
        if canonical(line.key or "") not in CHANGES and "uwsgi-tuner" not in line.raw
    ]
    comments = [
        line for line in left if line.startswith((";", "#"))
    ]  # of tuned lines, some of them
    assert [line for line in left if line not in comments] == [
        line for line in kept if line not in comments
    ]
    assert all(comments.count(line) >= kept.count(line) for line in set(comments))
    assert all(line in left for line in kept)


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(sections, styles)
def test_an_overlay_read_after_it_counts(
    files: dict[str, list[Item]], style: tuple[str, str, bool]
) -> None:
    user, tuned = written(files, style), overlay(CHANGES, ["95 %"])
    both = effective(
        IniFile.parse("[uwsgi]\nini = user.ini\nini = tuned.ini\n"),
        environ=ENVIRON,
        files={"user.ini": user, "tuned.ini": tuned},
    )
    found = [(setting.option, setting.value) for setting in both]
    assert {option: dict(named(found)).get(option) for option in CHANGES} == CHANGES
    assert rest(found) == rest(meant(files))


def named(found: Found) -> Found:
    return [(canonical(option), value) for option, value in found]


def rest(found: Found) -> Found:
    return [(option, value) for option, value in named(found) if option not in CHANGES]


def values(text: str, **known: Mapping[str, str]) -> dict[str, str]:
    found = effective(IniFile.parse(f"[uwsgi]\n{text}"), path="/srv/shop/uwsgi.ini", **known)
    return {setting.option: setting.value for setting in found}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("%(n)", "3"),
        ("%(n * 4)", "12"),
        ("%(n + 1 * 2)", "8"),
        ("%(n / 2)", "1"),
        ("%(1 - 8 / 2)", "-3"),
        ("%(n / 0)", "0"),
        ("%(n n ++)", "34"),
        ("%(9223372036854775807 + 1)", "-9223372036854775808"),
        ("%(missing)", "%(missing)"),
        ("%(missing + 2)", "2"),
        ("x%(%(name))", "x3"),
        ("%%(n)", "3"),
        ("%d %n %c %0", "/srv/shop/ uwsgi shop srv"),
        ("%k of %Z100%%", "%k of 100%"),
        ("5%\r", "5"),
        ("5%%\r", "5%"),
        ("$(HERE)$(GONE)", "yes$(GONE)"),
        ("@(t)@(u)", "text@(u)"),
        ("%()", "%()"),
    ],
)
def test_references_are_put_in(written: str, value: str) -> None:
    found = values(f"n = 3\nname = n\na = {written}\n", environ=ENVIRON, files={"t": "text\n"})
    assert found["a"] == value


@pytest.mark.parametrize("unread", ["%k", "2%v", "@(gone)"])
def test_no_number_comes_of_what_only_the_machine_knows(unread: str) -> None:
    found = values(f"n = {unread}\na = %(n * 2)\nb = x%(n)\n", environ=ENVIRON)
    assert (found["a"], found["b"]) == ("%(n * 2)", f"x{unread}")


def test_a_variable_of_an_unknown_environment_is_no_number_and_of_a_known_one_0() -> None:
    assert values("n = $(GONE)\na = %(n + 2)\n")["a"] == "%(n + 2)"
    assert values("n = $(GONE)\na = %(n + 2)\n", environ=ENVIRON)["a"] == "2"


def test_of_a_repeated_option_a_reference_means_the_first() -> None:
    assert values("n = 1\nn = 2\na = %(n)\n")["a"] == "1"


def test_an_option_that_is_carried_out_at_once_keeps_what_is_written() -> None:
    assert values("n = 1\nlisten = %(n)00\n")["listen"] == "%(n)00"


def test_without_an_environment_what_depends_on_it_may_count() -> None:
    found = effective(IniFile.parse("[uwsgi]\nif-env = A\nx = $(B)\nendif\ny = 1\n"))
    told = [(setting.option, setting.value, setting.is_conditional) for setting in found]
    assert told == [("x", "$(B)", True), ("y", "1", False)]


def test_a_file_that_is_not_given_is_named_and_one_that_is_given_is_read() -> None:
    ini = IniFile.parse("[uwsgi]\nini = a.ini\nini = b.ini:dev\n")
    found = effective(ini, files={"b.ini": "[dev]\nx = %x\n"})
    told = [(s.option, s.value, s.line, s.source, s.is_include) for s in found]
    assert told == [("ini", "a.ini", 2, "", True), ("x", "dev", 2, "b.ini", False)]


def test_what_is_inherited_comes_last() -> None:
    ini = IniFile.parse("[uwsgi]\ninherit = a.ini\nprocesses = 3\n")
    found = effective(ini, files={"a.ini": "[uwsgi]\nprocesses = 5\n"})
    assert [(setting.value, setting.source) for setting in found] == [("3", ""), ("5", "a.ini")]


@pytest.mark.parametrize(
    "text",
    [
        "a = x%(a)\n",
        "a = %(b)%(b)\nb = %(c)%(c)\nc = %(a)x%(a)\n" * 200,
        "for-times = 2000000000\nx = 1\nendfor\n" * 20,
        "set = " * 100_000 + "x=1\n",
        "a = " + "%(" * 100_000 + "\n",
        "a = " + "%(b)" * 50_000 + "\nb = 12345678\n",
        "a = %(" + "(" * 100_000 + "\n",
        "".join(f"a{n} = x%(a{n + 1})%(a{n + 1})\n" for n in range(5000)),
        "ini = :s0\n" + "".join(f"[s{n}]\nini = :s{n + 1}\n" * 2 for n in range(200)),
        "ini = :uwsgi\nini = :uwsgi\n",
    ],
)
def test_a_file_that_never_ends_for_uwsgi_ends_for_us(text: str) -> None:
    began = time.process_time()
    effective(IniFile.parse(f"[uwsgi]\n{text}"), environ=ENVIRON)
    assert time.process_time() - began < 5
