"""`tuner workload from-logs`: the command as a user calls it."""

import gzip
import json
from pathlib import Path
from random import Random

import pytest
import yaml
from pydantic import TypeAdapter

from tests.access_logs import Line, mix, requests, timed, uwsgi
from tests.unit.cli.conftest import run
from tuner.nouns.model import ClosedLoop, OpenLoop, Workload


def log(folder: Path, lines: int = 2000) -> Path:
    file = folder / "access.log"
    sent = requests(mix(3), 40.0, lines, seed=1)
    file.write_text("".join(f"{uwsgi(line)}\n" for line in sent), encoding="utf-8")
    return file


def workload_in(text: str) -> ClosedLoop | OpenLoop:
    found: Workload = TypeAdapter(Workload).validate_python(yaml.safe_load(text)["workload"])
    assert isinstance(found, ClosedLoop | OpenLoop)
    return found


def test_it_writes_a_workload_that_a_job_takes(tmp_path: Path) -> None:
    out = tmp_path / "workload.yaml"
    assert run("workload", "from-logs", str(log(tmp_path)), "--out", str(out)) == 0
    text = out.read_text(encoding="utf-8")
    found = workload_in(text)
    shares = {route.template: route.share for route in mix(3)}
    sent = sum(one.weight for one in found.requests if one.path.startswith("/products/"))
    other = sum(one.weight for one in found.requests if one.path.startswith("/search?q=x"))
    assert sent / other == pytest.approx(shares["/products/{int}"] / shares["/search"], rel=0.3)
    for route in mix(3):
        assert f"# {route.method} {route.template}: " in text
    assert "/api/cart, method: POST" in text.replace('"', "")
    assert "of 2 000 requests" in text


def test_a_rate_makes_an_open_loop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("workload", "from-logs", str(log(tmp_path)), "--rate", "median") == 0
    found = workload_in(capsys.readouterr().out)
    assert isinstance(found, OpenLoop)
    assert found.rate_rps == pytest.approx(40, rel=0.15)


def test_many_files_one_of_them_packed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plain = log(tmp_path, 100)
    packed = tmp_path / "access.log.1"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert run("workload", "from-logs", str(plain), str(packed), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["requests"], found["unread"]) == (200, 0)


def test_formats_of_the_users_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, ini, conf = (tmp_path / name for name in ("a.log", "uwsgi.ini", "nginx.conf"))
    file.write_text("GET /a 200 1000\nGET /b HTTP/1.1|200|0.500|0.400\n", encoding="utf-8")
    ini.write_text("[uwsgi]\nlog-format = %(method) %(uri) %(status) %(micros)\n", encoding="utf-8")
    conf.write_text(
        "http { log_format app escape=json '$request|$status|'\n"
        "  '$request_time|$upstream_response_time'; }\n",
        encoding="utf-8",
    )
    options = ["--ini", str(ini), "--nginx", str(conf), "--json"]
    assert run("workload", "from-logs", str(file), *options, "--source", "proxy") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["formats"] == {"log-format": 1, "log_format": 1}
    assert found["templates"][0]["mean_ms"] == pytest.approx(400)


def test_the_unit_of_apaches_last_number_is_in_its_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, conf = tmp_path / "a.log", tmp_path / "httpd.conf"
    file.write_text('"GET /a HTTP/1.1" 200 400000\n' * 20, encoding="utf-8")
    conf.write_text(r'LogFormat "\"%r\" %>s %D" app', encoding="utf-8")
    assert run("workload", "from-logs", str(file), "--apache", str(conf), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["templates"][0]["mean_ms"] == pytest.approx(400)
    conf.write_text("Listen 80\n", encoding="utf-8")
    assert run("workload", "from-logs", str(file), "--apache", str(conf)) == 2
    assert "--apache: has no LogFormat" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("nothing\n" * 3, "no line of 3 is a request"),
        (
            uwsgi(Line(0, 1.8e9, 0.1, "GET", "/a")).replace("HTTP/1.1 200", "HTTP/1.1 500"),
            "a log of errors only",
        ),
        (uwsgi(Line(0, 1.8e9, 0.1, "POST", "/a")), "no template can be sent as it is"),
    ],
)
def test_a_log_without_load_is_refused_with_the_reason(
    content: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "a.log"
    file.write_text(content, encoding="utf-8")
    assert run("workload", "from-logs", str(file)) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("workload", "from-logs", "/nowhere/a.log") == 2
    assert "/nowhere/a.log" in capsys.readouterr().err


def test_no_secret_of_a_log_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    random = Random(5)  # noqa: S311
    file, out = tmp_path / "a.log", tmp_path / "w.yaml"
    secrets = [
        "".join(random.choices("abcdefghkmnpqrstuvwxyzABCDEF23456789", k=20)) for _ in "x" * 9
    ]
    places = (
        "/reset/{}/", "/orders/?token={}", "/a?session={}", "/unsubscribe/{}@mail.example",
        "/cb?code={}&state={}", "/files/{}", "/s3?X-Amz-Signature={}", "/p?q={}", "/{}",
    )  # fmt: skip
    paths = [place.replace("{}", secret) for place in places for secret in secrets]
    lines = [timed(Line(n, 1.8e9 + n, 0.1, "GET", path)) for n, path in enumerate(["/", *paths])]
    lines += [line.replace("Firefox", secret) for line, secret in zip(lines, secrets, strict=False)]
    lines += [f"password={secret}" for secret in secrets]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert run("workload", "from-logs", str(file), "--out", str(out), "--samples", "40") == 0
    said = capsys.readouterr()
    assert run("workload", "from-logs", str(file), "--json") == 0
    kept = out.read_text(encoding="utf-8") + said.err + said.out + capsys.readouterr().out
    assert [secret for secret in secrets if secret in kept] == []
    assert "192.0.2." not in kept
