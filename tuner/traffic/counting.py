"""Requests → counts of templates, seconds and users, in constant memory.

What is no load of the app is left out, each with its reason: health checks, monitors, static files
and redirects of a proxy, cache hits. The lines of uWSGI and of a proxy are counted apart, because
one request may have a line of each.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from tuner.nouns.masking import masked
from tuner.traffic.formats import GONE, STATIC, Family, Format, Request, epoch_s
from tuner.traffic.lines import Prefixes
from tuner.traffic.templates import Leaf, Tree, current, kinds_of, sample_of

HEALTH = "health checks and monitors"
METHODS = "methods that the load generator does not send (OPTIONS, ...)"
REDIRECTS = "redirects that the proxy may have sent"
BOTS = "bots and scanners"

SENT = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
HOUR_S = 3600
_MOST_HOURS = 400
_MOST_PATHS = 100_000
_MOST_USERS = 20_000
_SAMPLES = 40
_SESSION_GAP_S = 1800

_MONITOR = re.compile(
    r"(?i)kube-probe|GoogleHC|ELB-HealthChecker|Consul Health|Prometheus|UptimeRobot|Pingdom"
    r"|uptime|StatusCake|Site24x7|BlackboxExporter|HealthCheck"
)
_BOT = re.compile(r"(?i)bot\b|bot/|crawler|spider|slurp")
_HEALTH_PATH = re.compile(
    r"(?i)/(?:[\w-]+/)?_?(?:health(?:z|check|[_-]check)?|healthz?/.*|ping|readyz?|livez?|liveness"
    r"|readiness|status|metrics|heartbeat|nginx_status|stub_status)/?"
)
_SCANNED = re.compile(r"(?i)/(?:wp-login\.php|xmlrpc\.php|wp-admin|\.env|\.git/|phpmyadmin).*")
_STATIC = re.compile(
    r"(?i)/(?:.*/)?(?:static|media|assets|_next/static|favicon\.ico|robots\.txt)(?:/.*|$)"
    r"|.*\.(?:js|css|map|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|eot|mp4)"
)

_PRIVATE = re.compile(r"(?<=\?)[^\s\"]+|[\w.+-]+@[\w.-]+|(?=[A-Za-z_-]*\d)[\w~+-]{20,}")
"""Queries, addresses and long tokens in a line that is shown."""


@dataclass(slots=True)
class Hour:
    """Requests that started in each second of an hour, and the sum of their durations."""

    seconds: "array[int]" = field(default_factory=lambda: array("I", bytes(4 * HOUR_S)))
    count: int = 0
    timed: int = 0
    time_s: float = 0.0


class Tally:
    """All that is kept of the requests of one family."""

    def __init__(self, tree: Tree, *, drops_bots: bool) -> None:
        self.tree = tree
        self.read = 0
        self.count = 0
        self.bots = 0
        self.left_out: Counter[str] = Counter()
        self.classes: Counter[int] = Counter()
        self.sources: set[str] = set()
        self.hours: dict[int, Hour] = {}
        self.first_s: float | None = None
        self.reused: Counter[bool | None] = Counter()
        self.missing = 0
        self.users = Users()
        self._drops_bots = drops_bots
        self._serial = 0
        self._known: dict[str, Leaf | str] = {}
        self._agents: dict[str, str] = {}

    def add(self, request: Request, source: str) -> None:
        """Count one request."""
        self.read += 1
        start_s, method, uri, status, duration_s, address, agent, away, reused, serial = request
        self.classes[status // 100] += 1
        if serial:
            self._see_serial(serial)
        if source and len(self.sources) < 1000:
            self.sources.add(source)
        path, _, query = uri.partition("?")
        key = method + path
        found = self._known.get(key)
        if found is None:
            found = self._find(key, method, path)
        if agent or away != "":
            found = self._seen_as(found, request, path)
        if isinstance(found, str):
            self.left_out[found] += 1
            return
        leaf = found if found.moved is None else current(found)
        self.count += 1
        leaf.count += 1
        leaf.statuses[status] += 1
        if len(leaf.samples) < _SAMPLES:
            leaf.samples.append(_sample(path, query))
        elif (place := int(self.tree.random.random() * leaf.count)) < _SAMPLES:
            leaf.samples[place] = _sample(path, query)
        if duration_s is not None:
            leaf.timed += 1
            leaf.time_s += duration_s
        if start_s is not None:
            self._see_time(start_s, duration_s)
            self.users.see(address, agent, start_s, duration_s or 0.0)
        self.reused[reused] += 1

    def _seen_as(self, found: Leaf | str, request: Request, path: str) -> Leaf | str:
        """The leaf of a request of a client with a name, or why it is left out."""
        if request.agent and (kind := self._kind(request.agent)):
            if kind is HEALTH:
                return HEALTH
            self.bots += 1
            if self._drops_bots:
                return BOTS
        away = self._by_proxy(path, request.status) if request.away is None else request.away
        return away or found

    def _find(self, key: str, method: str, path: str) -> Leaf | str:
        if len(self._known) >= _MOST_PATHS:
            self._known.clear()
        scheme, separator, rest = path.partition("://")
        if separator and scheme.isalpha():
            path = "/" + rest.partition("/")[2]
        found: Leaf | str
        if method not in SENT or not path.startswith("/"):
            found = METHODS
        elif _HEALTH_PATH.fullmatch(path):
            found = HEALTH
        elif self._drops_bots and _SCANNED.match(path):
            found = BOTS
        else:
            found = self.tree.leaf(method, path)
        self._known[key] = found
        return found

    def _kind(self, agent: str) -> str:
        kind = self._agents.get(agent)
        if kind is None:
            if len(self._agents) > 5000:
                self._agents.clear()
            kind = HEALTH if _MONITOR.search(agent) else BOTS if _BOT.search(agent) else ""
            self._agents[agent] = kind
        return kind

    def _by_proxy(self, path: str, status: int) -> str:
        """Why a proxy's line without a word on the app is left out."""
        if status == 499:
            return GONE
        if status in (301, 308):
            return REDIRECTS
        return STATIC if _STATIC.fullmatch(path) else ""

    def _see_serial(self, serial: int) -> None:
        """uWSGI counts all requests: a step of more than 1 is lines that are missing."""
        if not self._serial or serial < self._serial - 1000:  # the first line, or a restart
            self._serial = serial
        elif serial > self._serial:
            self.missing += serial - self._serial - 1
            self._serial = serial
        else:
            self.missing = max(0, self.missing - 1)  # a slow request, written later

    def _see_time(self, start_s: float, duration_s: float | None) -> None:
        if self.first_s is None:
            self.first_s = start_s
        number, second = divmod(int(start_s // 1 - self.first_s // 1), HOUR_S)
        hour = self.hours.get(number)
        if hour is None:
            if len(self.hours) >= _MOST_HOURS:
                del self.hours[min(self.hours, key=lambda one: self.hours[one].count)]
            hour = self.hours[number] = Hour()
        hour.count += 1
        hour.seconds[second] += 1
        if duration_s is not None:
            hour.timed += 1
            hour.time_s += duration_s


def _sample(path: str, query: str) -> str:
    if "://" in path:
        path = "/" + path.partition("://")[2].partition("/")[2]
    segments = path[1:].split("/", 24)
    return sample_of(segments, kinds_of(segments), query)


class Users:
    """Pauses of users: an address with an agent is one. Of many users, a part is followed."""

    def __init__(self) -> None:
        self.pauses_s: list[float] = []
        self._last_s: dict[int, float] = {}
        self._stride = 1

    def see(self, address: str, agent: str, start_s: float, duration_s: float) -> None:
        """Note the pause since this user's last answer."""
        if not agent or not address:
            return
        user = hash((address, agent))  # of this run alone: Python's hash of a text has a salt
        if user % self._stride:
            return
        last_s = self._last_s.get(user)
        self._last_s[user] = start_s + duration_s
        if last_s is not None and 0 <= start_s - last_s <= _SESSION_GAP_S:
            if len(self.pauses_s) >= 20_000:
                self.pauses_s = self.pauses_s[::2]
            self.pauses_s.append(start_s - last_s)
        elif len(self._last_s) > _MOST_USERS:
            self._stride *= 2
            kept = self._last_s.items()
            self._last_s = {one: at for one, at in kept if not one % self._stride}

    @property
    def think_s(self) -> float | None:
        """The median pause; None below 100 pauses."""
        return median(self.pauses_s) if len(self.pauses_s) >= 100 else None


class Reading:
    """All files of one call: what was read of them, and what was not."""

    def __init__(
        self, formats: Sequence[Format], patterns: Sequence[str] = (), *, drops_bots: bool = False
    ) -> None:
        self.lines = 0
        self.unread = 0
        self.shown: list[str] = []
        self.formats: Counter[str] = Counter()
        self.tallies: dict[Family, Tally] = {
            family: Tally(Tree(patterns), drops_bots=drops_bots) for family in ("uwsgi", "proxy")
        }
        self._formats = list(formats)
        self._prefixes = Prefixes()

    def feed(self, batches: Iterable[Sequence[str]]) -> None:
        """Read the lines of one file. No line stops it."""
        for batch in batches:
            form = self._formats[0]
            read, add = form.read, self.tallies[form.family].add
            direct = 0
            for line in batch:
                request = read(line, 0)
                if request is not None:
                    add(request, "")
                    direct += 1
                else:
                    self.formats[form.name] += direct
                    self._feed_slowly(line)
                    form, direct = self._formats[0], 0
                    read, add = form.read, self.tallies[form.family].add
            self.formats[form.name] += direct
            self.lines += len(batch)

    def _feed_slowly(self, line: str) -> None:
        if "}{" in line and line.startswith("{"):
            pieces = line.replace("}{", "}\n{").split("\n")
            self.lines += len(pieces) - 1
        else:
            pieces = [line]
        for piece in pieces:
            if not self._is_read(piece):
                self._miss(piece)

    def _is_read(self, line: str) -> bool:
        """Whether the line is read, or is a part of one that is still to come."""
        prefix = self._prefixes.off(line)
        if prefix is None:
            return True
        for place, form in enumerate(self._formats):
            request = form.read(prefix.line, prefix.at)
            if request is not None:
                if place:  # the next line is most likely of the same format
                    self._formats.insert(0, self._formats.pop(place))
                if request.start_s is None and prefix.time:
                    request = request._replace(start_s=_start_s(prefix.time, request))
                self.formats[form.name] += 1
                self.tallies[form.family].add(request, prefix.source)
                return True
        return False

    def _miss(self, line: str) -> None:
        if not line.strip():
            self.lines -= 1
            return
        self.unread += 1
        if len(self.shown) < 3:
            self.shown.append(_PRIVATE.sub("***", masked(line[:200]))[:120])


def _start_s(end: str, request: Request) -> float | None:
    end_s = epoch_s(end)
    return None if end_s is None else end_s - (request.duration_s or 0.0)


def templates(tally: Tally) -> Iterator[tuple[str, str, Leaf]]:
    """Method, template and figures, the most frequent first."""
    found = [one for one in tally.tree.templates() if one[2].count]
    yield from sorted(found, key=lambda one: (-one[2].count, one[0], one[1]))
