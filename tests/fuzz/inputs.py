"""Input number n, the same on every machine: valid files, mutated; pieces, strung together; noise.

A generator of its own for each number: one input can be made again without those before it.
"""

import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from tests.lint_pages import better, example
from tuner.uwsgi.lint import RULES
from tuner.uwsgi.options import known

_ROOT = Path(__file__).parents[2]
_MOST_BYTES = 250_000  # above what the linter looks at
_PIECES = (
    *(b"\n", b"\r\n", b"\r", b"\0", b"=", b" = ", b"[", b"]", b";", b"#", b"%", b"%%", b"%(", b")"),
    *(b"$(HOME)", b"@(file)", b"\\\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc2\xa0", b"\xe2\x80\x8b"),
    *(
        b"[uwsgi]\n",
        b"[uwsgi] ; c\n",
        b"[base]\n",
        b"ini = :base\n",
        b"ini = :uwsgi\n",
        b"ini = :\n",
    ),
    *(b"include = ../x.ini\n", b"inherit = a.ini\n", b"if-env = A\n", b"for = a b c\n", b"end =\n"),
    *(b"endif\n", b"endfor =\n", b"for-times = 1000000000\n", b"set = a=%(a)\n", b"a = x%(a)\n"),
    *(b"set-ph = processes=1\n", b"processes = %(threads * 4)\n", b"threads = 2 ; two\n"),
    *(
        b"buffer-size = 99999999999999999999\n",
        b"harakiri = -1\n",
        b"listen = 32k\n",
        b"workers: 3\n",
    ),
    *(b"log-date = %Y\n", b"; 50%\n", b"thunder_lock = 'true'\n", b"vaccum\n", b'module = "a"\n'),
    *(b"<uwsgi>", b'{"uwsgi": {}}', b"uwsgi:\n  a: b\n", b"%(" * 50, b"a" * 5000, b" " * 5000),
)

Mutation = Callable[[random.Random, bytes], bytes]


@cache
def seeds() -> tuple[bytes, ...]:
    """Files that the tests hold, files that we ship, and the examples of all rules."""
    files = sorted((*_ROOT.glob("tests/inis/*.ini"), *_ROOT.glob("target_apps/*/uwsgi.ini")))
    examples = (text for rule in RULES for text in (example(rule), better(rule)))
    return (
        *(file.read_bytes() for file in files),
        *(text.encode("utf-8", "surrogateescape") for text in examples),
    )


def numbered(number: int) -> bytes:
    """The bytes of one input."""
    dice = random.Random(number)  # noqa: S311  inputs are to be the same again, not secret
    kind = dice.random()
    if kind < 0.05:
        content = dice.randbytes(dice.randrange(2000))
    elif kind < 0.25:
        content = _settings(dice)
    else:
        content = dice.choice(seeds())
    return mutated(dice, content)


def mutated(dice: random.Random, content: bytes) -> bytes:
    """The content after none to five changes."""
    for _ in range(dice.randrange(6)):
        content = dice.choice(_MUTATIONS)(dice, content)
    return content[:_MOST_BYTES]


def _settings(dice: random.Random) -> bytes:
    """Options with values of all kinds, most of them wrong."""
    options = _spellings()
    values = (b"true", b"0", b"-5", b"", b"a b", b"%(x)", b"/a=/b", b":80", b"8 # c", b"'q'", b"1g")
    lines = (
        dice.choice(options).encode()
        + dice.choice((b" = ", b"=", b": ", b" "))
        + dice.choice(values)
        for _ in range(dice.randrange(60))
    )
    return b"[uwsgi]\n" + b"\n".join(lines)


@cache
def _spellings() -> Sequence[str]:
    return sorted(known().spellings)


def _cut(dice: random.Random, content: bytes) -> bytes:
    start, stop = sorted((dice.randrange(len(content) + 1), dice.randrange(len(content) + 1)))
    return content[:start] + content[stop:]


def _flip(dice: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(dice.randrange(8) if changed else 0):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


def _put_in(dice: random.Random, content: bytes) -> bytes:
    at = dice.randrange(len(content) + 1)
    return content[:at] + dice.choice(_PIECES) + content[at:]


def _shuffle(dice: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    dice.shuffle(lines)
    return b"".join(lines)


def _repeat(dice: random.Random, content: bytes) -> bytes:
    times = dice.choice((2, 3, 5)) if dice.random() < 0.98 else 200
    return (content or b"\n")[: _MOST_BYTES // times] * times


def _repeat_line(dice: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True) or [b"\n"]
    at = dice.randrange(len(lines))
    lines[at] = lines[at] * (dice.choice((2, 5, 20)) if dice.random() < 0.98 else 3000)
    return b"".join(lines)


def _splice(dice: random.Random, content: bytes) -> bytes:
    other = dice.choice(seeds())
    return content[: dice.randrange(len(content) + 1)] + other[dice.randrange(len(other) + 1) :]


_MUTATIONS: tuple[Mutation, ...] = (
    *(_cut, _flip, _put_in, _put_in, _put_in),
    *(_shuffle, _repeat, _repeat_line, _splice),
)
