"""One text of a manifest is replaced, and each other byte of the file stays."""

import difflib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tuner.nouns.errors import InvalidInput
from tuner.targets.kubernetes.editing import ConfigMapKey, config_map, with_text

INI = "[uwsgi]\nprocesses = 2 # two\n  # and this\n\nthreads = 4\n"
NEW = INI.replace("= 4", "= 8")
PLACE = ConfigMapKey("shop", "", "uwsgi.ini")
SHOP = """\
# Source: shop/templates/config.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}   # ours
data:
  other: "a: b"
  uwsgi.ini: |
    [uwsgi]
    processes = 2 # two
      # and this

    threads = 4

  # below
  last: 'x'
---
kind: ConfigMap
metadata: {name: other}
data: {uwsgi.ini: "[uwsgi]\\n"}
"""


def changed_lines(old: str, new: str) -> list[str]:
    lines = difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


def read(manifest: str, number: int = 0) -> dict[str, str]:
    documents = list(yaml.safe_load_all(manifest))
    return dict(documents[number]["data"])


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_only_the_lines_that_differ_change(start: str, ending: str) -> None:
    manifest = start + SHOP.replace("\n", ending)
    new = with_text(manifest, PLACE, NEW)
    assert changed_lines(manifest, new) == [
        f"-     threads = 4{ending}",
        f"+     threads = 8{ending}",
    ]
    assert read(new) == {"other": "a: b", "uwsgi.ini": NEW, "last": "x"}


@pytest.mark.parametrize("head", ["|", "|-", "|+", "|2", "|2-", "| # why", ">"])
@pytest.mark.parametrize("new", [NEW, NEW.rstrip(), f"{NEW}\n\n", "[uwsgi]\n"])
def test_each_kind_of_block_reads_as_the_new_text(head: str, new: str) -> None:
    manifest = SHOP.replace("uwsgi.ini: |", f"uwsgi.ini: {head}")
    found = with_text(manifest, PLACE, new)
    assert read(found) == {"other": "a: b", "uwsgi.ini": new, "last": "x"}
    assert "  # below\n  last: 'x'\n" in found
    if "#" in head:
        assert "# why" in found


@pytest.mark.parametrize("written", ['"[uwsgi]\\n"', "'[uwsgi]'", "plain", "|", '"a\\\n    b"'])
def test_a_text_that_is_no_block_gets_quotes(written: str) -> None:
    manifest = f"kind: ConfigMap\nmetadata: {{name: shop}}\ndata:\n  uwsgi.ini: {written}\n  z: 1\n"
    assert with_text(manifest, PLACE, NEW).endswith("\n  z: 1\n")
    assert read(with_text(manifest, PLACE, NEW))["uwsgi.ini"] == NEW


def test_json_stays_json() -> None:
    manifest = '{"kind": "ConfigMap", "metadata": {"name": "shop"}, "data": {"uwsgi.ini": "x"}}\n'
    new = with_text(manifest, PLACE, NEW)
    assert new.startswith('{"kind": "ConfigMap", ')
    assert read(new) == {"uwsgi.ini": NEW}


@pytest.mark.parametrize("text", ["[uwsgi]\r\na = 1\r\n", "  [uwsgi]\n", "\tx\n", "a\x07b\n", ""])
def test_a_text_that_no_block_can_hold_gets_quotes(text: str) -> None:
    assert read(with_text(SHOP, PLACE, text)) == {"other": "a: b", "uwsgi.ini": text, "last": "x"}


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60))
def test_any_text_reads_back_or_is_refused(text: str) -> None:
    try:
        new = with_text(SHOP, PLACE, text)
    except InvalidInput:
        return
    assert read(new) == {"other": "a: b", "uwsgi.ini": text, "last": "x"}
    assert read(new, 1) == {"uwsgi.ini": "[uwsgi]\n"}


def test_a_text_with_an_anchor_may_be_elsewhere_too() -> None:
    manifest = SHOP.replace("uwsgi.ini: |", "uwsgi.ini: &ini |").replace("'x'", "*ini")
    with pytest.raises(InvalidInput, match="change it by hand"):
        with_text(manifest, PLACE, NEW)


def test_the_last_object_of_a_name_and_of_a_list_counts() -> None:
    listed = "".join(f"    {line}" for line in SHOP.split("---")[0].splitlines(keepends=True))
    manifest = f"kind: List\nitems:\n  -\n{listed}---\n---\n{SHOP}"
    assert manifest[: manifest.index("---\n---")] in with_text(manifest, PLACE, NEW)
    alone = manifest[: manifest.index("---\n---")]
    text = config_map(with_text(alone, PLACE, NEW), PLACE)
    assert text.startswith("apiVersion: v1\nkind: ConfigMap\n")
    assert read(text) == {"other": "a: b", "uwsgi.ini": NEW, "last": "x"}


def test_a_namespace_tells_objects_of_one_name_apart() -> None:
    other = SHOP.split("---", maxsplit=1)[0].replace("{name: shop}", "{name: shop, namespace: b}")
    mine = SHOP.replace("{name: shop}", "{name: shop, namespace: a}")
    for first, namespace in ((mine, "a"), (SHOP, "")):
        place = ConfigMapKey("shop", namespace, "uwsgi.ini")
        assert with_text(f"{first}---\n{other}", place, NEW).endswith(other)


def test_the_document_is_as_it_is_written() -> None:
    text = config_map(f"\ufeff{SHOP}", PLACE)
    assert text == SHOP[SHOP.index("apiVersion") : SHOP.index("---")]


def test_what_the_server_wrote_is_never_copied() -> None:
    metadata = """\
metadata:
  name: shop
  uid: 22222222-2222
  resourceVersion: "7"
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data": {"PASSWORD": "old-secret"}}'
    ours: "1"
"""
    manifest = SHOP.replace("metadata: {name: shop}   # ours\n", metadata)
    text = config_map(manifest, PLACE)
    document = yaml.safe_load(text)
    assert document["metadata"] == {"name": "shop", "annotations": {"ours": "1"}}
    assert document["data"] == {"other": "a: b", "uwsgi.ini": INI, "last": "x"}


def test_a_config_map_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"ConfigMap web, key uwsgi\.ini"):
        with_text(SHOP, ConfigMapKey("web", "", "uwsgi.ini"), NEW)
