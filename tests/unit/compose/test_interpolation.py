"""Variables in a text, with the rules of the Compose specification."""

import pytest

from tuner.targets.compose.interpolation import Source, Use, Variables

VARIABLES = Variables({"SHELL_ONLY": "s", "BOTH": "shell", "EMPTY": ""}, {"BOTH": "no", "ENV": "e"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", "plain"),
        ("$ENV/${SHELL_ONLY}", "e/s"),
        ("${BOTH}", "shell"),
        ("${NONE:-x}", "x"),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY-x}", ""),
        ("${NONE-x}", "x"),
        ("${NONE:-}", ""),
        ("${ENV:+x}${EMPTY:+y}${EMPTY+z}${NONE+n}", "xz"),
        ("${NONE:-${ENV:-deeper}-${BOTH}}", "e-shell"),
        ("${NONE:-a b}c", "a bc"),
        ("$$HOME and $${HOME}", "$HOME and ${HOME}"),
        ("$(date) 5$ $1", "$(date) 5$ $1"),
        ("${ENV:?needed}", "e"),
        ("${NONE}", ""),
    ],
)
def test_a_text_gets_its_values(text: str, found: str) -> None:
    assert VARIABLES.interpolated(text).text == found


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("$SHELL_ONLY", Use("SHELL_ONLY", Source.SHELL, "s")),
        ("${ENV}", Use("ENV", Source.DOTENV, "e")),
        ("${NONE}", Use("NONE", Source.MISSING)),
        ("${NONE:?set it}", Use("NONE", Source.REQUIRED, "set it")),
        ("${EMPTY:?set it}", Use("EMPTY", Source.REQUIRED, "set it")),
        ("${NONE:-$SHELL_ONLY}", Use("SHELL_ONLY", Source.SHELL, "s")),
    ],
)
def test_a_text_tells_what_it_used(text: str, used: Use) -> None:
    assert VARIABLES.interpolated(text).used == (used,)


@pytest.mark.parametrize("text", ["${NONE:-x}", "${NONE-x}", "${SHELL_ONLY:+x}", "${EMPTY?x}"])
def test_what_is_not_in_the_text_was_not_used(text: str) -> None:
    assert [use.name for use in VARIABLES.interpolated(text).used] in ([], ["EMPTY"])


def test_an_env_file_has_values_of_earlier_lines_and_of_the_shell() -> None:
    text = "A=1\nB=${A}2 # no\nexport C='$A'\nD=\"$SHELL_ONLY\"\nE\nF=${ENV}\n"
    found = VARIABLES.env_file(text)
    assert {name: value and value.text for name, value in found.items()} == {
        "A": "1",
        "B": "12",
        "C": "$A",
        "D": "s",
        "E": None,
        "F": "e",
    }
