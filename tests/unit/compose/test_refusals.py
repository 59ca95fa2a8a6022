"""What cannot become a target app: all mistakes at once, each with its line."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.compose.conftest import mistakes

Project = Callable[..., Path]

INI = "[uwsgi]\nhttp-socket = :8000\n"


def _told(project: Project, compose: str, **options: Any) -> list[str]:
    project(compose=compose, ini=INI)
    return mistakes(**{"ini": Path("uwsgi.ini"), "service": "web", **options})


def test_rights_on_the_host_are_refused_with_their_lines(project: Project) -> None:
    told = _told(
        project,
        """\
services:
  web:
    image: shop
    privileged: true
    network_mode: host
    volumes:
      - data:/data
      - /var/run/docker.sock:/var/run/docker.sock
    depends_on: [db]
  db:
    image: postgres
    pid: host
    cap_add:
      - SYS_NICE
      - CAP_SYS_ADMIN
    devices: ["/dev/kvm:/dev/kvm"]
    deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}
  aside:
    image: other
    privileged: true
""",
    )
    assert sorted(each.partition(": it gives")[0] for each in told) == [
        "compose.yml:12: services.db.pid: host",
        "compose.yml:15: services.db.cap_add.1: CAP_SYS_ADMIN",
        "compose.yml:16: services.db.devices",
        "compose.yml:17: services.db.deploy.resources.reservations.devices",
        "compose.yml:4: services.web.privileged",
        "compose.yml:5: services.web.network_mode: host",
        "compose.yml:8: services.web.volumes.1: /var/run/docker.sock: "
        "with it a container controls the host: remove it, or leave the service out",
    ]
    assert all("remove it" in each for each in told)


def test_a_network_of_another_service_is_refused(project: Project) -> None:
    text = "services:\n  web:\n    image: shop\n    network_mode: service:vpn\n"
    assert _told(project, text) == [
        "compose.yml:4: services.web.network_mode: service:vpn: remove it. An arm has a network of"
        " its own: call the services there by their names"
    ]


def test_all_that_cannot_be_had_comes_at_once_with_lines_paths_and_what_to_do(
    project: Project,
) -> None:
    told = _told(
        project,
        """\
services:
  web:
    image: shop:${TAG:?which release}
    network_mode: host
    depends_on: [a, gone]
    environment: {KEY: "${KEY?}"}
  a: {image: a, depends_on: [b], devices: [/dev/fuse]}
  b:
    image: b
    privileged: true
    depends_on: [a]
""",
    )
    whole = "remove it, or the whole service if that cannot run without it"
    rights = f"it gives a container rights on the host: {whole}"
    value = "has no value: give it a value in .env or in the shell"
    assert told == [
        "compose.yml:11: services.b.depends_on.a: a -> b -> a: each waits for the next; remove one"
        " of these lines",
        "compose.yml:5: services.web.depends_on.gone: there is no service gone: remove the line, or"
        " give the file that has it with another --compose",
        f"compose.yml:3: services.web.image: TAG {value} (which release)",
        f"compose.yml:6: services.web.environment.KEY: KEY {value}",
        "compose.yml:4: services.web.network_mode: host: it gives a container the network of the"
        " host: remove it. An arm has a network of its own: call the services there by their names",
        f"compose.yml:10: services.b.privileged: {rights}",
        f"compose.yml:7: services.a.devices: {rights}",
    ]


def test_a_cycle_is_refused_once_with_other_mistakes(project: Project) -> None:
    told = _told(
        project,
        """\
services:
  web: {image: shop, depends_on: [a], ipc: host}
  a:
    image: a
    depends_on: [b, gone]
  b:
    image: b
    links: [a]
    depends_on:
      lost: {condition: service_started, required: false}
""",
    )
    assert [each.partition(": remove")[0] for each in told] == [
        "compose.yml:8: services.b.links.0: a -> b -> a: each waits for the next; remove one of"
        " these lines",
        "compose.yml:5: services.a.depends_on.gone: there is no service gone",
        "compose.yml:2: services.web.ipc: host: it gives a container rights on the host",
    ]


def test_unknown_services_of_extends(project: Project) -> None:
    told = _told(
        project,
        """\
services:
  web:
    image: shop
    extends: nobody
    depends_on: [db, loop]
  db:
    image: db
    extends: {file: other.yml, service: db}
  loop:
    image: l
    extends: loop
""",
    )
    assert told == [
        "compose.yml:4: services.web.extends: there is no service nobody in compose.yml",
        "compose.yml:8: services.db.extends: other.yml: No such file or directory",
        "compose.yml:11: services.loop.extends: loop extends itself",
    ]


def test_a_variable_without_a_value_that_must_have_one(project: Project) -> None:
    told = _told(
        project,
        """\
services:
  web:
    image: shop:${TAG:?which release}
    environment:
      - A=${A?}
  aside:
    image: other:${OTHER:?not needed}
""",
    )
    assert told == [
        "compose.yml:3: services.web.image: TAG has no value: give it a value in .env or in the"
        " shell (which release)",
        "compose.yml:5: services.web.environment.A: A has no value: give it a value in .env or in"
        " the shell",
    ]


def test_a_secret_of_the_shell_in_a_command(project: Project) -> None:
    text = (
        "services:\n  web: {image: shop, depends_on: [cache]}\n  cache:\n    image: redis\n"
        "    command: redis-server --requirepass ${CACHE_PASSWORD}\n"
    )
    told = _told(project, text, environ={"CACHE_PASSWORD": "of production"})
    assert told == [
        "compose.yml:5: services.cache.command: CACHE_PASSWORD is a secret of the shell: give it"
        " another value for the arms, in .env"
    ]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("uwsgi --ini /srv/gone.ini", "/srv/gone.ini is in no mount, beside no Dockerfile"),
        ("uwsgi --yaml /srv/uwsgi.yaml", "/srv/uwsgi.yaml is in no mount"),
        ("uwsgi --ini /srv/a.ini:prod", "/srv/a.ini:prod is in no mount"),
        ("uwsgi /a.ini --ini /b.ini", "/b.ini is in no mount"),
        ("./start.sh", "`./start.sh` does not show how uwsgi starts"),
        ("uwsgi --htpt :80", "uWSGI has no option --htpt"),
    ],
)
def test_a_command_without_its_file(project: Project, command: str, told: str) -> None:
    text = f"services:\n  web:\n    image: shop\n    command: {command}\n"
    (found,) = _told(project, text, ini=None)
    assert found.startswith(f"compose.yml:4: {told}")
    assert found.partition("; ")[2] or "--ini FILE" in found
    assert "--ini FILE" in found


def test_no_compose_file_and_nothing_else(project: Project) -> None:
    project(ini=INI)
    (told,) = mistakes()
    assert told.startswith("--compose: there is none of compose.yaml, ")


@pytest.mark.parametrize(
    ("service", "told"),
    [
        ("shop", "--service: no service shop in compose.yml; there are: web, other"),
        (
            None,
            "--service: no service of compose.yml starts uwsgi, as far as its files show; there"
            " are: web, other",
        ),
    ],
)
def test_no_service_of_that_name(project: Project, service: str | None, told: str) -> None:
    text = "services: {web: {image: a}, other: {image: b}}"
    assert _told(project, text, service=service) == [told]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("services: [", "compose.yml: not YAML: "),
        ("services:\n  web: &a\n    x-a: *a\n", "compose.yml: a value contains itself"),
        ("services:\n  web:\n    <<: text\n", "compose.yml: not YAML: "),
    ],
)
def test_a_file_that_cannot_be_read(project: Project, text: str, told: str) -> None:
    (found,) = _told(project, text)
    assert found.startswith(told)


def bomb(of: str, first: str) -> str:
    """Thirty levels of names, each twice the one before."""
    levels = [f"x{n}: &x{n} {of.format(n - 1)}" for n in range(1, 30)]
    return "\n".join([f"x0: &x0 {first}", *levels, "services: {web: {image: a, x-b: *x29}}"])


@pytest.mark.parametrize("first", ["{a: 1}", "{}"])
@pytest.mark.parametrize(
    "of", ["[*x{0}, *x{0}]", "{{b: *x{0}, c: *x{0}}}", "{{<<: [*x{0}, *x{0}]}}"]
)
def test_names_that_repeat_values_without_an_end_are_refused_at_once(
    project: Project, of: str, first: str
) -> None:
    began = time.process_time()
    (found,) = _told(project, bomb(of, first))
    assert found == "compose.yml: has more than 50000 values, with those that aliases repeat"
    assert time.process_time() - began < 5


@pytest.mark.parametrize("file", ["/dev/zero", "large.yml"])
def test_a_file_without_an_end_is_not_read(project: Project, file: str) -> None:
    folder = project(compose=f"services: {{web: {{extends: {{file: {file}, service: a}}}}}}")
    (folder / "large.yml").write_bytes(b"#" * 3_000_000)
    first, *_ = mistakes(service="web")
    assert first.endswith("is no plain file" if file == "/dev/zero" else "is larger than 2 MB")


def test_a_folder_whose_name_cannot_be_an_apps(project: Project) -> None:
    project(compose="services: {web: {image: shop}}", ini=INI)
    (found,) = mistakes(folder=Path("My Shop"), ini=Path("uwsgi.ini"))
    assert found.startswith("target.yaml: name: ")


def test_a_secret_of_the_shell_in_the_text_of_a_config_is_refused(project: Project) -> None:
    web = "services: {web: {image: shop, command: 'uwsgi --http :8000', configs: [own]}}"
    project(compose=web + "\nconfigs:\n  own: {content: 'a = ${API_TOKEN}'}\n")
    (found,) = mistakes(environ={"API_TOKEN": "t0p"})
    assert found.startswith("compose.yml:")
    assert "configs.own.content: API_TOKEN is a secret of the shell" in found
    assert "t0p" not in found
