"""A way to PostgreSQL that loses packets: a network namespace of our own. It needs root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


def relayed(url: str, address: str) -> str:
    """The URL of the same database behind the relay."""
    return f"{url.partition('?')[0].replace('@/', f'@{address}:5432/')}"


@contextmanager
def lossy_link(share: float) -> Iterator[str]:
    """A network namespace that loses packets, and its address."""
    name, near, far = f"tuner-{os.getpid()}", f"tn{os.getpid()}", f"tf{os.getpid()}"
    inside = ("ip", "netns", "exec", name)
    drop = ("-m", "statistic", "--mode", "random", "--probability", str(share), "-j", "DROP")
    commands = [
        ("ip", "netns", "add", name),
        ("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name),
        ("ip", "addr", "add", "10.213.7.1/30", "dev", near),
        ("ip", "link", "set", near, "up"),
        (*inside, "ip", "addr", "add", "10.213.7.2/30", "dev", far),
        (*inside, "ip", "link", "set", far, "up"),
        (*inside, "iptables", "-A", "INPUT", "-i", far, *drop),
        (*inside, "iptables", "-A", "OUTPUT", "-o", far, *drop),
    ]
    try:
        for command in commands:
            subprocess.run(command, check=True)
        yield "10.213.7.2"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)  # with it goes the link


@contextmanager
def relay(url: str, address: str) -> Iterator[None]:
    """Hands connections to the server's socket, which no network namespace hides."""
    folder = url.partition("host=")[2].replace("%2F", "/")
    name = f"tuner-{os.getpid()}"
    listening = f"TCP-LISTEN:5432,bind={address},fork,reuseaddr"
    relaying = subprocess.Popen(
        ["ip", "netns", "exec", name, "socat", listening, f"UNIX-CONNECT:{folder}/.s.PGSQL.5432"]
    )
    try:
        yield
    finally:
        relaying.terminate()
        relaying.wait()
