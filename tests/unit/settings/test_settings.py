import os
from datetime import timedelta
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from tuner.nouns.errors import InvalidInput
from tuner.service.settings import Settings


def _mistakes(environ: dict[str, str]) -> dict[str, str]:
    with pytest.raises(InvalidInput) as error:
        Settings.from_environ(environ)
    return {mistake.path: mistake.message for mistake in error.value.mistakes}


def test_an_empty_environment_has_a_default_for_everything() -> None:
    settings = Settings.from_environ({})
    assert (settings.host, settings.port, settings.pool) == ("127.0.0.1", 8321, "default")
    assert settings.url == "http://127.0.0.1:8321"
    assert settings.database_url is None
    assert settings.worker_name


def test_an_empty_value_counts_as_not_set() -> None:
    assert Settings.from_environ({"TUNER_PORT": "", "TUNER_API_KEY": " "}).api_key is None


def test_a_misspelt_name_is_an_error_with_the_nearest_real_one() -> None:
    found = _mistakes({"TUNER_DATABSE_URL": "x"})
    assert found["TUNER_DATABSE_URL"].endswith("the nearest is TUNER_DATABASE_URL")


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    found = _mistakes(
        {
            "TUNER_PROT": "1",
            "TUNER_PORT": "http",
            "TUNER_READY_TIMEOUT_S": "-1",
            "TUNER_TARGET_APPS": str(tmp_path / "nowhere"),
            "TUNER_POOL": "Not a name",
            "TUNER_LOG_LEVEL": "loud",
            "TUNER_URL": "localhost:8321",
        }
    )
    assert len(found) == 7


def test_a_mistake_says_what_is_wrong_and_what_to_give() -> None:
    found = _mistakes({"TUNER_PORT": "70000", "TUNER_LOG_LEVEL": "loud"})
    assert found["TUNER_PORT"] == (
        "Input should be less than or equal to 65535; "
        "give the port that the API listens on, 1 to 65535"
    )
    assert found["TUNER_LOG_LEVEL"].endswith("give DEBUG, INFO, WARNING, ERROR or CRITICAL")


def test_ages_are_days() -> None:
    kept = Settings.from_environ({"TUNER_WINDOWS_KEPT": "90d", "TUNER_JOBS_KEPT": "730"})
    assert (kept.windows_kept, kept.jobs_kept) == (timedelta(days=90), timedelta(days=730))
    for wrong in ("0d", "-1", "1.5d", "90 days", "123456d"):
        assert "no number of days" in _mistakes({"TUNER_JOBS_KEPT": wrong})["TUNER_JOBS_KEPT"]


def test_the_key_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("secret\n")
    environ = {"TUNER_API_KEY_FILE": str(file), "TUNER_HOST": "10.0.0.1"}
    settings = Settings.from_environ(environ)
    assert settings.api_key == "secret"
    settings.check_may_serve()
    assert "not both" in _mistakes({**environ, "TUNER_API_KEY": "x"})["TUNER_API_KEY_FILE"]
    for content in ("", "two\nlines", "\n"):
        file.write_text(content)
        assert "one line" in _mistakes(environ)["TUNER_API_KEY_FILE"]
    file.write_bytes(b"\xff")
    assert "no ASCII" in _mistakes(environ)["TUNER_API_KEY_FILE"]
    file.unlink()
    assert "No such file" in _mistakes(environ)["TUNER_API_KEY_FILE"]


def test_a_certificate_and_its_key_belong_together(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    both = {"TUNER_TLS_CERT": str(cert), "TUNER_TLS_KEY": str(key)}

    def refused(environ: dict[str, str]) -> dict[str, str]:
        with pytest.raises(InvalidInput) as error:
            Settings.from_environ(environ).check_may_serve()
        return {mistake.path: mistake.message for mistake in error.value.mistakes}

    ours, theirs = trustme.CA().issue_cert("tuner.example"), trustme.CA().issue_cert("a.example")
    ours.private_key_pem.write_to_path(key)
    assert "cert.pem: No such file" in refused(both)["TUNER_TLS_CERT"]
    ours.cert_chain_pems[0].write_to_path(cert)
    Settings.from_environ(both).check_may_serve()
    assert "set it too" in refused({"TUNER_TLS_CERT": str(cert)})["TUNER_TLS_KEY"]
    assert "set it too" in refused({"TUNER_TLS_KEY": str(key)})["TUNER_TLS_CERT"]
    theirs.private_key_pem.write_to_path(key)
    assert "MISMATCH" in refused(both)["TUNER_TLS_CERT"]
    known = serialization.load_pem_private_key(ours.private_key_pem.bytes(), None)
    key.write_bytes(
        known.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"hunter2"),
        )
    )
    assert "without a passphrase" in refused(both)["TUNER_TLS_CERT"]
    cert.write_text("no certificate")
    assert "give a certificate" in refused(both)["TUNER_TLS_CERT"]


def test_with_a_certificate_the_address_is_https() -> None:
    settings = Settings.from_environ({"TUNER_TLS_CERT": "/c", "TUNER_HOST": "::1"})
    assert settings.url == "https://127.0.0.1:8321"
    assert settings.served_at == "https://[::1]:8321"


def test_proxies_are_addresses_or_networks() -> None:
    assert Settings.from_environ({}).proxies == ("127.0.0.1",)
    given = Settings.from_environ({"TUNER_PROXIES": "10.0.0.5, fd00::/8"})
    assert given.proxies == ("10.0.0.5", "fd00::/8")
    for wrong in ("*", "proxy.example", "10.0.0.1/8"):
        assert (
            "give the addresses of proxies" in _mistakes({"TUNER_PROXIES": wrong})["TUNER_PROXIES"]
        )


def test_every_setting_says_which_values_are_right_and_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
    for name, declared in Settings.model_fields.items():
        assert declared.description, name
        assert f"`TUNER_{name.upper()}`" in page


def test_a_wrong_database_url_is_not_repeated_for_it_may_hold_a_password() -> None:
    found = _mistakes({"TUNER_DATABASE_URL": "mysql://root:hunter2@db/x"})
    assert "hunter2" not in found["TUNER_DATABASE_URL"]


def test_secrets_are_not_shown() -> None:
    environ = {"TUNER_API_KEY": "hunter2", "TUNER_DATABASE_URL": "postgresql://u:hunter3@db/x"}
    assert "hunter" not in repr(Settings.from_environ(environ))


@pytest.mark.parametrize("name", ["TUNER_OHA_IMAGE", "TUNER_K6_IMAGE", "TUNER_PYTHON_IMAGE"])
def test_names_of_provisioning_are_tolerated(name: str) -> None:
    Settings.from_environ({name: "registry/image:1"})


def test_folders_are_a_list(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    environ = {"TUNER_TARGET_APPS": os.pathsep.join(map(str, folders)) + os.pathsep}
    assert Settings.from_environ(environ).target_apps == tuple(folders)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "8e3", "\u0661", "9" * 5000])
def test_what_is_no_port_is_refused(port: str) -> None:
    assert "TUNER_PORT" in _mistakes({"TUNER_PORT": port})


def test_the_cli_talks_to_the_port_that_is_served_unless_told_otherwise() -> None:
    assert Settings.from_environ({"TUNER_PORT": "9000"}).url == "http://127.0.0.1:9000"
    environ = {"TUNER_PORT": "9000", "TUNER_URL": "https://tuner.example/"}
    assert Settings.from_environ(environ).url == "https://tuner.example"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "tuner.example"])  # noqa: S104
def test_serving_the_network_without_a_key_is_refused(host: str) -> None:
    with pytest.raises(InvalidInput):
        Settings.from_environ({"TUNER_HOST": host}).check_may_serve()
    Settings.from_environ({"TUNER_HOST": host, "TUNER_API_KEY": "k"}).check_may_serve()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_serving_this_machine_needs_no_key(host: str) -> None:
    Settings.from_environ({"TUNER_HOST": host}).check_may_serve()


def test_images_allowed_are_globs_of_registry_and_repository() -> None:
    settings = Settings.from_environ({"TUNER_IMAGES_ALLOWED": "registry:5000/shop/*, docker.io/*"})
    assert settings.images_allowed == ("registry:5000/shop/*", "docker.io/*")
    assert set(_mistakes({"TUNER_IMAGES_ALLOWED": "cart:1.4"})) == {"TUNER_IMAGES_ALLOWED"}


def test_a_service_for_other_machines_is_open_to_every_image_until_some_are_allowed() -> None:
    network = {"TUNER_HOST": "0.0.0.0", "TUNER_API_KEY": "k"}  # noqa: S104
    assert not Settings.from_environ({}).is_open_to_every_image
    assert Settings.from_environ(network).is_open_to_every_image
    allowed = {**network, "TUNER_IMAGES_ALLOWED": "docker.io/shop/*"}
    assert not Settings.from_environ(allowed).is_open_to_every_image


def test_an_image_of_the_settings_is_a_reference() -> None:
    assert set(_mistakes({"TUNER_BASE_IMAGE": "../images"})) == {"TUNER_BASE_IMAGE"}


def test_the_data_is_kept_where_the_user_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Settings.from_environ({}).data_dir == Path("/var/lib/uwsgi-tuner")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/u")
    assert Settings.from_environ({}).data_dir == Path("/home/u/.local/share/uwsgi-tuner")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert Settings.from_environ({}).data_dir == Path("/data/uwsgi-tuner")


def test_a_base_path_begins_with_a_slash_and_ends_without_one() -> None:
    assert Settings.from_environ({}).base_path == ""
    assert Settings.from_environ({"TUNER_BASE_PATH": "/tools/tuner/"}).base_path == "/tools/tuner"
    for wrong in ("tuner", "//tuner", "/a b", "https://tuner.example"):
        with pytest.raises(InvalidInput, match="the path below which a proxy serves"):
            Settings.from_environ({"TUNER_BASE_PATH": wrong})
