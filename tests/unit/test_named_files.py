"""Files of URLs in place of lists of requests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tuner.nouns.model import Journey, TargetApp, TuneRequest
from tuner.nouns.model.named_files import expanded, parse

MIX = {"workload": {"kind": "closed_loop", "requests": {"file": "urls.txt"}}}
JOURNEY = {"workload": {"kind": "journey", "users": 3, "requests": {"file": "urls.txt"}}}


def holding(text: str) -> Callable[[str], str]:
    def read(name: str) -> str:
        assert name == "urls.txt"
        return text

    return read


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("/a?b=1&c=%20", {"path": "/a?b=1&c=%20"}),
        ("  /a  ", {"path": "/a"}),
        ("https://example.org/a/b?c", {"path": "/a/b?c"}),
        ("http://user@example.org:8080", {"path": "/"}),
        ("http://example.org?a=1", {"path": "/?a=1"}),
        ("http://[::1]:80/a", {"path": "/a"}),
        ("/go?to=http://example.org/", {"path": "/go?to=http://example.org/"}),
        ("/a#part", {"path": "/a"}),
        ("post /a", {"method": "POST", "path": "/a"}),
        ("DELETE\thttps://example.org/a", {"method": "DELETE", "path": "/a"}),
        ("//twice", {"path": "//twice"}),
    ],
)
def test_a_line_is_a_path_or_a_url_with_a_method_before_it(
    line: str, request_: dict[str, str]
) -> None:
    assert parse(line) == [request_]


def test_comments_empty_lines_and_a_byte_order_mark_say_nothing() -> None:
    assert parse("\ufeff# all of it\r\n\r\n/a\r\n  # none\n/b") == [{"path": "/a"}, {"path": "/b"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/a\nlogin", "line 2: a path starts with '/', as in '/login'"),
        ("/a /b", "line 1 is not a path"),
        ("GET /a HTTP/1.1", "line 1 is not a path"),
        ("# nothing", "no request"),
        ("", "no request"),
    ],
)
def test_a_line_that_is_no_request_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(text)


def test_a_line_of_a_mix_that_comes_again_weighs_more() -> None:
    found = expanded(MIX, holding("/a\n/b\nPOST /a\n/a\n"))

    assert found["workload"]["requests"] == [
        {"path": "/a", "weight": 2},
        {"path": "/b", "weight": 1},
        {"path": "/a", "method": "POST", "weight": 1},
    ]


def test_weights_beyond_the_largest_keep_their_ratio() -> None:
    found = expanded(MIX, holding("/a\n" * 4000 + "/b\n" * 1000 + "/c\n"))

    assert [request["weight"] for request in found["workload"]["requests"]] == [1000, 250, 1]


def test_the_lines_of_a_journey_are_steps_in_order() -> None:
    found = expanded(JOURNEY, holding("/a\n/b\n/a\n"))

    assert found["workload"]["requests"] == [{"path": "/a"}, {"path": "/b"}, {"path": "/a"}]


def test_an_expanded_target_is_a_valid_one() -> None:
    described = {"name": "a", "description": "b", "build": ".", **MIX}

    app = TargetApp.model_validate(expanded(described, holding("/a\n/a\nHEAD /b\n")))

    assert [(r.method, r.path, r.weight) for r in app.workload.requests] == [
        ("GET", "/a", 2),
        ("HEAD", "/b", 1),
    ]


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"workload": None},
        {"workload": {"requests": [{"path": "/"}]}},
        {"workload": {"requests": {"file": 3}}},
        {"workload": {"requests": {"file": "urls.txt", "path": "/"}}},
    ],
)
def test_whatever_names_no_file_is_left_to_validation(document: Any) -> None:
    assert expanded(document, holding("/a")) is document


def test_a_file_that_cannot_be_read_is_named() -> None:
    def missing(name: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", name)

    def binary(name: str) -> str:
        return b"\xff".decode()

    with pytest.raises(ValueError, match=r"urls\.txt: No such file"):
        expanded(MIX, missing)
    with pytest.raises(ValueError, match=r"urls\.txt: is not UTF-8"):
        expanded(MIX, binary)
    with pytest.raises(ValueError, match=r"urls\.txt: line 1"):
        expanded(MIX, holding("nonsense"))


def test_an_env_file_adds_to_env_and_env_counts_before_it() -> None:
    files = {"a": "export A=1\nB='two words' # a comment\n", "b": "B=2\nC=\n"}
    document = {"target": {"image": "x", "env_file": ["a", "b"], "env": {"A": "own"}}}
    found = expanded(document, files.__getitem__)
    assert found == {"target": {"image": "x", "env": {"A": "own", "B": "2", "C": ""}}}
    own = {"name": "shop", "env_file": "a"}
    assert expanded(own, files.__getitem__) == {"name": "shop", "env": {"A": "1", "B": "two words"}}


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(ValueError, match=r"\.env: SECRET_KEY: a variable needs a value"):
        expanded({"env_file": ".env"}, {".env": "A=1\nSECRET_KEY\n"}.__getitem__)


def test_a_file_stands_for_the_present_configuration() -> None:
    document = {"app": "shop", "baseline": {"ini": {"file": "uwsgi.ini"}}}
    assert expanded(document, {"uwsgi.ini": "[uwsgi]\n"}.__getitem__)["baseline"] == {
        "ini": "[uwsgi]\n"
    }


def test_files_to_compare_become_their_texts() -> None:
    inis = [{"name": "now", "ini": "[uwsgi]\n"}, {"name": "more", "ini": {"file": "more.ini"}}]
    found = expanded({"kind": "compare", "arms": inis}, {"more.ini": "[uwsgi]\n"}.__getitem__)
    assert [variant["ini"] for variant in found["arms"]] == ["[uwsgi]\n", "[uwsgi]\n"]
    assert [variant["name"] for variant in found["arms"]] == ["now", "more"]
    odd = {"arms": [None, {"name": "a"}, {"ini": {"file": 3}}]}
    assert expanded(odd, holding("")) == odd


def test_files_of_the_app_become_their_texts() -> None:
    files = {"/srv/local.py": {"file": "local.py"}, "/srv/b": "text"}
    texts = {"/srv/local.py": "DEBUG = 0\n", "/srv/b": "text"}
    reads = {"local.py": "DEBUG = 0\n"}.__getitem__
    assert expanded({"name": "shop", "files": files}, reads) == {"name": "shop", "files": texts}
    job = {"target": {"image": "shop", "files": files}}
    assert expanded(job, reads) == {"target": {"image": "shop", "files": texts}}


def test_a_table_of_users_becomes_names_and_rows() -> None:
    document = {"workload": {"kind": "journey", "user_data": {"file": "users.csv"}}}
    text = '\ufeffuser, password\r\nann,"a,b"\r\n\r\nbob,c\r\n'
    assert expanded(document, {"users.csv": text}.__getitem__)["workload"]["user_data"] == {
        "names": ["user", "password"],
        "rows": [["ann", "a,b"], ["bob", "c"]],
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1 to 10000 rows are needed, not 0"),
        ("user\n", "1 to 10000 rows are needed, not 0"),
        ("user\n" + "a\n" * 10_001, "not 10001"),
        ("user\n" + "a" * 200_000, "larger than 200 kB"),
        ('user\n"a" b\n', "line 2 is no CSV"),
    ],
)
def test_a_table_without_rows_or_too_large_is_refused_with_its_name(text: str, said: str) -> None:
    document = {"workload": {"kind": "journey", "user_data": {"file": "users.csv"}}}
    with pytest.raises(ValueError, match=rf"users\.csv: .*{said}"):
        expanded(document, {"users.csv": text}.__getitem__)


def test_the_login_of_the_documentation_is_a_job() -> None:
    page = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text(encoding="utf-8")
    example = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    read = {"users.csv": "user,password\nann,secret\n"}.__getitem__
    request = TuneRequest.model_validate(expanded({"app": "shop", **example}, read))
    assert isinstance(request.workload, Journey)
    assert [*request.workload.requests[0].take] == ["csrf"]


def test_files_and_env_files_of_services_become_their_texts() -> None:
    cache = {"image": "redis", "files": {"/etc/r.conf": {"file": "r.conf"}}, "env_file": "a"}
    texts = {"r.conf": "save ''\n", "a": "A=1\n"}
    found = {"cache": {"image": "redis", "files": {"/etc/r.conf": "save ''\n"}, "env": {"A": "1"}}}
    assert expanded({"services": {"cache": cache}}, texts.__getitem__) == {"services": found}
    job = {"target": {"image": "x", "services": {"cache": cache}}}
    assert expanded(job, texts.__getitem__) == {"target": {"image": "x", "services": found}}
