"""How `init` reads the start of an app: scripts, wrappers, variables, sections, includes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made, mistakes
from tuner.nouns.model import DEFAULT_COMMAND

Project = Callable[..., Path]

INI = "[uwsgi]\nhttp-socket = :8000\nmodule = shop\n"
BUILT = "services: {web: {build: ., command: /srv/start.sh}}"
COPY = "FROM python:3.12\nWORKDIR /srv\nCOPY . /srv\n"


@pytest.fixture
def shop(project: Project) -> Callable[..., Path]:
    """A folder with a compose file, a Dockerfile that copies it to /srv, and the given files."""

    def enter(files: dict[str, str], compose: str = BUILT, docker: str = COPY) -> Path:
        folder = project(compose=compose, docker=docker)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    return enter


Shop = Callable[..., Path]


def test_a_script_shows_the_service_the_file_the_options_and_the_steps(shop: Shop) -> None:
    shop(
        {
            "start.sh": "#!/bin/sh\nset -e\npython manage.py migrate --noinput\n"
            "exec uwsgi --ini /srv/prod.ini --processes ${WORKERS:-3}\n",
            "prod.ini": f"{INI}processes = 2\n",
        },
        "services: {web: {build: ., command: /srv/start.sh},"
        " worker: {build: ., command: celery worker}}",
    )
    found = made()
    assert found.app.command == DEFAULT_COMMAND
    assert found.ini == f"{INI}processes = 3\n"
    assert found.notes["start.sh:4 ${WORKERS:-3}"] == "changed: 3: from its default"
    step = "start.sh:3 {in: app, run: [python, manage.py, migrate, --noinput]}"
    assert found.notes[step].startswith("to do: it runs before uwsgi")
    assert "start.sh:4 `uwsgi --ini /srv/prod.ini --processes 3`" in found.notes


@pytest.mark.parametrize("last", ['exec "$@"', 'exec gosu app "$@"'])
def test_an_entry_script_that_runs_its_arguments_stays(shop: Shop, last: str) -> None:
    shop(
        {
            "entry.sh": f"#!/bin/sh\n. /srv/venv/bin/activate\nexport A=of-entry\n{last}\n",
            "run.sh": "#!/bin/sh\nexport B=of-run\nuwsgi /srv/uwsgi.ini\n",
            "uwsgi.ini": INI,
        },
        "services: {web: {build: ., command: /srv/run.sh}}",
        f'{COPY}ENTRYPOINT ["/srv/entry.sh"]\n',
    )
    found = made()
    assert found.app.command == ("/srv/entry.sh", "uwsgi", "--ini", "{ini}")
    assert found.app.env == {"B": "of-run"}
    assert found.notes["env.B"].startswith("changed: run.sh:2 sets it")


def test_variables_that_only_a_run_shows_are_to_be_given(shop: Shop) -> None:
    shop(
        {
            "start.sh": "#!/bin/bash\nsource /venv/bin/activate\nexport KEY=$(cat /key)\n"
            "export PATH=/venv/bin:$PATH\ncd /srv/app\nuwsgi uwsgi.ini\n",
            "app/uwsgi.ini": INI,
        }
    )
    found = made()
    assert found.app.working_dir == "/srv/app"
    assert found.app.env == {}
    assert found.notes["env.KEY"].startswith("to do: only a run of start.sh:3")
    assert found.notes["env.PATH"].startswith("to do: only a run of start.sh:4")
    assert found.notes["start.sh:2 `source /venv/bin/activate`"].startswith("to do: it is not here")


def test_the_own_start_of_an_image_stays_if_it_reads_the_file_alone(shop: Shop) -> None:
    shop(
        {"start.sh": "#!/bin/sh\nexport A=$(date)\nexec uwsgi --ini /srv/u.ini\n", "u.ini": INI},
        "services: {web: {build: .}}",
        f'{COPY}CMD ["./start.sh"]\n',
    )
    found = made()
    assert str(found.app.ini_path) == "/srv/u.ini"
    assert found.app.uwsgi_ini == "u.ini"
    assert "command" not in found.app.model_fields_set


BRANCHES = """\
#!/bin/bash
if [ "$MODE" = dev ]; then
  exec uwsgi --ini dev.ini
elif [ -z "$WORKERS" ]
then
  WORKERS=7
fi
serve() {
  exec uwsgi --ini prod.ini --processes $WORKERS
}
case "$1" in
  worker) exec celery worker ;;
  web|api)
    shift
    wait-for-it db:5432
    exec uwsgi \\
      --ini prod.ini \\
      --processes $WORKERS ;;
esac
"""


@pytest.mark.parametrize(("mode", "processes"), [("", "7"), ("dev", "2")])
def test_branches_count_as_far_as_the_environment_decides_them(
    shop: Shop, mode: str, processes: str
) -> None:
    files = {"start.sh": BRANCHES, "dev.ini": f"{INI}processes = 2\n", "prod.ini": INI}
    compose = (
        f"services: {{web: {{build: ., command: /srv/start.sh web, environment: [MODE={mode}]}}}}"
    )
    shop(files, compose)
    assert f"processes = {processes}" in made().ini.splitlines()


def test_two_lines_that_may_start_uwsgi_are_named(shop: Shop) -> None:
    script = "if python check.py; then\n uwsgi --ini a.ini\nelse\n uwsgi --ini b.ini\nfi\n"
    shop({"start.sh": f"#!/bin/sh\n{script}", "a.ini": INI, "b.ini": f"{INI}processes = 5\n"})
    (told,) = mistakes()
    assert told.startswith("compose.yml:1: several lines start uwsgi")
    assert "start.sh:3: `uwsgi --ini a.ini`" in told
    assert "start.sh:5: `uwsgi --ini b.ini`" in told


def test_the_given_file_says_which_of_two_lines_counts(shop: Shop) -> None:
    script = "if python check.py; then\n uwsgi --ini a.ini\nelse\n uwsgi --ini b.ini -p 6\nfi\n"
    shop({"start.sh": f"#!/bin/sh\n{script}", "a.ini": INI, "b.ini": INI})
    found = made(ini=Path("b.ini"))
    assert (found.app.command, found.ini) == (DEFAULT_COMMAND, f"{INI}processes = 6\n")


SUPERVISOR = """\
[supervisord]
nodaemon=true
[program:celery]
command=celery worker
[program:web]
directory=/srv/app
environment=A="b,c",D=e
command=/usr/bin/uwsgi --ini u.ini --processes %(ENV_WORKERS)s
"""


def test_a_supervisors_program(shop: Shop) -> None:
    shop(
        {"conf/super.conf": SUPERVISOR, "app/u.ini": INI},
        "services: {web: {build: ., command: supervisord -n -c /etc/super.conf,"
        " environment: {WORKERS: '5'}}}",
        f"{COPY}COPY conf/super.conf /etc/\n",
    )
    found = made()
    assert found.app.command == ("/usr/bin/uwsgi", "--ini", "{ini}")
    assert found.app.env == {"A": "b,c", "D": "e", "WORKERS": "5"}
    assert "processes = 5" in found.ini.splitlines()


@pytest.mark.parametrize(
    "command",
    [
        "tini -- gosu shop /srv/start.sh",
        "sh /srv/start.sh",
        "bash -e -o pipefail -c /srv/start.sh",
        "sh -c 'cd /srv && exec ./start.sh'",
        "honcho start",
    ],
)
def test_the_ways_to_a_script(shop: Shop, command: str) -> None:
    shop(
        {"start.sh": "uwsgi --ini /srv/u.ini\n", "u.ini": INI, "Procfile": "web: ./start.sh\n"},
        f'services: {{web: {{build: ., command: "{command}"}}}}',
    )
    front = ("tini", "--", "gosu", "shop") if command.startswith("tini") else ()
    assert made().app.command == (*front, *DEFAULT_COMMAND)


def test_a_program_that_takes_an_ini_for_uwsgi(shop: Shop) -> None:
    shop({"u.ini": INI}, "services: {web: {build: ., command: nautobot-server start --ini u.ini}}")
    assert made().app.command == ("nautobot-server", "start", "--ini", "{ini}")


@pytest.mark.parametrize(
    ("command", "found"),
    [("/start.sh", ("env", "UWSGI_INI={ini}", "/start.sh")), ("", DEFAULT_COMMAND)],
)
def test_a_variable_that_names_the_file(shop: Shop, command: str, found: tuple[str, ...]) -> None:
    own = f", command: {command}" if command else ""
    shop(
        {"app/u.ini": INI},
        f"services: {{web: {{build: .{own}}}, db: {{image: 'postgres:17'}}}}",
        "FROM tiangolo/uwsgi-nginx:python3.11\nENV UWSGI_INI=/srv/app/u.ini\nCOPY . /srv\n",
    )
    app = made(service="web")
    assert (app.app.command, app.ini) == (found, INI)
    assert (app.app.ini_path is None) is bool(command)


def test_variables_of_a_shell_get_their_values(shop: Shop) -> None:
    shop(
        {},
        "services: {web: {build: ., environment: {PORT: '9000'}}}",
        "FROM python:3.12\nENV WORKERS=3\nCMD uwsgi --http :${PORT:-8000} --module shop"
        " --processes ${WORKERS:-4} --threads $THREADS $MORE\n",
    )
    found = made()
    assert found.ini.splitlines()[1:] == ["http = :9000", "module = shop", "processes = 3"]
    assert (found.app.port, found.app.env) == (9000, {"PORT": "9000"})
    assert found.notes["Dockerfile ${PORT:-8000}"] == "changed: 9000: from the environment"
    assert found.notes["Dockerfile ${WORKERS:-4}"] == "changed: 3: from ENV of the Dockerfile"
    assert found.notes["Dockerfile --threads $THREADS"].startswith("to do: THREADS has no value")
    assert found.notes["Dockerfile $MORE"].startswith("left out: MORE has no value")


def test_options_in_a_variable_are_options(shop: Shop) -> None:
    shop(
        {"u.ini": INI},
        "services: {web: {build: ., command: sh -c 'uwsgi --ini u.ini $$ARGS',"
        " environment: {ARGS: '-p 6 --static-map /s=/srv/s'}}}",
    )
    found = made()
    assert "processes = 6" in found.ini.splitlines()
    assert found.app.command == ("sh", "-c", "uwsgi --ini {ini} --static-map /s=/srv/s")


def test_a_file_that_a_script_fills(shop: Shop) -> None:
    shop(
        {
            "start.sh": "envsubst < /srv/u.ini.in > /srv/u.ini\nexec uwsgi /srv/u.ini\n",
            "u.ini.in": "[uwsgi]\nhttp = :${PORT}\nprocesses = ${WORKERS}\nthreads = $THREADS\n",
        },
        "services: {web: {build: ., command: /srv/start.sh,"
        " environment: {PORT: '9000', WORKERS: '5', THREADS: '2'}}}",
    )
    found = made()
    assert found.ini == "[uwsgi]\nhttp = :9000\nprocesses = 5\nthreads = 2\n"
    assert (found.app.port, found.app.thread_safe) == (9000, True)


@pytest.mark.parametrize(
    ("command", "ini", "told"),
    [
        ("uwsgi --ini /srv/e.ini", "emperor = /srv/vassals", "vassals/a.ini, vassals/b.ini"),
        ("uwsgi --emperor /srv/vassals", "", "vassals/a.ini, vassals/b.ini"),
        ("uwsgi --emperor '/srv/vassals/*.ini'", "", "vassals/a.ini, vassals/b.ini"),
    ],
)
def test_an_emperor_is_refused_with_its_vassals(
    shop: Shop, command: str, ini: str, told: str
) -> None:
    vassals = {"vassals/a.ini": INI, "vassals/b.ini": INI}
    compose = f'services: {{web: {{build: ., command: "{command}"}}}}'
    shop({"e.ini": f"[uwsgi]\n{ini}\n", **vassals}, compose)
    (found,) = mistakes()
    assert "the options are there: give one with --ini" in found
    assert found.endswith(told)
    assert made(ini=Path("vassals/a.ini")).ini == INI


def test_a_file_with_those_that_it_includes(shop: Shop) -> None:
    shop(
        {
            "conf/u.ini": "[uwsgi]\nini = %dbase.ini\nprocesses = 4\nchdir = %d..\n",
            "conf/base.ini": "[uwsgi]\nhttp-socket = :9001\nini = :more\n[more]\nmaster = 1\n",
        },
        "services: {web: {build: ., command: uwsgi /srv/conf/u.ini}}",
    )
    found = made()
    assert found.ini.splitlines() == [
        *("[uwsgi]", "http-socket = :9001", "master = 1", "processes = 4", "chdir = /srv/conf/.."),
    ]
    assert found.app.port == 9001
    assert found.notes["uwsgi.ini"] == "changed: it is made of conf/u.ini and conf/base.ini"


def test_an_include_that_is_not_here_is_to_be_merged(shop: Shop) -> None:
    ini = f"{INI}include = /etc/gone.ini\n"
    shop({"u.ini": ini}, "services: {web: {build: ., command: uwsgi /srv/u.ini}}")
    found = made()
    assert found.ini == ini
    assert "/etc/gone.ini is not here as an ini" in found.notes["u.ini"]


@pytest.mark.parametrize(
    ("word", "name", "text"),
    [
        ("u.ini:prod", "u.ini", f"{INI}processes = 2\n[prod]\nhttp-socket = :8001\nini = :uwsgi\n"),
        ("u.yaml", "u.yaml", "uwsgi:\n  http-socket: :8001\n  processes: 2\n"),
    ],
)
def test_a_section_or_another_form_becomes_a_file_of_one_section(
    shop: Shop, word: str, name: str, text: str
) -> None:
    option = "--yaml" if word.endswith("yaml") else "--ini"
    shop({name: text}, f"services: {{web: {{build: ., command: 'uwsgi {option} {word}'}}}}")
    found = made()
    assert found.app.command == DEFAULT_COMMAND
    lines = found.ini.splitlines()
    assert lines[:2] == ["[uwsgi]", "http-socket = :8001"]
    assert "processes = 2" in lines
    assert found.ini.count("[") == 1


def test_the_options_of_a_command_that_is_given(shop: Shop) -> None:
    shop({}, "services: {web: {image: 'ckan:2', command: /srv/start_ckan.sh}}")
    found = made(command="uwsgi --plugins http --socket :3031 -p 4")
    assert found.app.command == DEFAULT_COMMAND
    assert found.ini.splitlines()[1:] == ["plugins = http", "socket = :3031", "processes = 4"]


def test_what_cannot_be_followed_is_named_with_its_place(shop: Shop) -> None:
    shop({"start.sh": "#!/bin/sh\nexec /opt/run.sh\n"})
    (told,) = mistakes()
    assert "start.sh:2 runs /opt/run.sh, which is not here" in told
    assert "`docker pull` or `docker compose build`" in told


def test_a_container_without_a_command_asks_for_its_image(shop: Shop) -> None:
    shop({}, "services: {web: {image: shop}}")
    (told,) = mistakes()
    assert told.startswith("compose.yml:1: no command: run `docker pull` or `docker compose build`")


def test_a_wrapper_that_runs_its_words_in_a_way_of_its_own(shop: Shop) -> None:
    shop(
        {
            "wait.sh": '#!/bin/bash\nwhile [ $# -gt 0 ]; do CLI+=("$1"); shift; done\n${CLI[@]}\n',
            "start.sh": "#!/bin/sh\nexec uwsgi --ini /srv/prod.ini\n",
            "prod.ini": INI,
        },
        "services: {web: {build: ., command: [./wait.sh, 'db:5432', --, /srv/start.sh]}}",
    )
    found = made().app.command
    assert found[:3] == ("./wait.sh", "db:5432", "--")
    assert found[-2:] == ("--ini", "{ini}")


def test_an_entrypoint_by_its_name_in_the_path(shop: Shop) -> None:
    shop(
        {
            "entry.sh": '#!/bin/sh\nmkdir -p /run/app\nexec "$@"\n',
            "supervisord.conf": "[program:web]\ncommand = uwsgi --ini /srv/prod.ini\n",
            "prod.ini": INI,
        },
        "services: {web: {build: .}}",
        f"{COPY}COPY supervisord.conf /etc/supervisor/supervisord.conf\n"
        'COPY entry.sh /usr/local/bin/entry\nENTRYPOINT ["entry"]\nCMD ["supervisord"]\n',
    )
    assert made().ini == INI


def test_a_command_of_one_word_is_for_the_shell_of_an_image_that_is_not_here(shop: Shop) -> None:
    folder = shop({"prod.ini": INI}, "services: {web: {image: shop, command: ['uwsgi /x/p.ini']}}")
    assert made(ini=folder / "prod.ini").app.command[-1] == "uwsgi {ini}"
