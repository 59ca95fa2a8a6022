"""uWSGI itself says whether a file was read, patched and overlaid as it is meant."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.ini_bytes import dumped, parsed
from tests.uwsgi_judge import ENVIRON, Answer, Case, Judge
from tuner.uwsgi.ini import (
    CLOSES,
    INCLUDES,
    OPENS,
    IniFile,
    Setting,
    canonical,
    effective,
    overlay,
    refuse_other_formats,
)

pytestmark = [pytest.mark.full, pytest.mark.docker]

INIS = Path(__file__).parents[1] / "inis"
NAMES = sorted(path.name for path in INIS.glob("*.ini"))
BESIDE = {f"other/{path.name}": path.read_bytes() for path in (INIS / "other").iterdir()}
CHANGES = {"processes": "6", "threads": "3", "thunder-lock": "true", "listen": "64"}
NOTES = {"processes": "was 2; +20.0 %", "listen": "100 %"}
HEADER = ["job 7", "95 %"]

_CARRIED_OUT = {*OPENS, *CLOSES, *INCLUDES, "set", "set-placeholder", "set-ph", "show-config"}
_MACHINE = re.compile(r"%[bjihvtTVkuUgGI]")
Options = Sequence[tuple[str, str]]


def test_uwsgi_reads_all_files_of_the_collection(judge: Judge) -> None:
    assert len(NAMES) >= 15
    for name, answer in zip(NAMES, ask(judge, map(read, NAMES)), strict=True):
        assert answer.options, f"{name}: {answer.said[-200:]}"


@pytest.mark.parametrize("name", NAMES)
def test_a_file_comes_back_byte_for_byte(name: str) -> None:
    assert dumped(parsed(read(name))) == read(name)


def test_the_effective_options_are_those_that_uwsgi_shows(judge: Judge) -> None:
    assert_as_shown(judge, [read(name) for name in NAMES])


ARITHMETIC = {
    "1 + 2": "3",
    "1 + 2 * 3": "9",
    "2 * 3 + 1": "7",
    "10 - 2 - 3": "5",
    "10 - 2 * 3": "24",
    "7 / 2": "3",
    "8 / 3 * 3": "6",
    "-7 / 2": "0",
    "7 / 0": "0",
    "7 % 2": "72",
    "2 ** 3": "23",
    "1+2": "%(1+2)",
    "1 +2": "1",
    "1+ 2": "2",
    "1  +  2": "3",
    " 1 + 2": "3",
    "1 + 2 ": "3",
    "1 +": "1",
    "+ 1": "1",
    "1 2": "12",
    "1 2 + 3": "15",
    "1 + 2 3": "33",
    "2 ++": "3",
    "2 --": "1",
    "++": "%(++)",
    "2 ++ ++": "4",
    "4 * -1": "0",
    "four": "4",
    "four * 2": "8",
    "four + four": "8",
    "two * four + 1": "9",
    "four / two": "2",
    "none * 2": "0",
    "2 * none": "0",
    "none": "%(none)",
    "word + 1": "1",
    "word two": "abc2",
    "sized * 2": "10",
    "negative + 1": "-2",
    "four * 2.5": "0",
    "0x10 + 1": "1",
    "010 + 1": "11",
    "9223372036854775807 + 1": "-9223372036854775808",
    "99999999999999999999 + 1": "-9223372036854775808",
    "4294967296 * 4294967296": "0",
    "(1 + 2) * 3": "0",
    "%(four) + 1": "%(4 + 1)",
    "%(four)2 + 1": "%(42 + 1)",
    "%(two + two) * 2": "%(4 * 2)",
    "$(ANSWER) + 1": "1",
    "four * two ; cpus": "8",
}
"""What is written in `%( )`, and what uWSGI 2.0.31 makes of it."""


def test_arithmetic_is_that_of_uwsgi(judge: Judge) -> None:
    """From left to right, without precedence: `%(1 + 2 * 3)` is 9."""
    known = ("four = 4", "two = 2", "word = abc", "sized = 5M", "negative = -3")
    lines = [f"e{number} = %({text})" for number, text in enumerate(ARITHMETIC)]
    content = "\n".join(("[uwsgi]", *known, *lines, "")).encode()
    (answer,) = ask(judge, iter([content]))
    results = [value for name, value in options_of(answer) if name.startswith("e")]
    assert dict(zip(ARITHMETIC, results, strict=True)) == ARITHMETIC
    assert_as_shown(judge, [content])


def test_a_patched_file_has_the_new_values_and_else_the_same(judge: Judge) -> None:
    assert_patched(judge, [read(name) for name in NAMES])


def test_an_overlay_has_the_new_values_and_else_the_same(judge: Judge) -> None:
    assert_overlaid(judge, [read(name) for name in NAMES])


def test_files_put_together_at_random_are_read_as_uwsgi_reads_them(judge: Judge) -> None:
    assert_as_shown(judge, list(at_random(120)))


def test_files_put_together_at_random_are_patched_as_meant(judge: Judge) -> None:
    assert_patched(judge, list(at_random(120)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "uwsgi:\n  processes: 4\n  env: A=1\n  env: B=2\n"),
        ("a.xml", "<uwsgi><processes>4</processes><env>A=1</env><env>B=2</env></uwsgi>"),
    ],
)
def test_the_command_that_we_name_converts_another_format(
    judge: Judge, name: str, text: str
) -> None:
    said = refuse_other_formats(text)
    assert said is not None
    command = said.partition(": ")[2].replace("FILE", f"/tmp/{name}").replace("> ", "> /tmp/")
    found = judge.run(f"printf '{text}' > /tmp/{name}; {command}; cat /tmp/uwsgi.ini")
    ini = IniFile.parse(found)
    assert (ini.values("processes"), ini.values("env")) == (["4"], ["A=1", "B=2"])
    assert len(ini.read.steps) == 3


def read(name: str) -> bytes:
    return (INIS / name).read_bytes()


LINES = (
    *("processes = 4", "  workers=5", "threads = 2", "threads", "thunder-lock = true", "master"),
    *("; a note", "# 100 %", "", "x = 50%", "[uwsgi]", "[part]", "[rest]", "[uwsgi", "\0"),
    *("if-env = JUDGE_NAME", "if-not-env = JUDGE_NAME", "if-env = NONE", "if-opt = x", "for = 1 2"),
    *("endif =", "end", "endfor", "ini = :part", "ini = :rest", "ini = other/common.ini"),
    *("x = %(y) %(processes)", "y = a%(x z)", "z = %(threads * 2)", "env = A=%(_)%(z)"),
    *("set = processes=3", "set = x=1", "set-ph = y=%(z)", "listen = %(z)", "\tprocesses=%k\r"),
    *("offload-thread = 1", "offload-threads = 2", "include = other/common.ini", "[part]", "="),
)


def at_random(count: int) -> Iterator[bytes]:
    """Files that uWSGI starts with as far as its rules on blocks and includes go.

    And of which a patch can be sure: no line of ours comes after a file that is included from
    within a block that is never closed.
    """
    chance = random.Random(5)  # noqa: S311  # the same files each time
    while count:
        lines = [chance.choice(LINES) for _ in range(chance.randint(3, 14))]
        text = "[uwsgi]\n" + "\n".join(lines) + chance.choice(["", "\n"])
        read = IniFile.parse(text).read
        obstacles = {str(what) for _, what in read.obstacles}
        is_sure = not any(step.is_foreign for step in read.steps[read.done :])
        if is_sure and not obstacles & {"nested-block", "include-cycle"}:
            count -= 1
            yield text.encode()


def ask(judge: Judge, files: "Iterator[bytes] | map[bytes]") -> list[Answer]:
    return judge.ask([Case({**BESIDE, "uwsgi.ini": content}) for content in files])


def options_of(answer: Answer) -> Options:
    """What it shows beside the command line and the files' own logic."""
    assert answer.options is not None, answer.said[-300:]
    shown = [pair for pair in answer.options if pair[0] not in {"no-server", "inherit"}]
    return [(key.strip(), value) for key, value in shown if key not in _CARRIED_OUT]


def assert_as_shown(judge: Judge, files: list[bytes]) -> None:
    beside = {name: content.decode() for name, content in BESIDE.items()}
    for content, answer in zip(files, ask(judge, iter(files)), strict=True):
        ini = parsed(content)
        path = f"{answer.home}/uwsgi.ini"
        found = effective(ini, environ={**ENVIRON}, files=beside, path=path)
        sure = [setting for setting in found if not setting.is_conditional]
        assert _matches(found, options_of(answer)), content
        assert len(sure) <= len(options_of(answer)), content


def _matches(found: Sequence[Setting], shown: Options) -> bool:
    """Whether what is shown is all that is sure, with some of what is not in between."""
    at = 0
    for setting in found:
        is_met = (
            at < len(shown)
            and setting.option.strip() == shown[at][0]
            and (
                _MACHINE.search(setting.value) is not None
                or setting.value.strip() == shown[at][1].strip()
                or (setting.is_conditional and "%(" in setting.value)
            )
        )
        if is_met:
            at += 1
        elif not setting.is_conditional:
            return False
    return at == len(shown)


def assert_patched(judge: Judge, files: list[bytes]) -> None:
    patched = []
    for content in files:
        once = parsed(content).patch(CHANGES, NOTES).annotate(HEADER)
        again = parsed(dumped(once)).patch(CHANGES, NOTES).annotate(HEADER)
        assert dumped(again) == dumped(once), content
        patched.append(dumped(once))
    before, after = ask(judge, iter(files)), ask(judge, iter(patched))
    for content, new, was, now in zip(files, patched, before, after, strict=True):
        assert_only_changed(options_of(was), options_of(now), (content, new))


def assert_overlaid(judge: Judge, files: list[bytes]) -> None:
    tuned = overlay(CHANGES, HEADER, NOTES).encode()
    cases = [
        Case({**BESIDE, "uwsgi.ini": content, "tuned.ini": tuned}, ("uwsgi.ini", "tuned.ini"))
        for content in files
    ]
    for content, was, now in zip(files, ask(judge, iter(files)), judge.ask(cases), strict=True):
        assert_only_changed(options_of(was), options_of(now), content)


def assert_only_changed(was: Options, now: Options, about: object) -> None:
    last: Mapping[str, str] = {canonical(key): value for key, value in now}
    assert {option: last.get(option) for option in CHANGES} == CHANGES, about
    assert _rest(was) == _rest(now), about


def _rest(options: Options) -> list[str]:
    """Everything but the changed options; what refers to one of them is left out too."""
    return [key for key, value in options if canonical(key) not in CHANGES and value != ""]
