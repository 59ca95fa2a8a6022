"""Files and standard input, read and written. Every error names the file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tuner.nouns.errors import InvalidInput

STANDARD_INPUT = "-"


@contextmanager
def named(name: str) -> Iterator[None]:
    """Raise `InvalidInput` at `name` for a file that cannot be read or written."""
    try:
        yield
    except OSError as error:
        raise InvalidInput.at(name, error.strerror or os.strerror(error.errno or 0)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput.at(name, "is not UTF-8 text") from error


def bytes_of(file: str, at_most: int = -1) -> bytes:
    """The bytes of a file; of standard input for `-`. Raises `InvalidInput`."""
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(at_most)
    with named(file), Path(file).open("rb") as opened:
        return opened.read(at_most)


def text_of(file: str) -> str:
    """The UTF-8 text of a file, line ends as they are. Raises `InvalidInput`."""
    content = bytes_of(file)
    with named(file):
        return content.decode()


def write_text(option: str, file: Path, text: str) -> None:
    """Write the file that `option` names. Raises `InvalidInput`."""
    with named(f"{option} {file}"):
        file.write_text(text, encoding="utf-8")


def app_folder(app: str) -> Path | None:
    """The folder of a target app; None if `app` is the name of one."""
    folder = Path(app).resolve()
    return folder if (folder / "target.yaml").is_file() else None


def check_folder(option: str, file: Path) -> None:
    """Refuse early, before minutes of measuring. Raises `InvalidInput`."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise InvalidInput.at(option, f"there is no folder {folder}")
