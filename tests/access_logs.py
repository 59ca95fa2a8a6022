"""Access logs of a known mix, in six formats: for the tests of `tuner.traffic` and a benchmark."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

BEGIN_S = 1_795_890_528
AGENTS = ("Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0", "shop-app/3.1")


@dataclass(frozen=True)
class Route:
    """One route: how its paths are made, its share, and its mean duration."""

    template: str
    share: float
    mean_s: float
    path: Callable[[Random], str]
    method: str = "GET"


@dataclass(frozen=True)
class Line:
    """One request, as a format writes it."""

    at: int
    start_s: float
    duration_s: float
    method: str
    path: str


WORDS = tuple(
    "red green lamp chair table old new small large wooden oak pine blue desk shelf".split()  # noqa: SIM905
)


def number(random: Random) -> str:
    return str(random.randrange(1, 50_000))


def slug(random: Random) -> str:
    return "-".join(random.choice(WORDS) for _ in range(3))


def uuid(random: Random) -> str:
    text = f"{random.getrandbits(128):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


_ROUTES: Mapping[str, tuple[float, Callable[[Random], str]]] = {
    "/": (0.01, lambda _: "/"),
    "/products/{int}": (0.04, lambda random: f"/products/{number(random)}"),
    "/blog/{slug}": (0.02, lambda random: f"/blog/{slug(random)}"),
    "/api/v1/orders/{int}/items": (0.06, lambda r: f"/api/v1/orders/{number(r)}/items"),
    "/api/users/{uuid}": (0.03, lambda random: f"/api/users/{uuid(random)}"),
    "/search": (0.12, lambda random: f"/search?q={slug(random)}&page={random.randrange(9)}"),
    "/report/{date}": (0.9, lambda random: f"/report/2026-11-{random.randrange(1, 29):02}"),
    "/{slug}/issues": (0.05, lambda random: f"/{slug(random)}{random.randrange(99)}/issues"),
}  # fmt: skip


def mix(number_: int) -> list[Route]:
    """One of ten mixes: six to nine routes with shares from Zipf's law, in an order of its own."""
    random = Random(number_)  # noqa: S311
    names = random.sample(list(_ROUTES), 5 + number_ % 4)
    weights = [1 / rank for rank in range(1, len(names) + 1)]
    routes = [
        Route(name, weight / sum(weights), *_ROUTES[name])
        for name, weight in zip(names, weights, strict=True)
    ]
    cart = Route("/api/cart", 0.1, 0.03, lambda _: "/api/cart", "POST")
    return [cart, *(Route(r.template, 0.9 * r.share, r.mean_s, r.path) for r in routes)]


def requests(routes: list[Route], rate_rps: float, lines: int, seed: int) -> Iterator[Line]:
    """Poisson arrivals with exponential durations, in the order of their starts."""
    random = Random(seed)  # noqa: S311
    at_s = float(BEGIN_S)
    shares = [route.share for route in routes]
    for n in range(lines):
        at_s += random.expovariate(rate_rps)
        route = random.choices(routes, shares)[0]
        duration_s = random.expovariate(1 / route.mean_s)
        yield Line(n, at_s, duration_s, route.method, route.path(random))


def _clock(at_s: float, form: str) -> str:
    return time.strftime(form, time.gmtime(at_s))


def _head(line: Line, at_s: float) -> str:
    at = _clock(at_s, "%d/%b/%Y:%H:%M:%S +0000")
    request = f"{line.method} {line.path} HTTP/1.1"
    agent = AGENTS[line.at % 2]
    return f'192.0.2.{line.at % 200} - - [{at}] "{request}" 200 1234 "-" "{agent}"'


def uwsgi(line: Line) -> str:
    at = _clock(line.start_s, "%a %b %d %H:%M:%S %Y")
    return (
        f"[pid: {17 + line.at % 4}|app: 0|req: {line.at // 4 + 1}/{line.at + 1}] 192.0.2.7 ()"
        f" {{42 vars in 812 bytes}} [{at}] {line.method} {line.path} => generated 1234 bytes in"
        f" {1e3 * line.duration_s:.0f} msecs (HTTP/1.1 200) 6 headers in 214 bytes"
        " (1 switches on core 0)"
    )


def timed(line: Line) -> str:
    whole_s = f"{line.duration_s:.3f}"
    head = _head(line, line.start_s + line.duration_s)
    return f'{head} rt={whole_s} uct="0.000" uht="{whole_s}" urt="{whole_s}"'


def apache(line: Line) -> str:
    return f"{_head(line, line.start_s)} {1e6 * line.duration_s:.0f}"


def traefik(line: Line) -> str:
    server = f'{line.at} "shop@docker" "http://192.0.2.200:8000"'
    return f"{_head(line, line.start_s)} {server} {1e3 * line.duration_s:.0f}ms"


def envoy(line: Line) -> str:
    at = _clock(line.start_s, "%Y-%m-%dT%H:%M:%S") + f".{1e3 * (line.start_s % 1):03.0f}Z"[:5]
    ms, address = f"{1e3 * line.duration_s:.0f}", f"192.0.2.{line.at % 200}"
    return (
        f'[{at}] "{line.method} {line.path} HTTP/2" 200 - 0 1234 {ms} {ms} "{address}"'
        f' "{AGENTS[line.at % 2]}" "0a1b-{line.at}" "shop.example" "192.0.2.200:8000"'
    )


def json_lines(line: Line) -> str:
    return json.dumps(
        {
            "time": line.start_s, "method": line.method, "uri": line.path, "status": 200,
            "duration_in_ms": 1e3 * line.duration_s, "addr": f"192.0.2.{line.at % 200}",
        }
    )  # fmt: skip


FORMATS: Mapping[str, Callable[[Line], str]] = {
    "uwsgi": uwsgi,
    "timed": timed,
    "numbered": apache,
    "traefik": traefik,
    "envoy": envoy,
    "json": json_lines,
}
