"""How a side's files get into its container, and how its command names them."""

import io
import re
import tarfile
from collections.abc import Mapping, Sequence

FOLDER = "/tuner"
INI = f"{FOLDER}/uwsgi.ini"
HARNESS = f"{FOLDER}/harness.ini"
_PLACEHOLDER = "{ini}"

SERVE = ("--ini", HARNESS)
"""The harness's own file comes after the user's: in uWSGI the last value of a key wins."""
CHECK = ("--no-server", "--need-app")


def harness_ini(stats_address: str) -> str:
    """What every side gets on top of its own file: stats in their plain form, and need-app.

    Without need-app a broken app answers 500 for ever.
    """
    lines = ("need-app = true", f"stats = {stats_address}", "stats-http = false")
    return "\n".join(("[uwsgi]", *lines, "stats-no-cores = false", ""))


def with_ini(command: Sequence[str], flags: Sequence[str]) -> list[str]:
    """`command` reading the side's file, with `flags` right after the word that names it.

    A word with white space is a shell's line (`sh -c "exec uwsgi --ini {ini}"`): the flags go into
    it, for what follows it would be arguments to the shell.
    """
    words: list[str] = []
    for word in command:
        if _PLACEHOLDER not in word:
            words.append(word)
        elif re.search(r"\s", word):
            words.append(word.replace(_PLACEHOLDER, " ".join((INI, *flags))))
        else:
            words += [word.replace(_PLACEHOLDER, INI), *flags]
    return words


def program(command: Sequence[str]) -> str:
    """The uWSGI binary that `command` starts."""
    for word in " ".join(command).split():
        if word.rpartition("/")[2].startswith("uwsgi") and _PLACEHOLDER not in word:
            return word
    return "uwsgi"


def archive(files: Mapping[str, str]) -> bytes:
    """A tar of world-readable files by absolute path: the app may run as any user."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        folder = tarfile.TarInfo(FOLDER.lstrip("/"))
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        for path, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
