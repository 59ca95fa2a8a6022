"""The real uWSGI as the judge of what a file means: many files, one container, `--show-config`."""

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

IMAGE = "uwsgi-tuner/base:2.0.31"
ENVIRON = {"JUDGE_NAME": "shop", "JUDGE_NUMBER": "5"}
"""The environment of each uWSGI, beside PATH."""

_BEGIN = b";uWSGI instance configuration\n[uwsgi]\n"
_END = b";end of configuration\n"

_ASK = """
import base64, concurrent.futures, json, os, subprocess, sys, tempfile
END = b";end of configuration\\n"
cases = json.load(sys.stdin)
def ask(case):
    with tempfile.TemporaryDirectory() as home:
        for name, content in case["files"].items():
            path = os.path.join(home, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(base64.b64decode(content))
        command = ["timeout", "10", "uwsgi", "--show-config", "--no-server"]
        for name in case["order"]:
            command += ["--ini", os.path.join(home, name)]
        environ = {"PATH": os.environ["PATH"], **case["environ"]}
        uwsgi = subprocess.Popen(command, cwd=home, env=environ,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = b""
        for line in uwsgi.stdout:
            said += line
            if said.endswith(END):
                break
        uwsgi.kill()
        uwsgi.communicate()
        return {"home": home, "said": base64.b64encode(said).decode()}
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    json.dump(list(pool.map(ask, cases)), sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Files by their names, and those of them that `--ini` names, in that order."""

    files: Mapping[str, bytes]
    order: Sequence[str] = ("uwsgi.ini",)
    environ: Mapping[str, str] = field(default_factory=lambda: ENVIRON)


@dataclass(frozen=True, slots=True)
class Answer:
    """What uWSGI read, in its order; None where it gave up. `home` is where the files were."""

    home: str
    said: str
    options: tuple[tuple[str, str], ...] | None


@dataclass(frozen=True, slots=True)
class Judge:
    """A container in which uWSGI can be asked."""

    container: str

    def ask(self, cases: Sequence[Case]) -> list[Answer]:
        """One answer for each case; of all of them at once, which is what makes it quick."""
        asked = [
            {
                "files": {
                    name: base64.b64encode(content).decode() for name, content in case.files.items()
                },
                "order": list(case.order),
                "environ": dict(case.environ),
            }
            for case in cases
        ]
        command = ["docker", "exec", "-i", self.container, "/opt/venv/bin/python", "-c", _ASK]
        done = subprocess.run(
            command, input=json.dumps(asked).encode(), capture_output=True, check=True, timeout=300
        )
        return [
            _answer(one["home"], base64.b64decode(one["said"])) for one in json.loads(done.stdout)
        ]

    def run(self, script: str) -> str:
        """What a shell in the container says on its standard output."""
        command = ["docker", "exec", self.container, "sh", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout


def _answer(home: str, said: bytes) -> Answer:
    """Values may hold any byte, and so are kept as a file's are."""
    text = said.decode(errors="surrogateescape")
    begin, end = (mark.decode() for mark in (_BEGIN, _END))
    if begin not in text or end not in text:
        return Answer(home, text, None)
    told = text.partition(begin)[2].rpartition(end)[0]
    pairs = (line.partition(" = ")[::2] for line in told.split("\n") if line)
    return Answer(home, text, tuple(pairs))


@contextmanager
def judging() -> Iterator[Judge]:
    """A judge for as long as the block goes on; its container is removed afterwards."""
    command = ["docker", "run", "--detach", "--rm", "--network", "none", "--entrypoint", "sleep"]
    started = subprocess.run(
        [*command, IMAGE, "3600"], capture_output=True, text=True, check=True, timeout=60
    )
    container = started.stdout.strip()
    try:
        yield Judge(container)
    finally:
        subprocess.run(
            ["docker", "rm", "--force", container], capture_output=True, check=True, timeout=60
        )
