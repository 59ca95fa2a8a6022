"""Single parts of a compose file, and what an arm has of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made, mistakes
from tuner.nouns.errors import Conflict, InvalidInput
from tuner.nouns.model import DEFAULT_COMMAND, FromFile, FromWorker
from tuner.nouns.model.services import Runs, StartCondition
from tuner.targets.compose import Wanted, draft, write

Project = Callable[..., Path]

INI = "[uwsgi]\nhttp-socket = :8000\n"
WEB = "services:\n  web:\n    image: shop\n    command: uwsgi --http :8000 -p 2\n"


@pytest.mark.parametrize(
    ("command", "found", "ini"),
    [
        ("uwsgi --http :8000 -p 2", ["uwsgi", "--ini", "{ini}"], ["http = :8000", "processes = 2"]),
        (
            "sh -c 'cd /srv && exec uwsgi --http :$PORT -w a:b; true'",
            ["sh", "-c", "cd /srv && exec uwsgi --ini {ini}; true"],
            ["http = :$(PORT)", "module = a:b"],
        ),
        (
            "/start.sh /opt/bin/uwsgi --env 'A=b;c' -M",
            ["/start.sh", "/opt/bin/uwsgi", "--ini", "{ini}"],
            ["env = A=b;c", "master = true"],
        ),
    ],
)
def test_options_of_a_command_become_a_file(
    project: Project, command: str, found: list[str], ini: list[str]
) -> None:
    escaped = command.replace("$", "$$").replace('"', '\\"')
    project(compose=f'services: {{web: {{image: shop, command: "{escaped}"}}}}')
    app = made()
    assert app.app.command == tuple(found)
    assert app.ini.splitlines() == ["[uwsgi]", *ini]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("uwsgi /srv/uwsgi.ini", ("uwsgi", "{ini}")),
        ("uwsgi --ini=/srv/uwsgi.ini", ("uwsgi", "--ini={ini}")),
        ("sh -c 'cat /srv/uwsgi.ini; uwsgi --ini uwsgi.ini'", None),
    ],
)
def test_a_file_beside_the_dockerfile(
    project: Project, command: str, found: tuple[str, ...] | None
) -> None:
    project(
        compose="services: {web: {build: .}}",
        docker=f'FROM a AS b\nENTRYPOINT ["/in.sh"]\nFROM b\nCMD {command}\n',
        ini=INI,
    )
    app = made().app
    assert app.build == "."
    assert app.command[:3] == ("/in.sh", "/bin/sh", "-c")
    assert app.command[3].count("{ini}") == 1
    if found is not None:
        assert app.command[3] == " ".join(found)


def test_the_given_file_goes_before_that_of_the_command(project: Project) -> None:
    folder = project(compose=WEB.replace("--http :8000 -p 2", "--ini /srv/prod.ini"))
    (folder / "own.ini").write_text(INI)
    found = made(ini=Path("own.ini"))
    assert (found.app.uwsgi_ini, found.ini) == ("own.ini", INI)
    assert found.app.command == ("uwsgi", "--ini", "{ini}")


def test_another_folder_gets_copies(project: Project) -> None:
    folder = project(
        compose=WEB.replace("--http :8000 -p 2", "/srv/uwsgi.ini")
        + "    volumes: [./uwsgi.ini:/srv/uwsgi.ini:ro, './.env:/srv/settings.env:ro']\n",
        ini=INI,
        env="A=1\n",
    )
    found = made(Path("tuned/shop"))
    assert sorted(file.name for file in (folder / "tuned/shop").iterdir()) == [
        ".env",
        "target.yaml",
        "uwsgi.ini",
    ]
    assert found.app.files == {"/srv/settings.env": "A=1\n"}
    assert found.ini == INI


def test_a_build_elsewhere_is_named_from_the_folder(project: Project) -> None:
    project(
        compose="services: {web: {build: ., depends_on: [db]}, db: {build: ./db}}",
        docker="FROM a\nCMD uwsgi --ini uwsgi.ini\n",
        ini=INI,
    )
    found = made(Path("tuned/own"))
    assert found.app.build == "../.."
    assert found.app.services["db"].image == "shop-db"
    assert "docker compose build db" in found.notes["db.build"]


def test_nothing_is_replaced(project: Project) -> None:
    folder = project(compose=WEB, ini="[uwsgi]\nprocesses = 9\n")
    with pytest.raises(Conflict, match=r"^uwsgi\.ini: is there already"):
        write(draft(Wanted(folder=Path())), Path())
    assert not (folder / "target.yaml").exists()


@pytest.mark.parametrize("name", ["target.yaml", "uwsgi.ini"])
def test_a_link_that_leads_out_of_a_checkout_is_not_followed(
    project: Project, tmp_path: Path, name: str
) -> None:
    project(compose=WEB, ini=INI)
    Path("app").mkdir()
    stranger = tmp_path / "elsewhere"
    (Path("app") / name).symlink_to(stranger)
    wanted = Wanted(folder=Path("app"), ini=Path("uwsgi.ini"))
    with pytest.raises(Conflict, match="is there already"):
        write(draft(wanted), Path("app"))
    assert not stranger.exists()


OPEN_SECRETS = """
services:
  web:
    build: .
    command: uwsgi --ini uwsgi.ini
    environment:
      DATABASE_URL:
      GH_PAT:
      SENTRY_DSN: ${SENTRY_DSN}
      REPORT_TO: ${REPORT_TO}
      UPSTREAM: ${UPSTREAM}
      CACHE_URL: redis://cache/0
"""
OF_SHELL = {
    "DATABASE_URL": "postgres://shop:hunter22@db.example/shop",
    "GH_PAT": "x1",
    "SENTRY_DSN": "https://0123456789abcdef0123456789abcdef@errors.example/1",
    "REPORT_TO": "ghp_0123456789abcdefABCDEF",
    "UPSTREAM": "https://api.example",
}


def test_secrets_of_the_shell_are_known_by_their_values_too(project: Project) -> None:
    folder = project(compose=OPEN_SECRETS, ini=INI, docker="FROM base\n")
    found = made(service="web", environ=OF_SHELL)
    env = {name: str(value) for name, value in found.app.env.items()}
    for name in ("DATABASE_URL", "GH_PAT", "SENTRY_DSN", "REPORT_TO"):
        assert "from_worker" in env[name], name
        assert OF_SHELL[name] not in found.text
    assert (env["UPSTREAM"], env["CACHE_URL"]) == ("https://api.example", "redis://cache/0")
    assert (folder / "target.yaml").stat().st_mode & 0o777 == 0o644


def test_what_holds_secrets_can_be_read_by_its_owner_only(project: Project) -> None:
    literal = OPEN_SECRETS.replace("${SENTRY_DSN}", OF_SHELL["SENTRY_DSN"])
    mounts = "    volumes: [./key.pem:/etc/key.pem]\n"
    folder = project(compose=f"{literal}{mounts}", ini=INI, docker="FROM base\n")
    (folder / "key.pem").write_text("a key\n")
    (folder / "key.pem").chmod(0o600)
    found = made(Path("tuned"), service="web", environ={})
    assert "only you can read it" in found.notes["web.env SENTRY_DSN"]
    modes = {file.name: file.stat().st_mode & 0o777 for file in (folder / "tuned").iterdir()}
    assert modes == {"target.yaml": 0o600, "key.pem": 0o600, "uwsgi.ini": 0o644}


def test_a_folder_that_is_a_link_is_refused(project: Project, tmp_path: Path) -> None:
    project(compose=WEB, ini=INI)
    (tmp_path / "elsewhere").mkdir()
    Path("app").symlink_to(tmp_path / "elsewhere")
    for folder in (Path("app"), Path("app/inner")):
        with pytest.raises(InvalidInput, match="app is a link"):
            write(draft(Wanted(folder=folder, ini=Path("uwsgi.ini"))), folder)
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_an_image_and_a_file_need_no_compose_file(project: Project) -> None:
    project(ini=INI)
    found = made(image="registry.example/shop:1", ini=Path("uwsgi.ini"))
    assert (found.app.image, found.app.port) == ("registry.example/shop:1", 8000)
    assert found.app.services == {}


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ("command: uwsgi --ini /etc/app/uwsgi.ini", "/etc/app/uwsgi.ini"),
        ("command: uwsgi --ini uwsgi.ini", "uwsgi.ini"),
        ("command: uwsgi --ini uwsgi.ini, working_dir: /srv/app", "/srv/app/uwsgi.ini"),
    ],
)
def test_a_file_that_is_in_the_image_alone(project: Project, service: str, path: str) -> None:
    project(compose=f"services: {{web: {{image: 'shop:1', {service}}}}}")
    asked = []

    def read(*wanted: str) -> str:
        asked.append(wanted)
        return INI

    found = made(read=read)
    assert asked == [("shop:1", path)]
    assert (found.ini, found.app.command) == (INI, DEFAULT_COMMAND)
    (told,) = [why for what, why in found.notes.items() if what.endswith("in the container")]
    assert told == "changed: uwsgi.ini is a copy of it"


SHIPPED = {"ENTRYPOINT": ["/start.sh"], "CMD": ["uwsgi", "--ini", "uwsgi.ini"]}


@pytest.mark.parametrize(
    ("service", "command"),
    [
        ("image: 'shop:1'", ("/start.sh", "uwsgi", "--ini", "{ini}")),
        ("build: {context: ., args: {A: b}}", ("/start.sh", "uwsgi", "--ini", "{ini}")),
        ("image: 'shop:1', command: uwsgi --ini=/b.ini", ("/start.sh", "uwsgi", "--ini={ini}")),
        ("image: 'shop:1', entrypoint: uwsgi /b.ini", ("uwsgi", "{ini}")),
    ],
)
def test_an_image_that_is_here_tells_its_command_and_has_its_file(
    project: Project, service: str, command: tuple[str, ...]
) -> None:
    project(compose=f"services: {{web: {{{service}}}, cache: {{image: redis}}}}")
    entries = {"shop:1": SHIPPED, "shop-web": SHIPPED, "redis": {"CMD": ["redis-server"]}}
    found = made(entry=entries.get, read=lambda image, path: INI)
    assert (found.app.command, found.ini) == (command, INI)
    told = [why for what, why in found.notes.items() if what == "command"]
    assert ["starts" in why for why in told] == [True] * ("/start.sh" in command)
    assert "the image's ENTRYPOINT, if it has one" not in found.notes


def test_an_image_alone_is_enough_if_it_is_here(project: Project) -> None:
    project(env="")
    found = made(image="shop:1", entry=lambda image: SHIPPED, read=lambda image, path: INI)
    assert found.app.command == ("/start.sh", "uwsgi", "--ini", "{ini}")
    assert found.ini == INI


def test_a_dockerfile_goes_before_an_image_that_may_be_older(project: Project) -> None:
    project(compose="services: {web: {build: .}}", docker="FROM a\nCMD uwsgi.ini\n", ini=INI)
    (told,) = mistakes(entry=lambda image: SHIPPED)
    assert "`/bin/sh -c uwsgi.ini` does not show how uwsgi starts" in told


def test_an_image_that_starts_something_else_needs_the_file(project: Project) -> None:
    project(compose="services: {web: {image: shop}}")
    (told,) = mistakes(entry=lambda image: {"CMD": ["supervisord", "-n"]})
    assert "`supervisord -n` does not show how uwsgi starts; supervisord: its conf" in told


def test_a_dockerfile_needs_no_compose_file(project: Project) -> None:
    project(docker='FROM a\nCMD ["uwsgi", "--ini", "/app/uwsgi.ini"]\n', ini=INI)
    assert made().app.build == "."


def test_variables_of_the_shell(project: Project) -> None:
    project(
        compose=WEB
        + """\
    environment:
      PASSED: null
      API_KEY: ${SHOP_KEY}
      OTHER_TOKEN: a-${SHOP_KEY}
      DATABASE_URL: mysql://shop:${DB_PASSWORD}@db/shop
      LEVEL: ${LEVEL}
      EMPTY: ${NOWHERE}
      GONE: null
""",
        env="LEVEL=info\n",
    )
    shell = {"PASSED": "on", "SHOP_KEY": "from-the-vault", "LEVEL": "debug", "DB_PASSWORD": "p"}
    found = made(environ=shell)
    assert found.app.env == {
        "PASSED": "on",
        "API_KEY": FromWorker(from_worker="SHOP_KEY"),
        "OTHER_TOKEN": FromWorker(from_worker="OTHER_TOKEN"),
        "DATABASE_URL": FromWorker(from_worker="DATABASE_URL"),
        "LEVEL": "debug",
        "EMPTY": "",
    }
    assert "from-the-vault" not in found.text
    assert "NOWHERE has no value" in found.notes["web.env.EMPTY"]
    assert found.notes["web.env.GONE"].startswith("left out: it has no value")


def test_the_services_by_every_way_of_naming_one(project: Project) -> None:
    project(
        compose=WEB
        + """\
    environment: {A: "tcp://one:1", SEARCH_HOST: two, C: "x,three:11211", POSTGRES_USER: five}
    links: ["six:s"]
  one: {image: a, environment: {PEER: "http://four/"}}
  two: {image: b, environment: {HOST: web}}
  three: {image: c}
  four: {image: d}
  five: {image: e}
  six: {image: f}
  lone: {image: g}
"""
    )
    found = made(service="web")
    assert {*found.app.services} == {"one", "two", "three", "four", "six"}
    why = "left out: the app does not name it in depends_on, links, environment, files or command"
    assert found.notes["service five"] == why
    assert found.notes["service lone"] == why
    assert found.notes["service two"].endswith("in an arm the app's name is app")


def test_conditions_between_services(project: Project) -> None:
    project(
        compose=WEB
        + """\
    depends_on: [search]
  search:
    image: search
    healthcheck: {test: [NONE]}
    depends_on:
      db: {condition: service_healthy}
      store: {condition: service_healthy}
      fill: {condition: service_completed_successfully}
  db: {image: "registry.example/postgres:17"}
  store: {image: store, healthcheck: {disable: true, test: x}}
  fill: {image: filler, command: fill --all}
"""
    )
    services = made(service="web").app.services
    assert services["search"].depends_on == {
        "db": StartCondition.HEALTHY,
        "store": StartCondition.STARTED,
        "fill": StartCondition.COMPLETED,
    }
    assert services["store"].healthcheck is None
    assert services["fill"].command == ("fill", "--all")


def test_a_service_with_two_names_is_told(project: Project) -> None:
    project(
        compose=WEB
        + """\
    environment: {A: "http://db/", B: "http://data:1/"}
  db: {image: db, hostname: data}
"""
    )
    found = made(service="web")
    assert [*found.app.services] == ["db"]
    assert found.notes["service db"].startswith("to do: it is also called data")


def test_a_service_called_app_is_refused(project: Project) -> None:
    project(compose=f"{WEB}    depends_on: [app]\n  app: {{image: other}}\n")
    (told,) = mistakes(service="web")
    assert told.startswith(
        "compose.yml:6: services.app: app is the name of the app's own container"
    )


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ("mem_limit: 1.5g", 1536),
        ("mem_limit: 536870912", 512),
        ("deploy: {resources: {limits: {memory: 64M}}}", 64),
        ("mem_limit: 1m", 16),
    ],
)
def test_memory_limits(project: Project, limits: str, found: int) -> None:
    project(compose=f"{WEB}    {limits}\n")
    assert made().app.limits.memory_mb == found


@pytest.mark.parametrize(
    ("lines", "port"),
    [
        ("ports: ['127.0.0.1:80:9000/tcp']", 9000),
        ("ports: [{target: 9000, published: 80}]", 9000),
        ("expose: [9000]", 9000),
    ],
)
def test_the_port_of_the_compose_file(project: Project, lines: str, port: int) -> None:
    project(compose=f"services: {{web: {{image: a, {lines}}}}}", ini="[uwsgi]\n")
    assert made(ini=Path("uwsgi.ini")).app.port == port


def test_a_port_of_the_environment_and_another_one_that_is_published(project: Project) -> None:
    project(
        compose="services: {web: {image: a, environment: [PORT=9000], ports: ['80:80']}}",
        ini="[uwsgi]\nhttp = :$(PORT)\n",
    )
    found = made(ini=Path("uwsgi.ini"))
    assert found.app.port == 9000
    assert found.notes["web.ports 80"].startswith("changed: the present file listens on 9000")


def test_mounts_that_are_no_small_texts(project: Project) -> None:
    folder = project(compose=WEB + "    volumes: [./big:/big, ./b.bin:/b.bin:ro, ./conf:/x.d:ro]\n")
    (folder / "b.bin").write_bytes(b"\xff\xfe\x00")
    (folder / "big").write_text("x" * 200_001)
    (folder / "conf").mkdir()
    for number in range(21):
        (folder / "conf" / f"{number}.conf").write_text("x")
    found = made()
    assert found.app.files == {}
    assert found.app.volumes == ("/x.d",)
    for name in ("web.volumes ./big:/big", "web.volumes ./b.bin:/b.bin"):
        assert "COPY it in the Dockerfile" in found.notes[name]


DATA = WEB + "    depends_on: [db]\n  db: {image: db, volumes: ['./data:/var/lib/db']}\n"


def test_a_folder_of_data_inside_the_apps_folder_is_named(project: Project) -> None:
    folder = project(compose=DATA)
    (folder / "data").mkdir()
    (folder / "data" / "rows").write_bytes(b"\0")
    found = made(service="web", copy_data=True)
    ((path, volume),) = found.app.copies()
    assert path == "services.db.volumes.0"
    assert (volume.source, volume.target) == ("./data", "/var/lib/db")
    why = found.notes["db.volumes ./data:/var/lib/db"]
    assert why.startswith("changed: a volume of the arm's own that starts with a copy")


def test_a_folder_of_data_elsewhere_is_copied_with_its_modes_and_links(project: Project) -> None:
    folder = project(compose=DATA)
    (folder / "data" / "base").mkdir(parents=True)
    (folder / "data" / "base" / "rows").write_bytes(b"\0")
    (folder / "data" / "last").symlink_to("base/rows")
    (folder / "data").chmod(0o700)
    found = made(Path("tuned/shop"), service="web", copy_data=True)
    ((_, volume),) = found.app.copies()
    copy = folder / "tuned" / "shop" / "data"
    assert volume.source == "./data"
    assert (copy / "base" / "rows").read_bytes() == b"\0"
    assert (copy / "last").readlink() == Path("base/rows")
    assert copy.stat().st_mode & 0o777 == 0o700


def test_two_folders_of_one_name_stay_two(project: Project) -> None:
    folder = project(
        compose=DATA.replace(
            "services:", "services:\n  cache: {image: c, volumes: ['../data:/d']}"
        ).replace("depends_on: [db]", "depends_on: [db, cache]")
    )
    for data in (folder / "data", folder.parent / "data"):
        data.mkdir()
        (data / "dump").write_text("x" * 200_001)
    found = made(Path("tuned/shop"), service="web", copy_data=True)
    sources = {path: volume.source for path, volume in found.app.copies()}
    assert sources == {
        "services.db.volumes.0": "./data",
        "services.cache.volumes.0": "./cache-data",
    }


def test_a_folder_that_is_not_here_becomes_an_empty_volume(project: Project) -> None:
    project(compose=DATA)
    found = made(service="web", copy_data=True)
    assert found.app.services["db"].volumes == ("/var/lib/db",)
    assert found.notes["db.volumes ./data:/var/lib/db"].endswith("there is no such folder here")


def test_a_folder_that_cannot_be_copied_leaves_nothing(project: Project) -> None:
    folder = project(compose=WEB + "    volumes: ['./data:/data']\n")
    (folder / "data").mkdir()
    (folder / "data/large").write_text("x" * 200_001)
    with pytest.raises(InvalidInput, match="into itself"):
        made(Path("data/tuned"), copy_data=True)
    assert [*(folder / "data/tuned").iterdir()] == []


def test_a_config_with_its_text_is_a_file(project: Project) -> None:
    project(
        compose=WEB
        + """\
    configs: [{source: own, target: /srv/own.conf}, outside, variable]
configs:
  own: {content: "debug = ${DEBUG:-false}\\n"}
  outside: {external: true}
  variable: {environment: OWN}
""",
        env="PASSWORD=x\n",
    )
    found = made()
    assert found.app.files == {"/srv/own.conf": "debug = false\n"}
    assert found.notes["web.configs outside:/outside"].startswith("to do: its text is not in")
    assert found.notes["web.configs variable:/variable"].startswith("to do: its text is not in")


def test_a_service_in_the_text_of_a_config_is_needed(project: Project) -> None:
    services = "services:\n  db: {image: 'postgres:17'}\n"
    web = WEB.replace("services:\n", services) + "    configs: [own]\n"
    project(compose=f"{web}configs: {{own: {{content: 'host = db'}}}}\n")
    assert [*made().app.services] == ["db"]


def test_an_ini_in_the_text_of_a_config_is_the_present_file(project: Project) -> None:
    web = WEB.replace("--http :8000 -p 2", "--ini /srv/uwsgi.ini")
    config = "configs: {own: {content: '[uwsgi]\n\n    http-socket = :8000\n\n    '}}\n"
    project(compose=f"{web}    configs: [{{source: own, target: /srv/uwsgi.ini}}]\n{config}")
    found = made()
    assert found.ini == INI
    assert found.app.files == {}


def test_a_config_with_a_file(project: Project) -> None:
    folder = project(
        compose=WEB
        + """\
    configs: [{source: own, target: /srv/own.toml}]
configs: {own: {file: ./own.toml}}
"""
    )
    (folder / "own.toml").write_text("a = 1\n")
    assert made().app.files == {"/srv/own.toml": "a = 1\n"}


SECRETS = """\
    depends_on: [db]
    secrets: [db_password, {source: token, target: api_token, mode: 0400}]
  db:
    image: postgres
    environment: {POSTGRES_PASSWORD_FILE: /run/secrets/db_password}
    secrets: [db_password, {source: gone, target: /etc/gone}, outside]
secrets:
  db_password: {file: ./secrets/db.txt}
  token: {environment: SHOP_TOKEN}
  gone: {file: ./gone.txt}
  outside: {external: true}
"""


@pytest.mark.parametrize("folder", [Path(), Path("tuned/shop")])
def test_secrets_are_named_and_stay_where_they_are(project: Project, folder: Path) -> None:
    (project(compose=WEB + SECRETS) / "secrets").mkdir()
    Path("secrets/db.txt").write_text("from-the-vault\n")
    found = made(folder, service="web", environ={"SHOP_TOKEN": "from-the-shell"})
    db_password = FromFile(file=os.path.relpath("secrets/db.txt", folder))
    token = FromWorker(from_worker="SHOP_TOKEN")
    assert found.app.secrets == {"db_password": db_password, "api_token": token}
    assert [*found.app.services["db"].secrets] == ["db_password", "gone"]
    assert found.app.services["db"].secrets["db_password"] == db_password
    written = "".join(file.read_text() for file in folder.iterdir() if file.is_file())
    assert "from-the" not in written
    notes = {what: why for what, why in found.notes.items() if ".secrets." in what}
    assert notes == {
        "web.secrets.api_token = {from_worker: SHOP_TOKEN}": "to do: a secret that target.yaml"
        " does not hold: the worker's environment needs it, and its TUNER_SECRETS_ALLOWED must"
        " name it",
        "web.secrets.api_token.mode": "left out: all users of its container can read it",
        "db.secrets.gone": "to do: ./gone.txt is not there: the worker reads it at its start",
        "db.secrets.outside": "to do: the compose file names no source: give {file: NAME} or"
        " {from_worker: NAME}",
    }


def test_limits_of_processes(project: Project) -> None:
    project(
        compose=WEB
        + """\
    ulimits: {nofile: {soft: 1024, hard: 4096}, core: 0}
    depends_on: [search]
  search: {image: a, ulimits: {nofile: 65535, memlock: {soft: -1, hard: -1}}}
"""
    )
    found = made(service="web")
    limits = {
        name: (its.soft, its.hard) for name, its in found.app.services["search"].ulimits.items()
    }
    assert limits == {"nofile": (65535, 65535), "memlock": (-1, -1)}
    assert found.app.limits.nofile == 1024
    assert found.notes["web.ulimits.core"].startswith("left out: ")


@pytest.mark.parametrize("limit", ["many", "{soft: 5, hard: 4}"])
def test_a_limit_that_is_none_is_told(project: Project, limit: str) -> None:
    project(compose=f"{WEB}    depends_on: [a]\n  a: {{image: a, ulimits: {{nofile: {limit}}}}}\n")
    assert all(
        told.startswith("target.yaml: services.a.ulimits.nofile")
        for told in mistakes(service="web")
    )


def test_what_a_service_extends_is_merged(project: Project) -> None:
    project(
        compose="""\
services:
  web:
    extends: {service: base}
    command: uwsgi --http :1
    environment: [B=2, C=3]
    volumes: ["new:/data"]
  base:
    image: shop
    command: [sleep, infinity]
    environment: {A: 1, B: 1}
    volumes: ["old:/data", "more:/more"]
    shm_size: 1gb
"""
    )
    app = made(service="web").app
    assert app.env == {"A": "1", "B": "2", "C": "3"}
    assert app.volumes == ("new:/data", "more:/more")
    assert app.command == ("uwsgi", "--ini", "{ini}")
    assert app.shm_mb == 1024


def test_keys_that_nothing_knows_are_named(project: Project) -> None:
    project(compose=f"{WEB}    blkio_config: {{}}\n    x-own: 1\n    runtime: other\n")
    notes = made().notes
    assert notes["web.blkio_config"] == "left out: target.yaml has nothing like it"
    assert "web.runtime" in notes
    assert "web.x-own" not in notes


def test_a_profile_counts_unless_a_service_is_named_in_depends_on(project: Project) -> None:
    project(
        compose=WEB
        + """\
    depends_on: [db]
    environment: {A: "http://one/", B: "http://two/"}
  db: {image: db, profiles: [db]}
  one: {image: one, profiles: [first]}
  two: {image: two, profiles: [second]}
""",
        env="COMPOSE_PROFILES=first,other\n",
    )
    found = made(service="web")
    assert {*found.app.services} == {"db", "one"}
    assert "COMPOSE_PROFILES=second" in found.notes["service two"]


def test_the_long_form_of_volumes(project: Project) -> None:
    folder = project(
        compose=WEB
        + """\
    volumes:
      - {type: bind, source: ./own.toml, target: /srv/own.toml, read_only: true}
      - {type: volume, source: data, target: /data}
      - {type: volume, target: /more}
      - {type: tmpfs, target: /fast, tmpfs: {size: 1048576}}
volumes: {data: {external: true}}
"""
    )
    (folder / "own.toml").write_text("a = 1\n")
    found = made()
    assert found.app.files == {"/srv/own.toml": "a = 1\n"}
    assert found.app.volumes == ("data:/data", "/more")
    assert found.app.tmpfs == ("/fast:size=1048576",)
    assert found.notes["volumes.data"].startswith("left out: an arm makes each volume itself")


@pytest.mark.parametrize("env_file", ["one.env", "[one.env]", "[{path: one.env}]"])
def test_the_forms_of_an_env_file(project: Project, env_file: str) -> None:
    folder = project(compose=f"{WEB}    env_file: {env_file}\n    environment: [B=own]\n")
    (folder / "one.env").write_text("A=1\nB=2\n")
    assert made().app.env == {"A": "1", "B": "own"}


def test_a_proxy_in_front_is_left_out_however_it_is_named(project: Project) -> None:
    project(
        compose=WEB
        + """\
    depends_on: [front, assets]
  front: {image: "nginx:1", environment: [UPSTREAM=web:8000]}
  assets: {image: "nginx:1"}
"""
    )
    found = made(service="web")
    assert [*found.app.services] == ["assets"]
    assert found.notes["service front"].startswith("left out: a proxy in front of the app")


@pytest.mark.parametrize(
    "sysctls",
    [
        "{net.core.somaxconn: 1024, net.ipv4.tcp_syncookies: 0, net.ipv4.tcp_mem: '1 2 3'}",
        '["net.core.somaxconn=1024", "net.ipv4.tcp_syncookies=0", "net.ipv4.tcp_mem=1 2 3"]',
    ],
)
def test_kernel_settings_that_a_container_may_have_are_taken_and_others_named(
    project: Project, sysctls: str
) -> None:
    project(compose=f"{WEB}    sysctls: {sysctls}\n")
    found = made()
    assert found.app.limits.kernel_settings == {
        "net.core.somaxconn": 1024,
        "net.ipv4.tcp_syncookies": 0,
    }
    why = found.notes["web.sysctls.net.ipv4.tcp_mem"]
    assert why.startswith("left out: belongs to the whole host")
    assert why.endswith("sysctl -w net.ipv4.tcp_mem='1 2 3'")


@pytest.mark.parametrize(
    ("of_app", "of_service", "runs"),
    [
        ("", "", Runs.ELSEWHERE),
        ('cpuset: "0"', 'cpuset: "1"', Runs.ELSEWHERE),
        ("", 'cpuset: "0"', Runs.ELSEWHERE),
        ('cpuset: "0"', 'cpuset: "0"', Runs.BESIDE),
    ],
)
def test_where_a_service_runs_is_written_with_the_reason(
    project: Project, of_app: str, of_service: str, runs: Runs
) -> None:
    db = f"    depends_on: [db]\n    {of_app}\n  db:\n    image: postgres\n    {of_service}\n"
    project(compose=WEB + db)
    found = made()
    assert found.app.services["db"].runs is runs
    assert f"runs: {runs}\n" in found.text
    reason = found.notes[f"db.runs: {runs}"]
    assert ("cpuset" in reason) == (runs is Runs.BESIDE)
