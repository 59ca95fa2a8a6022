"""Target apps with something wrong with them, written into a folder of their own."""

from pathlib import Path

IMPORT_ERROR = "import there_is_no_such_module\n"
ONLY_500 = """
def application(environ, start_response):
    start_response("500 Internal Server Error", [("Content-Length", "4")])
    return [b"oops"]
"""
NEVER_READY = """
import time
time.sleep(3600)
"""
FINE = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""

INI = "[uwsgi]\nhttp-socket = :8000\nwsgi-file = /app/app.py\nmaster = true\nprocesses = 1\n"
_DOCKERFILE = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY app.py /app/app.py\n"


def write_app(folder: Path, name: str, source: str, *, ini: str = INI) -> None:
    """Write `<folder>/<name>/` with everything that the catalogue and the engine ask for."""
    home = folder / name
    home.mkdir(parents=True)
    (home / "app.py").write_text(source)
    (home / "Dockerfile").write_text(_DOCKERFILE)
    (home / "uwsgi.ini").write_text(ini)
    (home / "target.yaml").write_text(
        f"name: {name}\ndescription: for tests\nbuild: .\n"
        "limits: {cpus: 1.0, memory_mb: 256, somaxconn: 4096}\n"
        "workload: {kind: closed_loop, concurrency: 16, requests: [{path: /}]}\n"
    )
