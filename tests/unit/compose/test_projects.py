"""What `init` makes of compose files in the manner of well-known services under uWSGI."""

from collections.abc import Callable
from pathlib import Path

from tests.unit.compose.conftest import made
from tuner.nouns.model import FromWorker
from tuner.nouns.model.services import StartCondition

Project = Callable[..., Path]

OWN_VOLUME = (
    "changed: a volume of the arm's own, empty at first: `prepare` can fill it. With `copy: true`,"
    " which --copy-data writes, it starts with a copy of the folder"
)
ANOTHER_PROCESS = "left out: the app's image as another process"
PROXY = "left out: a proxy in front of the app"


def test_a_translation_server_with_env_files(project: Project) -> None:
    project("translate")
    found = made(ini=Path("production.ini"), service="translate")
    app = found.app
    assert app.image == "translate/server:5.9"
    assert app.uwsgi_ini == "production.ini"
    assert "workers = 3" in found.ini
    assert app.env["POSTGRES_DB"] == "translate_db"
    assert app.env["TRANSLATE_ADMIN_PASSWORD"] == ""
    assert app.host_header == "translate.example"
    assert (app.volumes, app.tmpfs) == (("data:/app/data",), ("/run:size=64m", "/tmp"))
    assert [*app.services] == ["cache", "database"]
    assert app.services["cache"].command == ("valkey-server", "--save", "60", "1")
    assert app.services["cache"].volumes == ("cache-data:/data",)
    test = app.services["database"].healthcheck
    assert test is not None
    assert test.argv == ("/bin/sh", "-c", 'pg_isready -U "${POSTGRES_USER:-postgres}"')
    assert found.notes["cache.read_only"].startswith("left out: an arm has few rights")
    assert found.notes["database.restart"].startswith("left out: a service starts once")
    assert found.notes["translate socket /run/translate.sock"].endswith(
        "the tuner puts nginx in front, on `port`"
    )


def test_a_command_that_waits_for_its_database(project: Project) -> None:
    project("pings")
    found = made(compose=(Path("docker/docker-compose.yml"),))
    app = found.app
    waits = "while !</dev/tcp/db/5432; do sleep 1; done; uwsgi {ini}"
    assert app.command == ("bash", "-c", waits)
    assert app.uwsgi_ini == "docker/uwsgi.ini"
    assert app.port == 8000
    assert app.image == "docker-web"
    assert "docker compose build web" in found.notes["web.build"]
    assert app.services["db"].image == "postgres:16"
    assert app.services["db"].env == {"POSTGRES_DB": "pings", "POSTGRES_PASSWORD": "only-here"}
    assert app.env["EMAIL_HOST_PASSWORD"] == ""
    assert "as in the file" in found.notes["web.env DB_PASSWORD, SECRET_KEY"]


def test_one_container_with_a_folder_of_data(project: Project) -> None:
    project("bookmarks")
    found = made(ini=Path("uwsgi.ini"))
    app = found.app
    assert (app.port, app.thread_safe, app.services) == (9090, True, {})
    assert app.volumes == ("/etc/bookmarks/data",)
    assert app.env["BM_ENABLE_OIDC"] == "False"
    assert "BM_SUPERUSER_PASSWORD" not in app.env
    assert found.notes["bookmarks.env.BM_SUPERUSER_PASSWORD"].startswith("to do: it has no value")
    assert found.notes["bookmarks.volumes ./data:/etc/bookmarks/data"] == OWN_VOLUME
    assert "/etc/localtime" in found.text
    assert found.notes["bookmarks.env_file superuser.env"].startswith("to do: it is not there")
    assert found.notes["bookmarks.env_file .env"].startswith("left out: it is not there")


def test_a_folder_of_settings_that_name_the_cache(project: Project) -> None:
    project("metasearch")
    found = made()
    app = found.app
    assert [*app.services] == ["valkey"]
    assert app.files == {
        "/etc/metasearch/settings.yml": Path("conf/settings.yml").read_text(),
    }
    assert app.uwsgi_ini == "conf/uwsgi.ini"
    assert app.port == 8080
    assert app.env["METASEARCH_BASE_URL"] == "https://localhost/"
    test = app.services["valkey"].healthcheck
    assert test is not None
    assert (test.test, test.timeout) == (("CMD", "valkey-cli", "ping"), 60.0)
    assert found.notes["service caddy"].startswith(PROXY)
    assert "so that no arm waits" in found.notes["valkey.healthcheck.interval"]
    assert "until it passes" in found.notes["valkey.healthcheck.retries"]
    assert "the variable does nothing" in found.notes["metasearch.env.UWSGI_WORKERS"]
    assert {"metasearch.cap_drop", "metasearch.cap_add", "valkey.logging"} <= {*found.notes}


def test_options_on_the_command_line_and_services_with_other_names(project: Project) -> None:
    folder = project("lists")
    found = made(service="lists-web")
    app = found.app
    assert app.build == "web"
    assert app.command == ("/usr/local/bin/docker-entrypoint.sh", "uwsgi", "--ini", "{ini}")
    assert found.ini == (folder / "uwsgi.ini").read_text()
    assert "uwsgi-socket = :8080" in found.ini.splitlines()
    assert (app.port, app.user, app.working_dir, app.shm_mb) == (8000, "100:101", "/opt/lists", 128)
    assert (app.limits.cpus, app.limits.memory_mb) == (1.5, 768)
    assert [*app.services] == ["db", "core"]
    assert app.services["core"].depends_on == {"db": StartCondition.STARTED}
    assert app.services["db"].volumes == ("/var/lib/postgresql/data",)
    assert found.notes["service database"] == "changed: its name is db here"
    assert found.notes["service lists-core"] == "changed: its name is core here"
    assert app.env["SECRET_KEY"] == FromWorker(from_worker="LISTS_SECRET_KEY")
    assert "networks" in found.notes
    assert "lists-core.stop_grace_period" in found.notes


def test_anchors_and_a_job_that_becomes_a_step(project: Project) -> None:
    project("learn")
    found = made(service="lms")
    app = found.app
    assert app.env["SERVICE_VARIANT"] == "lms"
    assert app.env["MYSQL_URL"] == "mysql://root:only-here@mysql:3306/school"
    assert "buffer-size = 8192" in found.ini.splitlines()
    assert app.command == ("uwsgi", "--ini", "{ini}", "--static-map", "/static=/openschool/static")
    assert "move these" in next(why for what, why in found.notes.items() if "--static-map" in what)
    assert app.limits.somaxconn == 2048
    assert {*app.services} == {"mongodb", "mysql", "elasticsearch", "redis"}
    assert app.services["redis"].files == {
        "/openschool/redis/redis.conf": 'save ""\nappendonly no\n'
    }
    assert app.services["elasticsearch"].memory_mb == 1500
    assert app.services["mysql"].command[0] == "mysqld"  # type: ignore[index]
    assert [(step.in_, step.run) for step in app.prepare] == [
        ("app", ("./manage.py", "lms", "migrate", "--noinput"))
    ]
    assert [*app.files] == ["/openschool/config.yml"]
    assert app.volumes == ("/openschool/data",)
    assert found.notes["lms.volumes ../data/lms:/openschool/data"] == OWN_VOLUME
    for name in ("cms", "lms-worker"):
        assert found.notes[f"service {name}"].startswith(ANOTHER_PROCESS)
    assert found.notes["service caddy"].startswith(PROXY)
    assert app.services["elasticsearch"].env["discovery.type"] == "single-node"
    assert found.notes["mysql.cap_add"].startswith("left out: an arm has few rights")


def test_source_code_in_a_mount_and_a_service_of_another_file(project: Project) -> None:
    project("extensions")
    found = made()
    app = found.app
    assert app.image == "ext/olympus:local"
    assert (app.port, app.health_path) == (8002, "/__heartbeat__")
    assert app.env["ROLE"] == "web"
    assert app.env["BASE"] == "yes"
    assert app.env["HOST_UID"] == "9500"
    assert app.volumes == ("/data/ext/site-static",)
    assert app.tmpfs == ("/data/scratch:size=64m",)
    assert {*app.services} == {"mysqld", "memcached", "rabbitmq"}
    test = app.services["mysqld"].healthcheck
    assert test is not None
    assert test.timeout == 5.0
    assert found.notes["web.volumes ..:/data/ext"].startswith("left out: the source code")
    assert found.notes["service nginx"].startswith(PROXY)
    assert found.notes["service worker"].startswith(ANOTHER_PROCESS)
    assert "COMPOSE_PROFILES=mail" in found.notes["service mailpit"]
    assert "service rabbitmq" not in found.notes


def test_a_database_by_its_alias_and_a_migration(project: Project) -> None:
    project("pager")
    found = made()
    app = found.app
    assert app.command == ("sh", "-c", "uwsgi --ini {ini}")
    assert (app.port, app.gevent_ok, app.files) == (8080, True, {})
    assert app.env["FEATURE_X"] == ""
    assert app.env.items() >= {
        ("SECRET_KEY", "my-secret-of-32-signs-for-trials"),
        ("MYSQL_PASSWORD", "pager"),
    }
    assert [*app.services] == ["db", "redis"]
    assert app.services["db"].files == {
        "/docker-entrypoint-initdb.d/10-notes.sql": "CREATE TABLE notes (id INT);\n"
    }
    assert app.services["redis"].cpus == 0.5
    assert app.services["redis"].memory_mb == 500
    assert app.prepare[0].run == ("python", "manage.py", "migrate", "--noinput")
    assert "COMPOSE_PROFILES=with_grafana" in found.notes["service grafana"]
    assert found.notes["service celery"].startswith(ANOTHER_PROCESS)
    assert "redis.deploy.replicas" in found.notes
    assert "redis.deploy.resources.reservations.memory" in found.notes


def test_a_database_that_is_built_inside_the_apps_folder(project: Project) -> None:
    project("maps")
    found = made()
    app = found.app
    assert app.build == "."
    assert app.command == ("/usr/src/entrypoint.sh", "uwsgi", "--ini", "{ini}")
    assert (app.port, app.health_path, app.host_header) == (8001, "/ready", "django")
    assert app.services["db"].build == "docker/db"
    assert app.services["db"].command == ("postgres", "-c", "max_connections=200")
    assert {*app.services} == {"db", "memcached", "rabbitmq"}
    assert app.volumes == ("statics:/mnt/volumes/statics", "geodata:/geodata")
    assert app.env["OAUTH2_CLIENT_SECRET"] == FromWorker(from_worker="OAUTH2_CLIENT_SECRET")
    assert "starts after the app" in found.notes["service geoserver"]
    assert found.notes["service front"].startswith(PROXY)
    assert found.notes["service celery"].startswith(ANOTHER_PROCESS)


def test_every_note_is_a_comment_at_the_head(project: Project) -> None:
    project("maps")
    found = made()
    head = found.text[: found.text.index("name: maps")]
    assert all(line.startswith("#") for line in head.splitlines())
    for note in found.draft.findings.notes:
        assert note.what in head
        assert note.why in head
