"""Configurations after public bug reports, and what the linter says of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.unit.cli.conftest import run
from tuner.uwsgi.ini import IniFile, as_int, effective

HEAD = "[uwsgi]\nhttp-socket = :8000\nmodule = shop\n"
COMMAND = "uwsgi --http :8000 --module shop"


@dataclass(frozen=True, slots=True)
class Case:
    """A file or a command. `says` are pieces of lines of the answer; `silent` are not in it."""

    given: str
    says: tuple[str, ...] = ()
    silent: str | None = None
    arguments: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    name: str = "uwsgi.ini"


CASES = {
    "math-left-to-right": Case(f"{HEAD}processes = %(%k * 2 + 1)\n", silent="no-workers"),
    "math-no-precedence": Case(f"{HEAD}processes = %(1 + 2 * 3)\n", silent="no-workers"),
    "cheaper-initial-alone": Case(
        f"{HEAD}processes = 400\ncheaper-initial = 4\n",
        (":5: warning U086", "has no effect: all 400 processes start at once"),
    ),
    "quoted-value": Case(
        f"{HEAD}virtualenv = '/opt/venv'\n", (":4: error U034", "the quotes are part of the value")
    ),
    "strict-placeholder": Case(
        "[uwsgi]\nstrict = true\nprj_title = shop\nhttp-socket = :8000\nmodule = %(prj_title)\n",
        (":3: error U047", "uWSGI does not start", "write `set-placeholder = prj_title=shop`"),
    ),
    "placeholder-not-strict": Case(
        "[uwsgi]\nprj_title = shop\nhttp-socket = :8000\nmodule = %(prj_title)\n",
        silent="uwsgi.ini:2:",
    ),
    "lifetime-without-delta": Case(
        f"{HEAD}master = true\nprocesses = 24\nmax-worker-lifetime = 300\n",
        (":6: warning U109", "all 24 workers end in the same second", "max-worker-lifetime-delta"),
    ),
    "requests-delta-too-new": Case(
        f"{HEAD}master = true\nprocesses = 4\nmax-requests = 1000\nmax-requests-delta = 200\n",
        (":7: error U022", "exists only from 2.0.29: your 2.0.23 ignores it"),
        arguments=("--uwsgi", "2.0.23"),
    ),
    "requests-delta-known": Case(
        f"{HEAD}master = true\nprocesses = 4\nmax-requests = 1000\nmax-requests-delta = 200\n",
        silent="max-requests-delta",
        arguments=("--uwsgi", "2.0.31"),
    ),
    "threads-of-the-host": Case(
        f"{HEAD}threads = %k\noffload-threads = %k\n",
        (":4: warning U076", ":5: warning U076", "%k is the number of the machine's CPUs"),
        arguments=("--cpus", "1"),
    ),
    "command-double-equals": Case(
        f"{COMMAND} --http-timeout==7200", ("`--http-timeout==7200`", "reads `=7200` as 0")
    ),
    "command-last-wins": Case(
        "uwsgi --http :8000 --http-timeout 3200 --module shop -p 2 --http-timeout 900",
        ("never uses `3200` for http-timeout: `--http-timeout 900` sets it to `900`",),
    ),
    "command-value-missing": Case(
        f"{COMMAND} --harakiri $UWSGI_HARAKIRI -p 4",
        ("has no UWSGI_HARAKIRI, harakiri takes the next word, `-p`",),
    ),
    "cheaper-from-the-image": Case(
        f"{HEAD}processes = 1\n",
        ("cheaper is 2 by UWSGI_CHEAPER", "not below processes, which is 1: uWSGI does not start"),
        environ={"UWSGI_CHEAPER": "2", "UWSGI_PROCESSES": "16"},
    ),
    "vassal-without-app": Case(
        "[uwsgi]\nmaster = true\nsocket = /run/shop.sock\nprocesses = 2\n",
        (":3: warning U096", "no module, wsgi-file or mount"),
    ),
    "boolean-with-comment": Case(
        f"{HEAD}lazy-apps = false ; for now\n", (":4: error U027", "lazy-apps is on")
    ),
    "atoi-unit": Case(f"{HEAD}reload-on-rss = 512M\n", silent="number-with-unit"),
    "buffer-size-capped": Case(
        f"{HEAD}buffer-size = 1024000\n",
        (":4: warning U032", "uses 65535; it is the size of the headers, not of the body"),
    ),
    "colon-is-no-ini": Case(
        f"{HEAD}processes: 30\nthreads: 500\n",
        (":4: error U023", ":5: error U023", "uWSGI ignores `processes: 30`"),
    ),
    "unset-variable": Case(
        f"{HEAD}processes = $(WORKERS)\n",
        (":4: note U046", "processes is 0 where the environment has no WORKERS"),
    ),
    "emperor": Case(
        "[uwsgi]\nemperor = /srv/vassals\n",
        (":2: note U097", "the options that count are in the files of /srv/vassals"),
    ),
    "yaml": Case(
        "uwsgi:\n  http-socket: :8000\n  module: shop\n  processes: 4\n  cheaper-initial: 2\n",
        (":5: warning U086", "cheaper-initial has no effect"),
        name="uwsgi.yaml",
    ),
    "section": Case(
        "[uwsgi]\nini = :base\nprocesses = 4\n\n[base]\nhttp-socket = :8000\nmodule = shop\n"
        "vaccum = true\n",
        (":8: warning U019", "the nearest is vacuum"),
    ),
    "harakiri-threads-post-buffering": Case(
        f"{HEAD}master = true\nthreads = 8\nharakiri = 300\npost-buffering = 8192\n",
        (":6: warning U110", "one deadline, not one per request"),
        arguments=("--uwsgi", "2.0.29"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_linter_says_what_the_reporters_found(
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(case.name).write_text(case.given)
    Path("prod.env").write_text("".join(f"{name}={v}\n" for name, v in case.environ.items()))
    given = ["--command", case.given] if case.given.startswith("uwsgi -") else [case.name]
    environ = ["--env-file", "prod.env"] if case.environ else []
    run("lint", *given, *environ, *case.arguments)
    said = capsys.readouterr().out
    assert "finding" in said
    assert [piece for piece in case.says if piece not in said] == []
    assert case.silent is None or case.silent not in said


def test_uwsgi_counts_from_left_to_right_and_reads_numbers_up_to_a_letter() -> None:
    counted = effective(IniFile.parse(CASES["math-no-precedence"].given))
    assert [each.value for each in counted if each.option == "processes"] == ["9"]
    assert as_int("512M") == 512
