"""The way to a service and the latency of a stub: wanted, measured. `make bench-round-trips`.

An arm of `backed` with a service that echoes what it gets. Prints the round trip as the product
measures it, five times for each wanted one; then a client in the app's network namespace sends
queries over 32 connections, and the CPU time of the program that delays their packets is read.
At last p50 and p95 of a stub, from the app's container, five times 400 requests for each wanted
pair. Nothing here judges.
"""

import json
from argparse import Namespace
from dataclasses import replace

from tests.bench_arms import opened
from tests.benchmarks import rig
from tests.contract.test_backing import COUNTER, arm
from tests.contract.test_stubs import latency_ms, launched
from tuner.bench.engine import DockerLauncher
from tuner.bench.engine.target import DockerTarget
from tuner.bench.measurement import ArmSpec
from tuner.nouns.model import Target

WANTED_MS = (0.0, 0.2, 0.5, 2.0, 10.0)
WANTED_OF_STUB_MS = ((5.0, 20.0), (40.0, 120.0), (80.0, 300.0))
CONNECTIONS = 32
PORT = 9001

ECHO = f"""
import socket, threading

def serve(client):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while words := client.recv(4096):
        client.sendall(words)

server = socket.create_server(("", {PORT}))
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""
CLIENT = f"""
import json, socket, statistics, sys, threading, time

rate, seconds = float(sys.argv[1]), float(sys.argv[2])
took = []

def ask(number):
    with socket.create_connection(("echo", {PORT})) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        due = time.perf_counter() + number / rate
        end = due + seconds
        while due < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            server.sendall(bytes(100))
            server.recv(4096)
            took.append(time.perf_counter() - began)
            due += {CONNECTIONS} / rate

began = time.perf_counter()
threads = [threading.Thread(target=ask, args=(number,)) for number in range({CONNECTIONS})]
for thread in threads: thread.start()
for thread in threads: thread.join()
seconds = time.perf_counter() - began
print(json.dumps({{"rate": len(took) / seconds, "ms": statistics.median(took) * 1000}}))
"""


def main() -> None:
    """Run and print."""
    options = parsed()
    rig.begin()
    with opened() as bench:
        for wanted_ms in WANTED_MS:
            asked = far(wanted_ms)
            with bench.launcher.launch(asked) as running:
                assert isinstance(running, DockerTarget)
                bench.load.wait_ready(running, asked.target)
                trips = [bench.load.round_trips(running, asked.target) for _ in range(5)]
                name, times = f"wanted {wanted_ms:g} ms", [each["echo"] for each in trips]
                rig.row(f"{name}: round trip, ms", rig.middle_half(times, 3))
                queries(running, name, options)
        assert isinstance(bench.launcher, DockerLauncher)
        bench.launcher.end_jobs(())
    for pair in WANTED_OF_STUB_MS:
        stubs(pair)


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--rate", type=float, default=2000, help="queries per second")
    parser.add_argument("--seconds", type=float, default=5.0)
    return parser.parse_args()


def far(wanted_ms: float) -> ArmSpec:
    """An arm with a service at this distance."""
    plain = arm()
    echo = {"build": "counter", "entrypoint": ["python3", "-c", ECHO], "rtt_ms": wanted_ms}
    services = {"counter": COUNTER | {"rtt_ms": 0}, "echo": echo}
    target = Target.model_validate(plain.target.model_dump() | {"services": services})
    return replace(plain, target=target)


def queries(running: DockerTarget, name: str, options: Namespace) -> None:
    """Send queries and print their time, and the CPU that the delay took."""
    before_s = delay_cpu_s(running)
    words = ["python3", "-c", CLIENT, f"{options.rate}", f"{options.seconds}"]
    found = json.loads(running.run_beside(words, timeout_s=options.seconds + 30))
    used_s = delay_cpu_s(running) - before_s
    rig.row(
        f"{name}: queries/s, ms, CPUs of the delay",
        f"{found['rate']:.0f}, {found['ms']:.3f}, {used_s / options.seconds:.3f}",
    )


def stubs(wanted_ms: tuple[float, float]) -> None:
    """Print what the app waits for a stub, over HTTP and HTTPS."""
    with launched(wanted_ms) as running:
        for scheme in ("http", "https"):
            runs = [latency_ms(running, scheme) for _ in range(5)]
            p50s, p95s = zip(*runs, strict=True)
            for name, wanted, times in (("p50", wanted_ms[0], p50s), ("p95", wanted_ms[1], p95s)):
                row = f"stub over {scheme}: {name} wanted {wanted:g} ms, measured"
                rig.row(row, rig.middle_half(times, 2))


def delay_cpu_s(running: DockerTarget) -> float:
    """CPU seconds of the program so far; 0 without one."""
    return running._usage_of(running.delay).cpu_s if running.delay is not None else 0.0


if __name__ == "__main__":
    main()
