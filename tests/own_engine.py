"""A Docker Engine of our own, which may be killed: the machine's, and what runs there, stay alive.

It has its own folder, socket, containers and network namespace, so that neither its bridges nor its
firewall rules meet those of the machine. From there nothing can be downloaded: images are copied
from the machine's engine. It needs root.
"""

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ANSWERS_WITHIN_S = 120.0
POLL_S = 0.1


@dataclass(slots=True)
class OwnEngine:
    """An engine whose data are in `home`."""

    home: Path
    disk_mb: int | None = None  # None: as large as the machine's; else in memory
    _namespace: subprocess.Popen[bytes] = field(init=False)  # it lives as long as this sleeper
    _process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.home.mkdir(mode=0o700)
        if self.disk_mb is not None:
            self._data.mkdir()
            self._mount("tmpfs", f"size={self.disk_mb}m")
        self._namespace = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        while Path(self._network).readlink() == Path("/proc/self/ns/net").readlink():
            time.sleep(POLL_S)

    @property
    def address(self) -> str:
        """For `DOCKER_HOST`."""
        return f"unix://{self.home}/docker.sock"

    def leave_free(self, mb: int) -> None:
        """Shrink the disk to what is used, and this much more."""
        used_kb = shutil.disk_usage(self._data).used // 1024
        self._mount("tmpfs", f"remount,size={used_kb + 1024 * mb}k")

    def _mount(self, kind: str, options: str) -> None:
        subprocess.run(["mount", "-t", kind, "-o", options, kind, str(self._data)], check=True)

    @property
    def _data(self) -> Path:
        return self.home / "data"

    @property
    def _network(self) -> str:
        return f"/proc/{self._namespace.pid}/ns/net"

    def start(self) -> None:
        """Start it, also after a kill, and wait until it answers.

        After a kill it may give up on its containerd: then it is started again. Docker 20.10 that
        was killed while it made a network ends in `reservePools` at each start, until its list of
        networks is removed.
        """
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        self._begin()
        while not self._answers():
            assert time.monotonic() < deadline, self._log()
            if self._process.poll() is not None:
                if "reservePools" in self._log():
                    (self._data / "network/files/local-kv.db").unlink(missing_ok=True)
                self._begin()
            time.sleep(POLL_S)

    def _begin(self) -> None:
        name = self.home.name  # a containerd of the machine keeps what is ours apart by this name
        command = [
            *("nsenter", f"--net={self._network}"),
            *("dockerd", "--host", self.address, "--bridge=none"),
            *("--data-root", str(self._data), "--exec-root", f"{self.home}/run"),
            *("--pidfile", f"{self.home}/pid"),
            *("--containerd-namespace", name, "--containerd-plugins-namespace", f"{name}-plugins"),
        ]
        with (self.home / "dockerd.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """SIGKILL. Containers run on until it is started again, which ends them."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it with all its containers, and forget its data."""
        if self._process.poll() is not None:
            self.start()
        self._process.terminate()
        self._process.wait(ANSWERS_WITHIN_S)
        self._end_shims()
        for mounted in _mounts_below(self.home):
            subprocess.run(["umount", "--lazy", mounted], check=False)
        self._namespace.kill()
        self._namespace.wait()
        shutil.rmtree(self.home)

    def _end_shims(self) -> None:
        """After a kill, a shim of containerd may stay, with the processes of its container."""
        pattern = f"containerd-shim.* -namespace {self.home.name} "
        found = subprocess.run(["pgrep", "--full", pattern], stdout=subprocess.PIPE, check=False)
        for shim in found.stdout.decode().split():
            subprocess.run(["pkill", "-KILL", "--parent", shim], check=False)
            subprocess.run(["kill", "-KILL", shim], check=False)

    def load(self, images: Sequence[str]) -> None:
        """Copy images from the machine's engine."""
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saving:
            loading = ["docker", "--host", self.address, "load", "--quiet"]
            subprocess.run(loading, stdin=saving.stdout, check=True, capture_output=True)

    def _answers(self) -> bool:
        asking = ["docker", "--host", self.address, "version"]
        return subprocess.run(asking, capture_output=True, check=False).returncode == 0

    def _log(self) -> str:
        return (self.home / "dockerd.log").read_text(errors="replace")[-2000:]


@contextmanager
def own_engine(images: Sequence[str], disk_mb: int | None = None) -> Iterator[OwnEngine]:
    """An engine with copies of these images; gone afterwards, with all that it has."""
    assert os.geteuid() == 0, "a Docker Engine of our own needs root"
    home = Path(tempfile.gettempdir()) / f"tuner-engine-{uuid.uuid4().hex[:8]}"
    engine = OwnEngine(home, disk_mb)
    try:
        engine.start()
        engine.load(images)
        yield engine
    finally:
        engine.stop()


def here(pattern: str) -> list[str]:
    """The names of images that the machine's engine has."""
    listing = ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}", pattern]
    done = subprocess.run(listing, check=True, capture_output=True, text=True)
    return done.stdout.split()


def _mounts_below(folder: Path) -> list[str]:
    """Where something is mounted, the innermost first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    found = [line.split()[4] for line in lines]
    return sorted((at for at in found if at.startswith(f"{folder}/")), reverse=True)
