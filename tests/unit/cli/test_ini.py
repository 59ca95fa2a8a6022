"""`tuner ini`: bytes in, bytes out."""

import io
from pathlib import Path

import pytest

from tuner.cli.ini import ini
from tuner.nouns.errors import InvalidInput

CONTENT = (
    b"[uwsgi]\r\n; caf\xe9\r\nprocesses = 2\r\nif-env = TUNER_ABSENT\r\nthreads = 9\r\nendif =\r\n"
)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "uwsgi.ini"
    path.write_bytes(CONTENT)
    return str(path)


def said(capsys: pytest.CaptureFixture[bytes], *words: str) -> bytes:
    ini(list(words), standalone_mode=False)
    return capsys.readouterr().out


def mistakes(*words: str) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        ini(list(words), standalone_mode=False)
    return [str(mistake) for mistake in refused.value.mistakes]


def test_a_file_is_shown_byte_for_byte(
    capsysbinary: pytest.CaptureFixture[bytes], file: str
) -> None:
    assert said(capsysbinary, "show", file) == CONTENT


def test_what_counts_is_shown(capsysbinary: pytest.CaptureFixture[bytes], file: str) -> None:
    assert said(capsysbinary, "show", file, "--effective") == b"[uwsgi]\nprocesses = 2\n"


def test_what_may_count_is_shown_with_its_line(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "a.ini"
    path.write_bytes(b"[uwsgi]\nif-file = /x\nname = %n\nendif\nini = b.ini\n")
    assert said(capsysbinary, "show", str(path), "--effective") == (
        b"[uwsgi]\n; line 3 applies under a condition\nname = a\n"
        b"; line 5 includes a file that is not read here\nini = b.ini\n"
    )


def test_files_beside_it_are_read_where_they_are_included(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "up.ini").write_bytes(b"[uwsgi]\nthreads = 9\n")
    (tmp_path / "conf" / "b.ini").write_bytes(
        b"[uwsgi]\nini = ../up.ini\nname = \xe9\n[web]\nprocesses = 3\nini = b.ini\n"
    )
    path = tmp_path / "conf" / "a.ini"
    path.write_bytes(b"[uwsgi]\nprocesses = 2\nini = b.ini:web\nini = ../up.ini\n")
    assert said(capsysbinary, "show", str(path), "--effective") == (
        b"[uwsgi]\nprocesses = 2\nprocesses = 3\n"
        b"; line 2 of b.ini includes a file that is not read here\nini = ../up.ini\n"
        b"name = \xe9\n"
        b"; line 4 includes a file that is not read here\nini = ../up.ini\n"
    )


@pytest.mark.parametrize("words", [["show"], ["show", "--effective"], ["patch", "--set", "a=1"]])
def test_a_file_too_long_to_be_one_is_refused(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "uwsgi.ini"
    path.write_bytes(b"[uwsgi]\n" + b"env = A=1\n" * 1_000_000)
    assert mistakes(words[0], str(path), *words[1:]) == [
        f"{path}: is longer than 200000 characters: not a uwsgi.ini"
    ]


def test_a_patch_comes_out_with_the_rest_untouched(
    capsysbinary: pytest.CaptureFixture[bytes], file: str
) -> None:
    found = said(capsysbinary, "patch", file, "--set", "processes=4", "--set", "thunder-lock=true")
    assert found == CONTENT.replace(b"processes = 2", b"processes = 4") + b"thunder-lock = true\r\n"


def test_a_file_may_come_in_on_standard_input(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CONTENT)))
    found = said(capsysbinary, "patch", "-", "--set", "workers = 4")
    assert found == CONTENT.replace(b"processes = 2", b"processes = 4")


def test_an_overlay_needs_no_file(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert said(capsysbinary, "overlay", "--set", "env=A=1") == b"[uwsgi]\nenv = A=1\n"


def test_all_mistakes_are_told_at_once(file: str) -> None:
    found = mistakes(
        *("patch", file, "--set", "processes", "--set", "x=5%", "--set", "a=1", "--set", "a=2"),
        *("--set", "workers=1", "--set", "processes=1"),
    )
    assert found == [
        "--set processes: is not OPTION=VALUE",
        "--set x=5%: ends in a single %, which joins the next line; write %%",
        "--set a=2: sets a a second time",
        "--set workers=1: sets workers a second time",
        "--set processes=1: sets processes a second time",
    ]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert mistakes("show", f"{tmp_path}/none") == [f"{tmp_path}/none: No such file or directory"]
    assert mistakes("show", str(tmp_path)) == [f"{tmp_path}: Is a directory"]


def test_another_format_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "uwsgi.yml"
    path.write_text("uwsgi:\n  processes: 4\n")
    (found,) = mistakes("patch", str(path), "--set", "processes=2")
    assert "this is YAML, not ini" in found


def test_a_file_is_converted_and_losses_are_said(
    capsysbinary: pytest.CaptureFixture[bytes], file: str, tmp_path: Path
) -> None:
    assert ini(["convert", file, "--to", "yaml"], standalone_mode=False) == 0
    out, err = capsysbinary.readouterr()
    assert out == b"uwsgi:\n  # caf\xe9\n  processes: 2\n"
    assert err.count(b"not carried over: line ") == 3
    assert ini(["convert", file, "--to", "yaml", "--strict"], standalone_mode=False) == 1
    capsysbinary.readouterr()
    form = tmp_path / "app.json"
    form.write_text('{"uwsgi": {"threads": 2}}')
    assert ini(["convert", str(form), "--to", "ini", "--strict"], standalone_mode=False) == 0
    assert capsysbinary.readouterr() == (b"[uwsgi]\nthreads = 2\n", b"")


def test_an_ini_as_an_ini_is_the_same(
    capsysbinary: pytest.CaptureFixture[bytes], file: str
) -> None:
    assert said(capsysbinary, "convert", file, "--to", "ini") == CONTENT


def test_a_form_that_nobody_can_read_is_not_converted(tmp_path: Path) -> None:
    form = tmp_path / "app.json"
    form.write_text('{"uwsgi": {\n')
    assert mistakes("convert", str(form), "--to", "ini")[0].startswith(f"{form}:2: no JSON: ")


def test_a_command_and_an_env_file_are_converted(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    command = ("--command", "uwsgi --http :80 -p 4")
    assert said(capsysbinary, "convert", *command, "--to", "yaml") == (
        b"uwsgi:\n  http: :80\n  processes: 4\n"
    )
    env_file = tmp_path / "prod.env"
    env_file.write_text("UWSGI_MASTER=true\n")
    assert said(capsysbinary, "convert", "--env-file", str(env_file), "--to", "xml") == (
        b"<uwsgi>\n  <master>true</master>\n</uwsgi>\n"
    )
    assert mistakes("convert", "--command", "gunicorn", "--to", "ini") == [
        "--command: it does not start uwsgi"
    ]
    env_file.write_text("UWSGI_MASTER\n")
    (found,) = mistakes("convert", "--env-file", str(env_file), "--to", "ini")
    assert found.startswith("--env-file: UWSGI_MASTER")


@pytest.mark.parametrize("given", [(), ("a.ini", "--command", "uwsgi"), ("-", "--env-file", "-")])
def test_one_thing_is_converted_at_a_time(given: tuple[str, ...]) -> None:
    assert mistakes("convert", *given, "--to", "ini") == [
        "FILE: name one: a file, --command or --env-file"
    ]
