"""YAML as we write it: long texts are blocks, and no text reads as a number or as a switch."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]+(?::[A-Za-z0-9_./-]+)*")
"""What no reader takes for a number or for a time, as 1e3 and 12:30."""

_STRING = "tag:yaml.org,2002:str"


class Dumper(yaml.SafeDumper):
    """Lists are indented under their keys, and nothing is an alias."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        del indentless
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


class _Dumper(Dumper):
    """Texts of several lines are blocks, and those that read as another type have quotes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    tag = dumper.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    style = "|" if "\n" in text else None if _PLAIN.fullmatch(text) and tag == _STRING else '"'
    return dumper.represent_scalar(_STRING, text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(document: Mapping[str, Any]) -> str:
    """The document as one of YAML 1.1 and 1.2, as Go and Python read them."""
    return yaml.dump(
        dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000
    )
