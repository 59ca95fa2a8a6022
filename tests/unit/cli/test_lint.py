"""`tuner lint`: exit codes, formats, and fixed files."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.unit.cli.conftest import run
from tests.unit.cli.sarif import SCHEMA
from tuner.cli.findings import Linted, github_of, sarif_of
from tuner.uwsgi.lint import RULES, Edit, Finding, Fix, Severity

GOOD = """\
[uwsgi]
http-socket = :8000
module = app
master = true
need-app = true
die-on-term = true
single-interpreter = true
buffer-size = 16384
harakiri = 30
post-buffering = 8192
processes = 2
"""
NOTE = f"{GOOD}threads = 2 ; two\n"
WARNING = f"{GOOD}vaccum = true\n"
ERROR = f"{GOOD}disable-logging = false # keep\n"
ONLY_SYNTAX = ("--rule", "U027", "--rule", "U028", "--rule", "U019")


@pytest.fixture
def ini(tmp_path: Path) -> Path:
    return tmp_path / "uwsgi.ini"


def _linted(ini: Path, text: str, *words: str) -> int:
    ini.write_text(text)
    return run("lint", str(ini), *words)


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (GOOD, (), 0),
        (NOTE, ONLY_SYNTAX, 0),
        (NOTE, (*ONLY_SYNTAX, "--fail-on", "note"), 1),
        (WARNING, (), 1),
        (WARNING, ("--fail-on", "error"), 0),
        (ERROR, ("--fail-on", "error"), 1),
        (ERROR, ("--ignore", "U027", "--fail-on", "error"), 0),
        (ERROR, ("--ignore", "comment-changes-value", "--fail-on", "error"), 0),
        (WARNING, ("--rule", "U027"), 0),
        ('{"uwsgi": {}}', (), 2),
        ("uwsgi:\n  master: true\n", ("--rule", "U027"), 2),
        ("[uwsgi]\nmodule = a\0b\n", (), 2),
    ],
)
def test_the_exit_code_says_how_bad_it_is(
    ini: Path, text: str, words: tuple[str, ...], code: int
) -> None:
    assert _linted(ini, text, *words) == code


def test_a_file_that_is_not_there_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("lint", str(tmp_path / "none.ini")) == 2
    assert "No such file" in capsys.readouterr().err
    assert run("lint", str(tmp_path)) == 2
    assert run("lint") == 2


def test_text_has_place_rule_sentence_and_fix(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _linted(ini, WARNING, *ONLY_SYNTAX)
    out = capsys.readouterr().out
    assert f"{ini}:12: warning U019 misspelt-key: uWSGI ignores `vaccum`" in out
    assert "fix (--fix --unsafe): write vacuum" in out
    assert "1 finding: 1 warning\n" in out


def test_what_is_known_of_the_box_is_held_against_the_file(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{GOOD}listen = 1024\n"
    assert _linted(ini, text, "--somaxconn", "4096", "--fail-on", "error") == 0
    assert _linted(ini, text, "--somaxconn", "128", "--fail-on", "error") == 1
    assert "U050" in capsys.readouterr().out


def test_a_fix_changes_the_file_and_keeps_its_mode(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ini.write_text(NOTE)
    ini.chmod(0o640)
    assert run("lint", str(ini), "--fix", "--rule", "U028") == 0
    assert ini.read_text() == f"{GOOD}; two\nthreads = 2\n"
    assert ini.stat().st_mode & 0o777 == 0o640
    assert "fixed 1 finding" in capsys.readouterr().err
    assert list(ini.parent.iterdir()) == [ini]


def test_a_link_stays_a_link_when_its_file_is_fixed(ini: Path, tmp_path: Path) -> None:
    ini.write_text(NOTE)
    link = tmp_path / "link.ini"
    link.symlink_to(ini)
    assert run("lint", str(link), "--fix", "--rule", "U028") == 0
    assert link.is_symlink()
    assert "; two\n" in ini.read_text()


def test_a_guess_is_made_only_when_asked_for(ini: Path) -> None:
    assert _linted(ini, WARNING, "--fix") == 1
    assert ini.read_text() == WARNING
    assert run("lint", str(ini), "--fix", "--unsafe") == 0
    assert "\nvacuum = true\n" in ini.read_text()
    assert run("lint", str(ini), "--unsafe") == 2


def test_bytes_that_are_no_utf_8_survive_a_fix(ini: Path) -> None:
    ini.write_bytes(b"[uwsgi]\r\n; caf\xe9\r\nthreads = 2 ; two\xff")
    run("lint", str(ini), "--fix", "--rule", "U028")
    assert ini.read_bytes() == b"[uwsgi]\r\n; caf\xe9\r\n; two\xff\r\nthreads = 2"


def _tuner(*words: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tuner.cli", *words], input=stdin, capture_output=True, check=False
    )


def test_standard_input_is_fixed_to_standard_output() -> None:
    done = _tuner("lint", "-", "--fix", "--rule", "U028", stdin=NOTE.encode())
    assert done.returncode == 0
    assert done.stdout == f"{GOOD}; two\nthreads = 2\n".encode()
    assert b"no findings" in done.stderr


def test_nothing_comes_out_for_a_file_that_cannot_be_looked_at() -> None:
    done = _tuner("lint", "-", "--fix", stdin=b"[uwsgi]\n" + b"; x\n" * 400_000)
    assert done.returncode == 2
    assert done.stdout.startswith(b"-: error U003 too-large")
    assert len(done.stdout) < 500


def test_bytes_in_a_message_do_not_upset_a_terminal() -> None:
    done = _tuner("lint", "-", stdin=b"[uwsgi]\n\x1b[31m\xff = 1\n")
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout
    assert b"Traceback" not in done.stderr


def test_json_is_what_the_api_answers(ini: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _linted(ini, WARNING, "--format", "json")
    found = json.loads(capsys.readouterr().out)
    assert found["uwsgi_version"] == "2.0.31"
    assert [f["rule"] for f in found["findings"]] == ["U019"]
    assert found["fixed_ini"] is None


def _finding(line: int | None = 3, message: str = "100% wrong:\nso, it is") -> Finding:
    fix = Fix(sentence="do it", edits=(Edit(first=3, last=2, lines=("x = 1",)),), is_safe=True)
    return Finding(
        rule="U019",
        name="misspelt-key",
        severity=Severity.NOTE,
        line=line,
        message=message,
        fix=fix,
    )


def test_github_gets_workflow_commands_with_its_signs_escaped() -> None:
    said = github_of([Linted("a,b:c%.ini", (_finding(),))])
    assert said == (
        "::notice file=a%2Cb%3Ac%25.ini,line=3,title=U019 misspelt-key::"
        "100%25 wrong:%0Aso, it is. Fix: do it"
    )
    assert "line=" not in github_of([Linted("a.ini", (_finding(line=None),))])


@pytest.mark.parametrize("severity", Severity)
def test_github_knows_every_command_that_is_used(severity: Severity) -> None:
    finding = Finding(rule="U019", name="misspelt-key", severity=severity, line=1, message="m")
    assert re.match(r"::(error|warning|notice) file=", github_of([Linted("a.ini", (finding,))]))


def _sarif(ini: Path, text: str, capsys: pytest.CaptureFixture[str]) -> Any:
    _linted(ini, text, "--format", "sarif")
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("text", [GOOD, ERROR + "vaccum = 1\n", "module = app\n", "{}"])
def test_sarif_is_what_the_standard_asks_for(
    ini: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _sarif(ini, text, capsys)
    jsonschema.validate(log, SCHEMA)
    (found,) = log["runs"]
    rules = found["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) == len(RULES)
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_fix_in_sarif_deletes_and_inserts_whole_lines(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _sarif(ini, ERROR, capsys)
    (result,) = (r for r in log["runs"][0]["results"] if r["ruleId"] == "U027")
    (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
    region = {"startLine": 12, "startColumn": 1, "endLine": 13, "endColumn": 1}
    assert replacement["deletedRegion"] == region
    assert replacement["insertedContent"]["text"] == "# keep\ndisable-logging = false\n"


def test_an_insertion_in_sarif_deletes_nothing() -> None:
    log = json.loads(sarif_of([Linted("dir with space/a.ini", (_finding(),))]))
    jsonschema.validate(log, SCHEMA)
    (result,) = log["runs"][0]["results"]
    change = result["fixes"][0]["artifactChanges"][0]
    assert change["artifactLocation"]["uri"] == "dir%20with%20space/a.ini"
    region = change["replacements"][0]["deletedRegion"]
    assert (region["startLine"], region["endLine"]) == (3, 3)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_can_be_explained(rule: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("lint", "--explain", rule.name) == 0
    said = capsys.readouterr().out
    assert rule.id in said
    assert rule.text in said


@pytest.mark.parametrize("option", ["--rule", "--ignore", "--explain"])
def test_an_unknown_rule_is_bad_input(
    ini: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _linted(ini, GOOD, option, "U999") == 2
    assert f"{option}: there is no rule 'U999'" in capsys.readouterr().err


def test_an_image_is_asked_through_docker(ini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tuner.bench.engine.images import ImageFacts

    def facts(settings: object, image: str) -> ImageFacts:
        assert image == "shop:1"
        command = ("uwsgi", "--ini", "uwsgi.ini", "--processes", "8")
        names = tuple(line.partition(" ")[0] for line in GOOD.splitlines()[1:])
        return ImageFacts(uwsgi_version="2.0.20", options=names, command=command, environ={})

    monkeypatch.setattr("tuner.service.images.image_facts", facts)
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    assert _linted(ini, f"{GOOD}vacuum = true\n", "--image", "shop:1", "--fail-on", "error") == 1
    assert "this build of uWSGI has no vacuum" in out.getvalue()
    assert "--processes" in out.getvalue()


def test_linting_imports_nothing_that_is_slow(ini: Path) -> None:
    ini.write_text(WARNING)
    code = (
        "import sys, tuner.cli\n"
        "try: tuner.cli.main(['lint', sys.argv[1]])\n"
        "except SystemExit as ended: print(ended.code)\n"
        "slow = {'rich', 'httpx', 'numpy', 'docker', 'fastapi', 'sqlalchemy', 'optuna', 'croniter',"
        " 'tuner.nouns.model', 'tuner.nouns.schemas', 'tuner.nouns.wording'}\n"
        "print(sorted(slow & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ini)], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n1\n[]\n")


def _of_command(command: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run("lint", "--command", command, *words) == 1
    return capsys.readouterr().out


def test_a_command_is_checked_and_each_finding_has_its_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = _of_command("uwsgi --http :80 -w shop --http-timeout==7200 --harakiri $AT -p 4", capsys)
    assert "error U029 not-a-number: `--http-timeout==7200`: http-timeout needs a number" in said
    assert "`--harakiri $AT`: where the shell has no AT, harakiri takes the next word, `-p`" in said
    assert "fix: add `--master`" in said
    assert "--fix" not in said
    assert " line " not in said

    said = _of_command(
        "sh -c 'uwsgi --http :80 -p 4 --socket-timeout 7 --socket-timeout=9'", capsys
    )
    assert "`--socket-timeout 7`: uWSGI never uses `7`" in said
    assert "`--socket-timeout=9` sets it to `9`" in said


def test_time_limits_around_uwsgi_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ini, nginx, compose = (tmp_path / name for name in ("u.ini", "nginx.conf", "compose.yaml"))
    ini.write_text("[uwsgi]\nharakiri = 90\ndie-on-term = true\nmaster = true\n")
    nginx.write_text("location / { uwsgi_pass app:1; }\n")
    compose.write_text("services: {web: {build: .}, db: {build: db}}\n")
    around = ("--nginx", str(nginx), "--deployed-by", f"{compose}:web")
    assert run("lint", str(ini), "--rule", "U113", "--rule", "U114", *around) == 1
    told = capsys.readouterr().out
    assert "u.ini:2: warning U113 proxy-gives-up-first: nginx gives up at" in told
    assert f"uwsgi_read_timeout 60 s ({nginx}:1)" in told
    assert f"stop_grace_period 10 s ({compose}, service web)" in told
    assert run("lint", str(ini), "--deployed-by", str(compose)) == 2
    assert "--deployed-by: name one of these after a colon: web, db" in capsys.readouterr().err


def test_a_variable_of_the_env_file_is_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = tmp_path / "prod.env"
    env.write_text("AT=30\n")
    words = ("--rule", "U046", "--fail-on", "note", "--env-file", str(env))
    command = "uwsgi --http :80 --harakiri ${AT} -p ${N}"
    said = _of_command(command, capsys, *words, "--format", "json")
    (found,) = json.loads(said)["findings"]
    assert found["line"] is None
    assert found["message"].startswith("`-p ${N}`: where the shell has no N, processes has no")


def test_a_command_with_a_file_is_checked_with_it(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"uwsgi --ini {ini} -p 5"
    assert _linted(ini, GOOD, "--command", command, "--rule", "command-wins") == 1
    assert "the command has `-p 5` after the file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--command", "gunicorn app"), "--command: it does not start uwsgi"),
        (("--command", "uwsgi --no-such 3"), "--command: uWSGI has no option --no-such"),
        (("--command", "uwsgi --ini a.ini"), "--command: a.ini cannot be read"),
        (("--command", "uwsgi -p 4", "--fix"), "name a uwsgi.ini"),
        (("--command", "uwsgi -p 4", "--env-file", "none.env"), "none.env"),
    ],
)
def test_what_is_no_command_to_check(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], wanted: str
) -> None:
    assert run("lint", *words) == 2
    assert wanted in capsys.readouterr().err


def test_several_files_in_one_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.ini", tmp_path / "bad.ini"
    good.write_text(GOOD)
    bad.write_text(ERROR)
    files = [str(good), str(bad)]
    assert run("lint", *files) == 1
    said = capsys.readouterr().out
    assert f"{bad}:12: error U027" in said
    assert "2 files: " in said.splitlines()[-1]
    assert run("lint", *files, "--format", "json") == 1
    answers = json.loads(capsys.readouterr().out)
    assert list(answers) == files
    assert not [found for found in answers[files[0]]["findings"] if found["severity"] == "error"]
    assert run("lint", *files, "--format", "sarif") == 1
    log = json.loads(capsys.readouterr().out)
    jsonschema.validate(log, SCHEMA)
    assert str(bad) in {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in log["runs"][0]["results"]
    }
    assert run("lint", *files, "--fix", "--rule", "U027") == 0
    assert good.read_text() == GOOD
    assert "# keep\ndisable-logging = false\n" in bad.read_text()
    assert run("lint", "-", *files) == 2


@pytest.mark.parametrize("value", ["line 99", "line 3", "line 1", "see line 2"])
def test_a_value_of_the_command_may_look_like_a_line_of_a_file(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _of_command(f"uwsgi --http :80 -w shop -p '{value}' --threads '{value}'", capsys)
    assert f"`--threads {value}`: " in said
    assert f"reads `{value}` as 0" in said


def test_json_has_the_signs_of_the_file(ini: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _linted(ini, f"{GOOD}thräds = 2\n", "--format", "json", "--rule", "U019", "--rule", "U020")
    said = capsys.readouterr().out
    assert "thräds" in said
    assert json.loads(said)["findings"]


def test_another_form_is_read_and_each_finding_has_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(
        "#\nuwsgi:\n  module: app\n  processes: 2\n  http: :80\n  processes: 4\n  env:\n   - A=1\n"
    )
    assert run("lint", str(file), "--rule", "U037", "--rule", "U146", "--rule", "U090") == 1
    said = capsys.readouterr().out
    assert f"{file}:4: warning U037 overridden: uWSGI never uses `2` for processes: line 6" in said
    assert f"{file}:7: error U146 misread-form: uWSGI stops reading at this line" in said
    assert f"{file}:2: warning U090 no-master: " in said
    assert "fix (--fix --unsafe): add `master: true`" in said
    before = file.read_text()
    assert run("lint", str(file), "--rule", "U037", "--fix") == 0
    assert file.read_text() == before.replace("  processes: 2\n", "")
    assert f"{file}: fixed 1 finding" in capsys.readouterr().err


def test_a_form_that_nobody_can_read_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.xml"
    file.write_text("<uwsgi>\n<a></uwsgi>")
    assert run("lint", str(file), "--format", "json") == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["is_usable"] is False
    assert [(f["rule"], f["line"]) for f in answer["findings"]] == [("U004", 2)]


SECTIONS = """\
[uwsgi]
http-socket = :8000
module = app

[prod]
ini = :uwsgi
processes = 2
processes = 4
"""
TWICE = ("--rule", "U037", "--rule", "U013", "--rule", "U008", "--rule", "U090")


def test_a_section_of_a_file_is_checked_with_what_it_includes(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ini.write_text(SECTIONS)
    assert run("lint", f"{ini}:prod", *TWICE) == 1
    said = capsys.readouterr().out
    assert f"{ini}:7: warning U037 overridden: uWSGI never uses `2`" in said
    assert f"{ini}:5: warning U090 no-master" in said
    assert "unused-section" not in said
    run("lint", f"{ini}:", *TWICE)
    said = capsys.readouterr().out
    assert "U037" not in said
    assert f"{ini}:1: warning U090 no-master" in said
    assert run("lint", f"{ini}:nope", "--rule", "U008", "--fail-on", "error") == 1
    assert "[nope] is missing or empty: uWSGI reads nothing" in capsys.readouterr().out


def test_two_sections_of_a_file_have_two_answers(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ini.write_text(SECTIONS)
    run("lint", str(ini), f"{ini}:prod", "--format", "json")
    assert list(json.loads(capsys.readouterr().out)) == [str(ini), f"{ini}:prod"]


def test_a_fix_of_a_section_looks_at_the_section(ini: Path) -> None:
    ini.write_text(SECTIONS)
    run("lint", f"{ini}:prod", "--fix", "--rule", "U037")
    assert ini.read_text() == SECTIONS.replace("processes = 2\n", "")


def test_a_section_of_another_form_and_a_name_with_a_colon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form, odd = tmp_path / "app.yaml", tmp_path / "app.ini:x"
    form.write_text("uwsgi:\n  threads: 2\nprod:\n  threads: two\n")
    odd.write_text("[uwsgi]\nthreads = four\n")
    assert run("lint", f"{form}:prod", "--rule", "U029") == 1
    assert f"{form}:4: error U029" in capsys.readouterr().out
    assert run("lint", str(odd), "--rule", "U029") == 1
    assert f"{odd}:2: error U029" in capsys.readouterr().out


def test_every_vassal_of_a_folder_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.ini").write_text(GOOD)
    (tmp_path / "b.xml").write_text("<uwsgi>\n<threads>two</threads></uwsgi>")
    (tmp_path / "notes.txt").write_text("no vassal")
    (tmp_path / "folder.ini").mkdir()
    assert run("lint", str(tmp_path), "--rule", "U029") == 1
    said = capsys.readouterr().out
    assert f"{tmp_path}/b.xml:2: error U029" in said
    assert "2 files: 1 finding" in said
    (tmp_path / "b.xml").write_text("<uwsgi>\n<threads>'2'</threads></uwsgi>")
    assert run("lint", str(tmp_path), "--fix", "--rule", "U034") == 0
    assert (tmp_path / "b.xml").read_text() == "<uwsgi>\n<threads>2</threads></uwsgi>"


@pytest.mark.parametrize("vassals", ["vassals", "vassals/*.ini"])
def test_the_vassals_that_an_emperor_starts_are_checked(
    vassals: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "emperor.ini").write_text(f"[uwsgi]\nemperor = {vassals}\n")
    (tmp_path / "vassals").mkdir()
    (tmp_path / "vassals" / "a.ini").write_text("[uwsgi]\nthreads = two\n")
    assert run("lint", str(tmp_path / "emperor.ini"), "--rule", "U029") == 1
    assert f"{tmp_path}/vassals/a.ini:2: error U029" in capsys.readouterr().out


def test_a_fix_of_an_emperor_writes_no_vassal_and_reads_none_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, elsewhere = tmp_path / "home[1]", tmp_path / "elsewhere"
    text = "[uwsgi]\nthreads = '2'\n"
    for folder in (home / "vassals", elsewhere):
        folder.mkdir(parents=True)
        (folder / "a.ini").write_text(text)
    emperor = home / "emperor.ini"
    emperor.write_text(f"[uwsgi]\nemperor = vassals\nemperor = {elsewhere}\n")
    run("lint", str(emperor), "--fix", "--rule", "U034")
    said = capsys.readouterr().out
    assert f"{home}/vassals/a.ini:2: error U034" in said
    assert str(elsewhere / "a.ini") not in said
    assert (home / "vassals" / "a.ini").read_text() == text


def test_a_folder_without_a_vassal_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("lint", str(tmp_path)) == 2
    assert "has no vassal: no file ends in .ini" in capsys.readouterr().err


def test_a_placeholder_is_filled_before_the_lint(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{GOOD}threads = ${{THREADS}}\n"
    rules = ("--rule", "U147", "--rule", "U029")
    assert _linted(ini, text, *rules) == 1
    said = capsys.readouterr().out
    assert (
        f"{ini}:12: warning U147 template-placeholder: uWSGI does not fill `${{THREADS}}`" in said
    )
    assert "with `--define THREADS=VALUE`; uWSGI itself fills `$(THREADS)`" in said
    assert _linted(ini, text, *rules, "--define", "THREADS=2", "--define", "OTHER=") == 0
    assert _linted(ini, text, *rules, "--define", "THREADS=two") == 1
    assert "threads needs a number: uWSGI reads `two` as 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--define", "N"), "--define: N is not NAME=VALUE"),
        (("--define", "N-M=1"), "--define: N-M=1 is not NAME=VALUE"),
        (("--define", "N=1\n2"), "--define: the value of N must be printable, on one line"),
        (("--define", "N=1", "--fix"), "--define: --fix would write the values into the file"),
    ],
)
def test_what_is_no_definition(
    ini: Path, words: tuple[str, ...], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _linted(ini, GOOD, *words) == 2
    assert wanted in capsys.readouterr().err
    assert run("lint", "--command", "uwsgi -p 4", "--define", "N=1") == 2
    assert "--define: needs FILE" in capsys.readouterr().err


BASE = "uwsgi:\n  master: true\n  vaccum: true\n  yaml: more.yml\n"
MORE = "uwsgi:\n  threads: '3'\n"
INCLUDED = ("--rule", "U019", "--rule", "U034", "--rule", "U090", "--rule", "U146")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "base.yml").write_text(BASE)
    (tmp_path / "more.yml").write_text(MORE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.ini", "[uwsgi]\nmodule = app\nyaml = base.yml\n", 3),
        ("a.ini", "[uwsgi]\ninclude = %dbase.yml\n", 2),
        ("a.ini", "[uwsgi]\nini = :x\n[x]\nyaml = base.yml:uwsgi\n", 4),
        ("a.yaml", "uwsgi:\n  module: app\n  yaml: base.yml\n", 3),
        ("a.xml", "<uwsgi>\n<yaml>base.yml</yaml>\n</uwsgi>", 2),
        ("a.json", '{"uwsgi": {\n"yaml": "base.yml"}}', 2),
    ],
)
def test_what_a_file_includes_is_read_at_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, line: int
) -> None:
    (folder / name).write_text(text)
    assert run("lint", name, *INCLUDED) == 1
    said = capsys.readouterr().out
    assert f"{name}:{line}: warning U019 misspelt-key: base.yml:3: uWSGI ignores `vaccum`" in said
    assert f"{name}:{line}: error U034 quoted-value: more.yml:2: the quotes are part" in said
    assert "U090" not in said, "base.yml turns the master on"
    run("lint", name, *INCLUDED, "--fix", "--unsafe")
    assert (folder / name).read_text() == text, "a fix is no business of another file"


def test_a_file_with_includes_is_fixed_in_its_own_lines(folder: Path) -> None:
    text = "uwsgi:\n  yaml: more.yml\n  module: 'app'\n  yaml: base.yml\n"
    (folder / "a.yaml").write_text(text)
    run("lint", "a.yaml", "--rule", "U034", "--rule", "U092", "--fix", "--unsafe")
    assert (folder / "a.yaml").read_text() == text.replace("'app'", "app") + "  die-on-term: true\n"
    text = "[uwsgi]\nyaml = more.yml\nmodule = 'app'\n; end\n"
    (folder / "a.ini").write_text(text)
    run("lint", "a.ini", "--rule", "U034", "--fix")
    assert (folder / "a.ini").read_text() == text.replace("'app'", "app")


def test_an_ini_option_reads_every_file_as_an_ini(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yaml").write_text("# c\nuwsgi:\n  ini: base.yml\n")
    assert run("lint", "a.yaml", *INCLUDED) == 1
    said = capsys.readouterr().out
    assert "a.yaml:3: error U146 misread-form: `ini` reads base.yml as an ini" in said
    assert "write `yaml = base.yml`" in said
    assert "vaccum" not in said


def test_files_that_include_each_other_end(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.ini").write_text("[uwsgi]\nini = b.ini\nini = b.ini\n")
    (folder / "b.ini").write_text("[uwsgi]\nthreads = '2'\nini = c.ini\nini = c.ini\n")
    (folder / "c.ini").write_text("[uwsgi]\nini = b.ini\n")
    assert run("lint", "a.ini", "--rule", "U034") == 1
    assert capsys.readouterr().out.count("U034") == 2


@pytest.mark.parametrize("words", ["--yaml base.yml -p 4", "-p 4 base.yml", "--yml base.yml:uwsgi"])
def test_a_command_is_checked_with_its_files(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    said = _of_command(f"uwsgi {words}", capsys, *INCLUDED)
    assert "command: warning U019 misspelt-key: base.yml:3: uWSGI ignores `vaccum`" in said
    assert "command: error U034 quoted-value: more.yml:2: the quotes are part" in said
    assert "U090" not in said


def test_a_command_and_its_file_override_each_other_as_uwsgi_reads_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml").write_text("uwsgi:\n  threads: 2\n  harakiri: $(AT)\n")
    said = _of_command("uwsgi a.yml --threads 4", capsys, "--rule", "U037")
    assert "`--threads 4`: uWSGI never uses `4` for threads: a.yml:2 sets it to `2`" in said
    said = _of_command("uwsgi --yml a.yml --threads 4", capsys, "--rule", "U037")
    assert "a.yml:2: uWSGI never uses `2` for threads: `--threads 4` sets it to `4`" in said
    assert run("lint", "--command", "uwsgi --yml a.yml", "--rule", "U046") == 0
    assert "U046" not in capsys.readouterr().out, "the shell does not fill a file"


def test_the_image_of_a_dockerfile_sets_options_below_those_of_the_file(
    ini: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dockerfile, env = tmp_path / "Dockerfile", tmp_path / "prod.env"
    dockerfile.write_text("FROM tiangolo/uwsgi-nginx-flask:python3.12\n")
    env.write_text("UWSGI_CHEAPER=0\n")
    words = ("--dockerfile", str(dockerfile), "--rule", "U080", "--rule", "U141")
    text = GOOD.replace("processes = 2", "processes = 1")
    assert _linted(ini, text, *words) == 1
    said = capsys.readouterr().out
    assert "cheaper is 2 by UWSGI_CHEAPER in the environment, and not below processes" in said
    assert "the environment has UWSGI_PROCESSES=16, and the file overrides it with 1" in said
    assert _linted(ini, text, *words, "--env-file", str(env)) == 0
    dockerfile.write_text("ENV A='b\n")
    assert _linted(ini, text, *words) == 2
    assert "--dockerfile: No closing quotation" in capsys.readouterr().err
    assert _linted(ini, text, *words, "--image", "shop:1") == 2


def test_what_the_shell_of_a_command_fills_in_is_not_judged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = _of_command('uwsgi --http :80 -w app -p $(nproc --all) --threads "$(cat n)"', capsys)
    assert "processes" not in said
    assert "threads needs" not in said
    assert "U046" not in said
