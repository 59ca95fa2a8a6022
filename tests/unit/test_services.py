"""What may stand beside an app: Compose's spelling is read; each mistake comes with its path."""

from typing import Any

import pytest
from pydantic import ValidationError

from tuner.nouns.model import (
    FromFile,
    FromWorker,
    Service,
    StartCondition,
    TargetApp,
    TargetRequest,
)
from tuner.nouns.model.base import megabytes, seconds
from tuner.nouns.model.named_files import expanded

APP = {"name": "shop", "description": "a shop", "build": "."}


def app(**more: Any) -> TargetApp:
    return TargetApp.model_validate(APP | more)


def test_a_service_as_compose_spells_it() -> None:
    found = Service.model_validate(
        {
            "image": "postgres:16",
            "command": "postgres -c 'max_connections=20'",
            "environment": ["POSTGRES_PASSWORD=a=b"],
            "mem_limit": "1g",
            "shm_size": "64mb",
            "healthcheck": {"test": "pg_isready", "timeout": "500ms"},
            "depends_on": ["redis"],
        }
    )
    assert found.command == ("postgres", "-c", "max_connections=20")
    assert found.env == {"POSTGRES_PASSWORD": "a=b"}
    assert (found.memory_mb, found.shm_mb) == (1024, 64)
    assert found.healthcheck is not None
    assert found.healthcheck.argv == ("/bin/sh", "-c", "pg_isready")
    assert found.healthcheck.timeout == 0.5
    assert found.depends_on == {"redis": StartCondition.STARTED}


def test_a_service_elsewhere_has_a_round_trip_unless_it_is_given_another() -> None:
    given: dict[str, dict[str, Any]] = {
        "far": {},
        "near": {"runs": "beside"},
        "local": {"rtt_ms": 0},
        "slow": {"runs": "beside", "rtt_ms": 2},
    }
    made = app(services={name: {"image": "a"} | more for name, more in given.items()})
    assert made.delayed_ms == {"far": 0.5, "slow": 2.0}
    with pytest.raises(ValidationError, match="rtt_ms"):
        app(services={"db": {"image": "a", "rtt_ms": -1}})


def test_limits_of_processes_in_both_forms() -> None:
    found = Service.model_validate(
        {"image": "a", "ulimits": {"nofile": 65536, "memlock": {"soft": 1024, "hard": -1}}}
    )
    limits = {name: (its.soft, its.hard) for name, its in found.ulimits.items()}
    assert limits == {"nofile": (65536, 65536), "memlock": (1024, -1)}


def test_a_service_gets_the_secrets_of_the_app_that_it_names_or_its_own() -> None:
    file, own = {"file": "secrets/db.txt"}, {"from_worker": "CACHE_PASSWORD"}
    made = app(
        secrets={"db_password": file},
        services={
            "db": {"image": "a", "secrets": ["db_password"]},
            "cache": {"image": "b", "secrets": {"password": own}},
            "queue": {"image": "c"},
        },
    )
    secret = FromFile(file="secrets/db.txt")
    assert made.secrets == made.services["db"].secrets == {"db_password": secret}
    assert made.services["cache"].secrets == {"password": FromWorker(**own)}
    assert made.services["queue"].secrets == {}
    assert made.secret_files == {"secrets/db.txt"}
    assert TargetApp.model_validate_json(made.model_dump_json()) == made


def test_services_start_after_what_they_wait_for() -> None:
    services = {
        "web-cache": {"image": "a", "depends_on": {"db": {"condition": "service_started"}}},
        "db": {"image": "b"},
        "queue": {"image": "c"},
    }
    assert app(services=services).start_order == (("db", "queue"), ("web-cache",))


def test_all_mistakes_come_at_once_with_their_paths() -> None:
    services = {
        "app": {"image": "a"},
        "db": {"image": "b", "depends_on": ["cache", "gone"]},
        "cache": {"image": "c", "depends_on": {"db": "service_healthy"}},
    }
    with pytest.raises(ValidationError) as caught:
        app(services=services, prepare=[{"in": "nowhere", "run": "true"}])
    (mistake,) = caught.value.errors()
    assert mistake["msg"].removeprefix("Value error, ").split("; ") == [
        "services.app: this is the name of the app's own container",
        "services.db.depends_on.gone: there is no such service",
        "services.cache.depends_on.db: db has no healthcheck",
        "prepare.0.in: there is no service nowhere",
        "services: db -> cache -> db: each waits for the next",
    ]


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ({"image": "a", "privileged": True}, "services.db.privileged"),
        ({"image": "a", "volumes": ["/etc:/etc:rw"]}, "services.db.volumes.0.short"),
        ({"image": "a", "volumes": ["./data:/data"]}, "services.db.volumes.0.short"),
        ({"build": "../up"}, "services.db.build"),
        ({"image": "a", "healthcheck": {"test": ["NONE"]}}, "services.db.healthcheck.test"),
        ({"image": "a", "mem_limit": "lots"}, "services.db.memory_mb"),
        ({"image": "a", "mem_limit": 512}, "services.db.memory_mb"),
        ({"image": "a", "ulimits": {"files": 1}}, "services.db.ulimits.files.[key]"),
        ({"image": "a", "ulimits": {"nofile": -2}}, "services.db.ulimits.nofile.soft"),
        (
            {"image": "a", "ulimits": {"nofile": {"soft": 2, "hard": 1}}},
            "services.db.ulimits.nofile",
        ),
        ({"image": "a", "secrets": ["none"]}, "services.db.secrets"),
        ({"image": "a", "secrets": [{"source": "none"}]}, "services.db.secrets"),
        ({"image": "a", "secrets": {"a/b": {"file": "a"}}}, "services.db.secrets.a/b.[key]"),
        ({}, "services.db"),
    ],
)
def test_what_a_service_cannot_have_is_refused(service: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as caught:
        app(services={"db": service})
    assert path in [".".join(map(str, each["loc"])) for each in caught.value.errors()]


def test_an_app_by_image_has_no_files_for_secrets() -> None:
    service = {"image": "b", "secrets": {"a": {"file": "a.txt"}}}
    with pytest.raises(ValidationError, match="an app by image has no folder on the"):
        TargetRequest.model_validate({"image": "a", "services": {"db": service}})


@pytest.mark.parametrize(
    ("text", "mb"),
    [("512m", 512), ("1.5gb", 1536), ("1 GiB", 1024), ("536870912", 512), ("1", 1), ("lots", None)],
)
def test_sizes(text: str, mb: int | None) -> None:
    assert megabytes(text) == mb


@pytest.mark.parametrize(
    ("text", "found"), [("1m30s", 90.0), ("500ms", 0.5), ("1h", 3600.0), ("30", None), ("", None)]
)
def test_durations(text: str, found: float | None) -> None:
    assert seconds(text) == found


def test_an_app_by_image_builds_no_service() -> None:
    with pytest.raises(ValidationError, match="no folder to build them from"):
        TargetRequest.model_validate({"image": "a", "services": {"db": {"build": "db"}}})


DATA = {"source": "./data", "target": "/var/lib/db", "copy": True}


def test_a_volume_may_start_with_a_copy_of_a_folder_that_containers_share() -> None:
    media = {"source": "media/", "target": "/srv/media", "copy": True}
    found = app(
        volumes=["own:/own", media],
        services={"db": {"image": "a", "volumes": [DATA, {**media, "source": "./media"}]}},
    )
    copies = dict(found.copies())
    assert [*copies] == ["volumes.1", "services.db.volumes.0", "services.db.volumes.1"]
    assert [volume.data for volume in copies.values()] == ["./media", "./data", "./media"]
    assert TargetApp.model_validate_json(found.model_dump_json()) == found
    assert found.model_dump()["services"]["db"]["volumes"][0] == DATA


@pytest.mark.parametrize(
    ("volume", "path"),
    [
        ({**DATA, "source": "../data"}, "long.source"),
        ({**DATA, "source": "/srv/data"}, "long.source"),
        ({**DATA, "target": "var/lib"}, "long.target"),
        ({**DATA, "copy": False}, "long.copy"),
        ({"source": "data", "target": "/data"}, "long.copy"),
        ({**DATA, "read_only": True}, "long.read_only"),
    ],
)
def test_a_folder_of_the_host_is_copied_or_refused(volume: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as caught:
        app(volumes=[volume])
    assert [".".join(map(str, each["loc"])) for each in caught.value.errors()] == [
        f"volumes.0.{path}"
    ]


def test_a_request_by_image_copies_no_folder_of_a_host() -> None:
    services = {"db": {"image": "b", "volumes": [DATA]}}
    with pytest.raises(ValidationError, match=r"volumes\.0, services\.db\.volumes\.0: an app by"):
        TargetRequest.model_validate({"image": "a", "volumes": [DATA], "services": services})
    by_image = {"name": "shop", "description": "a shop", "image": "a"}
    assert TargetApp.model_validate(by_image | {"volumes": [DATA]}).has_data


def test_files_that_a_service_names_are_read() -> None:
    texts = {"db.env": "A=1\nB=2\n", "init.sql": "select 1"}
    document = {
        "target": {
            "services": {
                "db": {
                    "env_file": "db.env",
                    "environment": ["B=3"],
                    "files": {"/init.sql": {"file": "init.sql"}},
                }
            }
        }
    }
    found = expanded(document, texts.__getitem__)["target"]["services"]["db"]
    assert found == {"env": {"A": "1", "B": "3"}, "files": {"/init.sql": "select 1"}}


def test_what_is_stored_reads_back() -> None:
    made = app(
        services={"db": {"image": "a", "volumes": ["data:/var/lib/db", "/tmp/x"]}},
        prepare=[{"in": "db", "run": ["sh", "-c", "true"]}],
    )
    assert TargetApp.model_validate_json(made.model_dump_json()) == made
