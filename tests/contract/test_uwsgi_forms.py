"""What uWSGI takes from YAML and XML, seen on the real 2.0.31, beside what our readers take."""

import shlex

import pytest

from tests.contract.uwsgi_lab import Lab
from tests.uwsgi_forms import XML, YAML, Written
from tuner.uwsgi.converting import WRITERS, of_ini
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

pytestmark = [pytest.mark.full, pytest.mark.docker]

OWN = ("yaml = ", "xml = ", "show-config = ", "no-server = ")


def _taken(uwsgi: Lab, suffix: str, written: Written) -> tuple[str, ...]:
    """The options that `--show-config` prints, without those of the command."""
    name = f"app.{suffix}"
    place = f"{name}:{written.section}" if written.section else name
    args = (f"--{suffix}", place, "--show-config", "--no-server")
    seen = uwsgi.play("", files={name: written.text}, args=args, ready="never", seconds=5)
    shown = seen.log.partition("[uwsgi]\n")[2].partition(";end of configuration")[0]
    lines = (line.rstrip() for line in shown.split("\n"))
    return tuple(" ".join(line.split()) for line in lines if line and not line.startswith(OWN))


@pytest.mark.parametrize("name", YAML)
def test_uwsgi_takes_from_yaml_what_our_reader_takes(uwsgi: Lab, name: str) -> None:
    assert _taken(uwsgi, "yaml", YAML[name]) == YAML[name].taken


@pytest.mark.parametrize("name", XML)
def test_uwsgi_takes_from_xml_what_our_reader_takes(uwsgi: Lab, name: str) -> None:
    assert _taken(uwsgi, "xml", XML[name]) == XML[name].taken


def test_the_build_of_the_package_index_has_no_json(uwsgi: Lab) -> None:
    text = '{"uwsgi": {"threads": 2}}'
    seen = uwsgi.play("", files={"a.json": text}, args=("--json", "a.json"), ready="never")
    assert "unrecognized option '--json'" in seen.log


@pytest.mark.parametrize(
    ("section", "shown"),
    [
        ("prod", ("threads = 3", "ini = :uwsgi", "processes = 4")),
        ("", ("processes = 4",)),
        ("nope", ()),
    ],
)
def test_uwsgi_reads_the_section_behind_the_last_colon(
    uwsgi: Lab, section: str, shown: tuple[str, ...]
) -> None:
    text = "[uwsgi]\nprocesses = 4\n[prod]\nthreads = 3\nini = :uwsgi\n"
    args = ("--ini", f"uwsgi.ini:{section}", "--show-config", "--no-server")
    log = uwsgi.play(text, args=args, ready="never", seconds=5).log
    told = log.partition("[uwsgi]\n")[2].partition(";end of configuration")[0]
    lines = [line for line in told.splitlines() if line and not line.startswith(OWN)]
    assert tuple(line for line in lines if line != f"ini = uwsgi.ini:{section}") == shown
    assert ("Can't find section" in log) == (section == "nope")


def test_an_emperor_starts_the_files_that_end_as_a_configuration(uwsgi: Lab) -> None:
    ini, xml = "[uwsgi]\nthreads = 1\n", "<uwsgi><threads>1</threads></uwsgi>"
    files = {
        **{"vassals/a.ini": ini, "vassals/b.xml": xml, "vassals/.hidden.ini": ini},
        **{"vassals/c.txt": ini, "vassals/d.ini/e.ini": ini},
    }
    read = r"config(?:uration from| file) (\S+)"
    probe = f"time.sleep(2); seen = sorted(set(re.findall({read!r}, said())))"
    seen = uwsgi.play("", files=files, args=("--emperor", "vassals"), ready="emperor", probe=probe)
    assert seen.seen == [".hidden.ini", "a.ini", "b.xml"]


def test_uwsgi_fills_no_placeholder_of_a_template(uwsgi: Lab) -> None:
    lines = "a = $PATH\nb = ${PATH}\nc = {{ PATH }}\nd = !PATH!\n"
    args = ("--ini", "uwsgi.ini", "--show-config", "--no-server")
    log = uwsgi.play(f"[uwsgi]\n{lines}e = $(LAB)\n", args=args, environ={"LAB": "x"}).log
    assert f"{lines}e = x\n" in log


SAME = ("threads = 3", "env = A=a b", 'env = B=it\'s "q"', "base = /tmp", "chdir = %(base)")


def _shown(log: str) -> list[str]:
    told = log.partition("[uwsgi]\n")[2].partition(";end of configuration")[0]
    own = (*OWN, "ini = ", "set-placeholder = ")
    return [line for line in told.splitlines() if line and not line.startswith(own)]


@pytest.mark.parametrize("form", ["ini", "yaml", "command", "env"])
def test_uwsgi_takes_the_same_from_a_converted_file(uwsgi: Lab, form: str) -> None:
    """A variable holds one value, and its options have no order."""
    lines = SAME if form != "env" else (*SAME[:2], *SAME[3:])
    pieces = of_ini(IniFile.parse("\n".join(("[uwsgi]", *lines, ""))))
    text = WRITERS[form](pieces, known())
    assert pieces.lost == []
    args: tuple[str, ...] = ("--show-config", "--no-server")
    if form == "command":
        args = (*shlex.split(text)[1:], *args)
    elif form != "env":
        args = (f"--{form}", f"app.{form}", *args)
    given = (line.partition("=") for line in text.splitlines() if form == "env")
    environ = {name: value for name, _, value in given}
    files = {f"app.{form}": text}
    seen = uwsgi.play("", files=files, args=args, environ=environ, ready="never", seconds=5)
    wanted = [line.replace("%(base)", "/tmp") for line in lines]
    ours = {line.partition(" ")[0] for line in lines}
    shown = [line for line in _shown(seen.log) if line.partition(" ")[0] in ours]
    assert sorted(shown) == sorted(wanted)
