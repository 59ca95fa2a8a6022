"""Readers of texts from elsewhere, each with its seeds and the errors that it declares.

An input is a seed, mutated as those of the linter. A reader takes it, or raises a declared error.
"""

import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.access_logs import FORMATS, mix, requests
from tests.answers import COMPARE_REQUEST
from tests.fuzz.inputs import mutated
from tests.unit.api.fakes import catalogue
from tests.unit.load.findings import stats
from tuner.bench.load.probe import k6, oha
from tuner.cli.around import nginx_limit
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model.named_files import parse as requests_of
from tuner.service.api.reading import parse, read_request
from tuner.study import resolve
from tuner.targets import compose, kubernetes
from tuner.targets.compose import Wanted
from tuner.traffic.counting import Reading
from tuner.traffic.formats import known_formats
from tuner.traffic.own_formats import log_formats_of_apache, of_apache, of_nginx, of_uwsgi
from tuner.traffic.workload import traffic_of, yaml_of
from tuner.uwsgi.command_line import ini_of
from tuner.uwsgi.converting import of_environment, of_form
from tuner.uwsgi.forms import form_of
from tuner.uwsgi.options import known
from tuner.uwsgi.topology import activity_of

_ROOT = Path(__file__).parents[2]
CPU_S_OF_64_KB = 1.0
"""More than this for each 64 KB of an input is a finding; inputs below 64 KB have it too."""

TWISTED = 0.7  # the share of such inputs
ODD_VALUES: Sequence[Any] = (
    None,
    True,
    -1,
    0,
    1e308,
    10**30,
    "",
    "a: b",
    "~nobody-here/a",
    "${A:-${B}}",
    "$(A)",
    "\0",
    [],
    {},
    [[]],
)

_TASK: dict[str, Any] = {
    "head_s": 0.5,
    "length_s": 2.0,
    "connections": 4,
    "paths": ["/", "/a"],
    "limit_s": 1.0,
}


@dataclass(frozen=True, slots=True)
class Reader:
    """What is read, from which seeds, and which errors say that an input is wrong."""

    seeds: Callable[[], Sequence[str]]
    read: Callable[[str], object]
    errors: tuple[type[Exception], ...] = (ValueError,)
    is_tree: bool = False  # YAML or JSON, whose values are exchanged too


def check(name: str, number: int) -> float:
    """CPU seconds of input `number`. Raises what the reader does not declare."""
    dice = random.Random(f"{name} {number}")  # noqa: S311  the same again, not secret
    reader = READERS[name]
    seed = dice.choice(reader.seeds())
    if reader.is_tree and dice.random() < TWISTED:
        content = _twisted(dice, seed)
    else:
        content = mutated(dice, seed.encode()).decode(errors="replace")
    began_s = time.process_time()
    try:
        reader.read(content)
    except reader.errors:
        pass
    except Exception as error:
        error.add_note(f"this was input {number} of {name}")
        raise
    took_s = time.process_time() - began_s
    assert took_s <= CPU_S_OF_64_KB * max(1.0, len(content) / 65_536), (name, number, took_s)
    return took_s


def _twisted(dice: random.Random, seed: str) -> str:
    """A tree with one to three of its values exchanged for some of another type or place."""
    tree = yaml.safe_load(seed)
    for _ in range(dice.randrange(1, 4)):
        places = list(_places(tree))
        holder, key = dice.choice(places)
        other, at = dice.choice(places)
        value = other[at]
        holder[key] = deepcopy(dice.choice((*ODD_VALUES, value, [value], {"a": value})))
    return json.dumps(tree)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _of_form(suffix: str) -> Callable[[str], object]:
    form = form_of(suffix)
    assert form is not None
    return lambda text: of_form(text, form)


def _of_manifests(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("all.yaml").write_text(text)
        return kubernetes.draft(Wanted(folder=Path()), kubernetes.Asked(files=(Path("all.yaml"),)))


def _of_log(text: str) -> object:
    reading = Reading(known_formats(unit_s=1e-6))
    reading.feed([text.splitlines()])
    return yaml_of(traffic_of(reading), ["access.log"])


def _of_apache(text: str) -> object:
    return [of_apache(found) for found in log_formats_of_apache(text)]


def _of_k6(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / k6.ROWS).write_text(text)
        return k6.summarise(folder, "", _TASK)


def _of_oha(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        rows = sqlite3.connect(Path(folder) / oha.DATABASE)
        columns = "url, start, start_latency_correction, end, duration, status, len_bytes"
        rows.execute(f"CREATE TABLE oha ({columns})")
        rows.executemany("INSERT INTO oha VALUES ('/', ?, 0, 1.2, 0, 200, 9)", [(1.0,)] * 3)
        rows.commit()
        rows.close()
        return oha.summarise(folder, text, _TASK)


def _of_job(text: str) -> object:
    return read_request(parse(text.encode()), lambda asked: resolve(asked, catalogue()))


@cache
def _manifests() -> Sequence[str]:
    """The manifests of the documentation, as a list."""
    page = (_ROOT / "docs/kubernetes.md").read_text()
    all_of_them = list(yaml.safe_load_all(page.split("```yaml\n")[1].split("```")[0]))
    return [json.dumps({"kind": "List", "apiVersion": "v1", "items": all_of_them})]


@cache
def _lines() -> Sequence[str]:
    """A short log of each format."""
    sent = list(requests(mix(3), 40.0, 60, seed=3))
    return ["\n".join(map(line_of, sent)) for line_of in FORMATS.values()]


def _project(file: str) -> Reader:
    """A file of a project, read with the others."""

    def read(text: str) -> object:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            for name, content in {**_PROJECT, file: text}.items():
                Path(name).write_text(content)
            return compose.draft(Wanted(folder=Path()))

    is_tree = file.endswith(".yml")
    return Reader(lambda: [_PROJECT[file]], read, (InvalidInput,), is_tree)


_PROJECT = {
    "uwsgi.ini": "[uwsgi]\nmodule = app\nhttp = :8000\nprocesses = $(WORKERS)\n",
    ".env": "# note\nTAG=1.2\nexport DB_PASSWORD='s cret'\n",
    "Dockerfile": (
        "FROM python:3.12 AS base\nARG A=/srv\nENV HOME=$A \\\n  WORKERS=4\nWORKDIR $A\n"
        'COPY --chown=app . /srv\nEXPOSE 8000\nUSER app\nENTRYPOINT ["/srv/start.sh"]\nCMD uwsgi\n'
    ),
    "start.sh": (
        '#!/bin/sh -e\nset -a; cd "$(dirname "$0")"\n: ${PORT:=8000}\n'
        'if [ "$1" = uwsgi ]; then\n  python manage.py migrate --noinput || exit 1\n'
        '  exec uwsgi --ini uwsgi.ini --http ":$PORT" \\\n    -p "${WORKERS:-2}"\nfi\nexec "$@"\n'
    ),
    "compose.yml": (
        "x-env: &env\n  DB_PASSWORD: ${DB_PASSWORD:?}\nservices:\n  web:\n    build: .\n"
        "    image: shop:${TAG:-1}\n    environment:\n      <<: *env\n      URL: http://web:8000\n"
        '    ports: ["80:8000"]\n    volumes:\n      - ./uwsgi.ini:/srv/uwsgi.ini:ro\n'
        "    depends_on: {db: {condition: service_healthy}}\n  db:\n    image: postgres:16\n"
        "    environment: *env\n    tmpfs: /run\n    mem_limit: 256M\n"
    ),
}
_FILES = {
    "compose": "compose.yml",
    "env file": ".env",
    "Dockerfile": "Dockerfile",
    "start script": "start.sh",
}
_K6 = "began,1000\n" + "0,1,20,30,1,9,200,0,\n1,0,700,900,1,9,500,1050,reset\n" * 9 + "ended"
_OHA = '{"statusCodeDistribution": {"200": 3}, "errorDistribution": {"timeout": 1}}'
_YAML = "uwsgi:\n  http: :8080\n  processes: 4\n  master: true\n  env: [A=b]\n"
_XML = "<uwsgi><http>:8080</http><master/><env>A=b</env><!-- note --></uwsgi>"
_JSON = '{"uwsgi": {"http": ":8080", "processes": 4, "master": true, "env": ["A=b"]}}'
_COMMAND = "uwsgi --http :8080 -p 4 --threads=2 -M --env 'A=b c'"
_ENV = "# note\nUWSGI_PROCESSES=4\nexport UWSGI_HTTP=:8080\nDEBUG='no'\n"
_REQUESTS = "/\nPOST /a?b=c\nhttps://shop.example/items/1#top\n# note\n"
_UWSGI_FORMAT = "%(addr) [%(ltime)] %(method) %(uri) %(status) %(msecs) %(uagent)"
_NGINX_FORMAT = '$remote_addr [$time_local] "$request" $status $upstream_response_time'
_APACHE_CONF = r"""LogFormat "%h %t \"%r\" %>s %b \"%{User-Agent}i\" %{ms}T" timed"""
_NGINX = "http { server { location / { uwsgi_pass app:1; uwsgi_read_timeout 1m30s; } } }"

READERS = {
    "YAML": Reader(lambda: [_YAML], _of_form("a.yaml"), is_tree=True),
    "XML": Reader(lambda: [_XML], _of_form("a.xml")),
    "JSON": Reader(lambda: [_JSON], _of_form("a.json"), is_tree=True),
    "command": Reader(lambda: [_COMMAND], lambda text: ini_of(text, known()), (InvalidInput,)),
    "environment": Reader(lambda: [_ENV], of_environment),
    **{name: _project(file) for name, file in _FILES.items()},
    "manifests": Reader(_manifests, _of_manifests, (InvalidInput,), is_tree=True),
    "job": Reader(lambda: [json.dumps(COMPARE_REQUEST)], _of_job, (InvalidInput,), is_tree=True),
    "requests": Reader(lambda: [_REQUESTS], requests_of),
    "access log": Reader(_lines, _of_log, (InvalidInput, ValueError)),
    "log-format": Reader(lambda: [_UWSGI_FORMAT], of_uwsgi),
    "log_format": Reader(lambda: [_NGINX_FORMAT], of_nginx),
    "LogFormat": Reader(lambda: [_APACHE_CONF], _of_apache),
    "nginx": Reader(lambda: [_NGINX], lambda text: nginx_limit(text, "nginx.conf")),
    "rows of k6": Reader(lambda: [_K6], _of_k6),
    "output of oha": Reader(lambda: [_OHA], _of_oha, is_tree=True),
    "stats": Reader(lambda: [stats(7)], activity_of, is_tree=True),
}
