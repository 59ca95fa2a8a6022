"""The target app whose options matter as planted, without uWSGI around it."""

import importlib.util
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.plants import TARGET_APPS

APP = TARGET_APPS / "planted" / "planted.py"
UNITS = 10
Started = Callable[..., Any]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """Start the app as uWSGI would: its options in `uwsgi.opt`, what its ini sets in `environ`."""

    def start(*plants: dict[str, Any], host: str = "a", **options: Any) -> Any:
        given = {name.replace("_", "-"): value for name, value in options.items()}
        monkeypatch.setitem(sys.modules, "uwsgi", SimpleNamespace(opt=given))
        monkeypatch.setattr("socket.gethostname", lambda: host)
        monkeypatch.setenv("UNITS", str(UNITS))
        monkeypatch.setenv("PLANTS", json.dumps(plants))
        return loaded(APP).application

    yield start
    sys.modules.pop("planted_app", None)


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("planted_app", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["planted_app"] = module
    spec.loader.exec_module(module)
    return module


def ask(app: Any) -> tuple[str, bytes]:
    """One request; status and body."""
    seen: list[str] = []
    body = b"".join(app({"PATH_INFO": "/"}, lambda status, headers: seen.append(status)))
    return seen[0], body


def plant(**effects: Any) -> dict[str, Any]:
    return {"option": "vacuum", "value": "true", **effects}


def test_without_plants_it_computes_and_answers(started: Started) -> None:
    app = started()
    assert ask(app) == ("200 OK", b'{"status": "ok"}')
    assert app.iterations == 100 * UNITS


@pytest.mark.parametrize("value", [b"true", True, "true", [b"false", b"true"]])
def test_an_option_with_its_planted_value_changes_the_work(started: Started, value: Any) -> None:
    assert started(plant(work=0.8), vacuum=value).iterations == 80 * UNITS


@pytest.mark.parametrize("options", [{}, {"vacuum": b"false"}, {"vacuum": [b"true", b"false"]}])
def test_any_other_value_changes_nothing(started: Started, options: dict[str, Any]) -> None:
    assert started(plant(work=0.8), **options).iterations == 100 * UNITS


def test_several_plants_multiply(started: Started) -> None:
    other = {"option": "reload-mercy", "value": "30", "work": 0.5}
    app = started(plant(work=0.8), other, vacuum=b"true", reload_mercy=b"30")
    assert app.iterations == 40 * UNITS


def test_an_unlucky_start_stays_unlucky_and_so_many_of_them_are(started: Started) -> None:
    unstable = plant(work=0.8, unlucky_share=0.4, unlucky_work=2.0)
    hosts = [f"{number:012x}" for number in range(400)]
    work = [started(unstable, host=host, vacuum=b"true").iterations for host in hosts]
    assert set(work) == {80 * UNITS, 200 * UNITS}
    assert 0.35 < work.count(200 * UNITS) / len(work) < 0.45
    again = [started(unstable, host=host, vacuum=b"true").iterations for host in hosts]
    assert again == work


def test_a_share_of_the_requests_waits_evenly_spread(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = started(plant(slow_share=0.06, slow_ms=100.0), vacuum=b"true")
    waits: list[tuple[int, float]] = []
    clock = SimpleNamespace(sleep=lambda seconds: waits.append((app.count, seconds)))
    monkeypatch.setattr(sys.modules["planted_app"], "time", clock)  # other threads sleep too
    for _ in range(200):
        ask(app)
    assert len(waits) == 12
    assert {seconds for _, seconds in waits} == {0.1}
    places = [count for count, _ in waits]
    assert all(b - a in (16, 17) for a, b in itertools.pairwise(places))


def test_memory_grows_with_the_requests_up_to_what_was_planted(started: Started) -> None:
    app = started(plant(hold_mb=3), vacuum=b"true")
    assert not app.held  # nothing is held before the fork, where processes would share it
    sizes = []
    for _ in range(5):
        ask(app)
        sizes.append(sum(map(len, app.held)) // 1024**2)
    assert sizes == [1, 2, 3, 3, 3]


def test_a_plant_with_an_unknown_effect_does_not_start(started: Started) -> None:
    with pytest.raises(TypeError, match="wrok"):
        started(plant(wrok=0.8))
