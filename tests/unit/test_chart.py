"""The chart says what the rest of the repository says. tests/contract/test_chart.py runs it."""

import json
import re
import tomllib

import jsonschema
import pytest
import yaml

from tests.chart import CHART, CHECKOUT, SET_BY_TEMPLATES, TEMPLATES
from tuner.service.api.security import OPEN_PATHS
from tuner.service.settings import PREFIX, Settings

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
FREE = set(SCHEMA["properties"]["settings"]["propertyNames"]["enum"])
KNOWN = {f"{PREFIX}{field.upper()}" for field in Settings.model_fields}
LEFT_OUT = {
    "TUNER_API_KEY",  # a file holds it
    "TUNER_DATA_DIR",  # of the embedded PostgreSQL
    "TUNER_POOL",  # an argument
    "TUNER_PORT",  # the Service may have another
    "TUNER_URL",  # of the command line
}


def test_each_setting_is_a_value_or_set_by_the_chart_or_left_out() -> None:
    assert FREE | SET_BY_TEMPLATES | LEFT_OUT == KNOWN
    assert not FREE & (SET_BY_TEMPLATES | LEFT_OUT)


@pytest.mark.parametrize("name", ["Chart.yaml", "values.yaml", *TEMPLATES])
def test_a_name_of_a_setting_is_spelt_right(name: str) -> None:
    text = TEMPLATES.get(name) or (CHART / name).read_text()
    assert set(re.findall(r"TUNER_[A-Z_]+", text)) <= KNOWN


def test_a_secret_is_no_value() -> None:
    assert not FREE & {"TUNER_DATABASE_URL", "TUNER_API_KEY", "TUNER_API_KEY_FILE"}
    assert "kind: Secret" not in "".join(TEMPLATES.values())


def test_the_values_are_those_of_the_schema() -> None:
    jsonschema.validate(VALUES, SCHEMA)
    assert set(VALUES) == set(SCHEMA["properties"]) - {"global"}
    for name, schema in SCHEMA["properties"].items():
        if "properties" in schema:
            assert set(VALUES[name]) == set(schema["properties"]), name


def test_the_example_of_the_page_gives_all_that_one_has_to_give() -> None:
    page = (CHECKOUT / "docs" / "operating.md").read_text()
    (example,) = re.findall(r"```yaml\n(# tuner.yaml.*?)```", page, re.DOTALL)
    given = yaml.safe_load(example)
    jsonschema.validate(given, SCHEMA)
    required = re.findall(r'required "([\w.]+):', "".join(TEMPLATES.values()))
    for path in required:
        found = given
        for key in path.split("."):
            found = found[key]
        assert found


def test_the_chart_has_the_version_of_the_product() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)


def test_ports_and_health_paths_are_those_of_the_api() -> None:
    port = Settings.model_fields["port"].default
    api = TEMPLATES["api.yaml"]
    assert set(re.findall(r"(?:containerPort|port): (\d+)", api)) == {str(port)}
    assert set(re.findall(r"path: (/\w+),", api)) <= OPEN_PATHS
    address = re.search(r':(\d+)(/\w+)"?$', TEMPLATES["healthz.yaml"], re.MULTILINE)
    assert address is not None
    assert (address[1], address[2]) == (str(port), "/healthz")


def test_users_and_stop_times_are_those_of_the_image_and_of_compose() -> None:
    services = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())["services"]
    (grace,) = re.findall(r"terminationGracePeriodSeconds: (\d+)", TEMPLATES["worker.yaml"])
    assert services["worker"]["stop_grace_period"] == f"{grace}s"
    (uid,) = re.findall(r"useradd --uid (\d+)", (CHECKOUT / "Dockerfile").read_text())
    users = re.findall(r"(?:runAsUser|runAsGroup|fsGroup): (\d+)", TEMPLATES["_helpers.tpl"])
    assert users == [uid, uid, uid]
    assert f"--group={uid}" in TEMPLATES["worker.yaml"]
