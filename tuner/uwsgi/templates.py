"""Placeholders that a template fills: `$NAME`, `${NAME}`, `{{ name }}`, `!NAME!`.

uWSGI takes them literally. What it fills itself, `$(NAME)` and `%(name)`, is none of them.
"""

import re
from collections.abc import Iterator, Mapping

_OF_SHELLS = r"\$\{(?P<braced>\w+)\}|\$(?P<bare>[A-Za-z_]\w*)"
_MARKED = r"\{\{-?[ \t]*(?P<curly>\w+)[^{}\n]*\}\}|!(?P<banged>[A-Z][A-Z0-9_]*)!"
_ANY = re.compile(f"{_OF_SHELLS}|{_MARKED}")
_STATEMENT = re.compile(
    r"\s*(?:\{%[-+]?|<%-?|%(?=\s*(?:if|elif|else|for|while|endif|endfor|endwhile)\b))"
    r"\s*(?P<word>\w*)(?P<rest>[^%\n]*)"
)
_OPENS = frozenset({"if", "for", "while", "unless", "case"})
_CLOSES = frozenset({"endif", "endfor", "endwhile", "end"})
_DO = re.compile(r"\bdo(?:\s*\|[^|]*\|)?\s*-?$")  # a block of Ruby


def has_placeholder(text: str) -> bool:
    """Whether a template may fill a part of the text."""
    return _ANY.search(text) is not None


def placeholders(text: str) -> Iterator[tuple[str, str]]:
    """Each placeholder as it is written, with its name."""
    return ((found.group(), _name(found)) for found in _ANY.finditer(text))


def statement(line: str) -> int | None:
    """How many blocks the statements of Jinja, ERB or Mako in a line leave open.

    None for a line that begins with none.
    """
    if _STATEMENT.match(line) is None:
        return None
    return sum(map(_opened, _STATEMENT.finditer(line)))


def _opened(found: re.Match[str]) -> int:
    opens = found["word"] in _OPENS or _DO.search(found["rest"]) is not None
    return opens - (found["word"] in _CLOSES)


def is_of_shell(placeholder: str) -> bool:
    """Whether it begins with a dollar sign, as variables of a shell and of uWSGI's routes do."""
    return placeholder.startswith("$")


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with these values; other placeholders stay as they are."""
    return _ANY.sub(lambda found: values.get(_name(found), found.group()), text)


def _name(found: re.Match[str]) -> str:
    return found[found.lastgroup or 0]
