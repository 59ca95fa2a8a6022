"""Scenes on a real uWSGI in one container: a file is written, started, looked at and ended."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

IMAGE = "uwsgi-tuner/base:2.0.31"
START_TIMEOUT_S = 30
SCENE_TIMEOUT_S = 90

APP = """
def application(environ, start_response):
    body = b"ok"
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""

_DRIVER = r"""
import http.client, json, os, pathlib, re, signal, socket, subprocess, sys, time, traceback

SETTLED_AFTER_S = 2.0

scene = json.load(sys.stdin)
os.chdir(scene["folder"])
for name, text in scene["files"].items():
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_text(text)
pathlib.Path("uwsgi.ini").write_text(scene["ini"])
log, began = open("log", "wb+"), time.monotonic()
process = subprocess.Popen(
    ["uwsgi", *scene["args"]], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
    env={**os.environ, **scene["environ"]}, start_new_session=True,
)

def said():
    return pathlib.Path("log").read_text(errors="replace")

def wait_for(text, seconds):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and process.poll() is None:
        if re.search(text, said()):
            return True
        time.sleep(0.05)
    return bool(re.search(text, said()))

def get(path="/", port=8000, headers=(), timeout=5.0):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace"), dict(answer.getheaders())
    except Exception as error:
        return type(error).__name__, str(error), {}
    finally:
        connection.close()

def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False

wait_for(scene["ready"], scene["seconds"])
seen, failure = None, None
if scene["probe"]:
    scope = dict(globals())
    try:
        exec(scene["probe"], scope)
        seen = scope.get("seen")
    except Exception:
        failure = traceback.format_exc()
if process.poll() is None:
    # A worker that was only just forked has no handler yet, and a signal would be lost on it.
    time.sleep(max(0.0, began + SETTLED_AFTER_S - time.monotonic()))
    process.send_signal(getattr(signal, scene["signal"]))
try:
    code = process.wait(scene["patience"])
except subprocess.TimeoutExpired:
    code = None
assert os.path.exists("/.dockerenv")
try:
    os.kill(-1, signal.SIGKILL)  # everything here but `sleep`, daemons included
except ProcessLookupError:
    pass
process.wait()
print(json.dumps({"exit": code, "log": said(), "seen": seen, "failure": failure}))
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a scene left: uWSGI's exit code, None where it would not end, and the probe's `seen`."""

    exit: int | None
    log: str
    seen: Any


@dataclass(frozen=True, slots=True)
class Lab:
    """A container in which one scene after another is played."""

    container: str

    def play(
        self,
        ini: str,
        *,
        probe: str = "",
        files: Mapping[str, str] | None = None,
        args: tuple[str, ...] = ("--ini", "uwsgi.ini"),
        environ: Mapping[str, str] | None = None,
        ready: str = r"spawned uWSGI worker|no-workers|DANGER",
        seconds: float = 10.0,
        signal: str = "SIGINT",
        patience_s: float = 5.0,
    ) -> Seen:
        """Start uWSGI on `ini`, run `probe` (Python; it sets `seen`), end it by `signal`."""
        folder = _docker("exec", self.container, "mktemp", "-d").strip()
        scene = {
            "folder": folder,
            "ini": ini,
            "probe": probe,
            "files": {"app.py": APP, **(files or {})},
            "args": args,
            "environ": dict(environ or {}),
            "ready": ready,
            "seconds": seconds,
            "signal": signal,
            "patience": patience_s,
        }
        answer = _docker(
            "exec", "-i", self.container, "python3", "-c", _DRIVER, stdin=json.dumps(scene)
        )
        told = json.loads(answer.splitlines()[-1])
        assert told["failure"] is None, told["failure"]
        return Seen(told["exit"], told["log"], told["seen"])


@contextmanager
def lab() -> Iterator[Lab]:
    """A container that is gone at the end."""
    container = _docker(
        "run", "--detach", "--rm", "--network=none", "--entrypoint=sleep", IMAGE, "1800"
    ).strip()
    try:
        yield Lab(container)
    finally:
        _docker("rm", "--force", container)


def _docker(*arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run(
        ["docker", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SCENE_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
