"""Paths → templates: what varies is folded, and nothing private is kept.

A segment is folded by its kind (number, date, UUID, hash, token, e-mail, text with digits). The
rest goes into a tree for each method and number of segments, as in Drain (He et al. 2017): a node
with many literal children that are no common words of routes becomes `{slug}`. `Tree.leaf` costs
one look in a dictionary for a path that came before. The tree has at most `MOST_LEAVES` leaves.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote, unquote

from tuner.nouns.masking import is_secret, is_secret_value

MOST_LEAVES = 20_000
_FEW, _MANY, _STREAMED = 12, 40, 300
_KEPT_SAMPLES = 40
_MOST_SEGMENTS = 24

_ROUTE_WORDS_TEXT = """
about access account accounts actions activate activity add address admin alerts all api apps
archive articles assets attachments audit auth authors avatar basket billing blob blog board
branches bulk calendar callback cart catalog categories category change charts checkout checks
clone collections comment comments commit commits compare config confirm contact content count
create customers dashboard data delete delivery details devices discover docs documents
download drafts edit email events explore export faq favorites feed feedback files filter
followers following forgot forum graphql groups health help history home hooks images import
inbox index info insights inventory invite invoices issues items jobs join labels latest legal
like list lists live login logout logs me media members merge messages metrics milestones new
news notes notifications oauth options orders org orgs overview page pages password payment
payments permissions ping plans post posts preview pricing privacy products profile projects
public publish pull pulls queue rates raw recent refresh register releases remove reports
repos reset results reviews roles rpc rss schedule search security sell send sessions settings
share shipping shop signin signup site sitemap star stats status store stream subscribe
subscriptions summary support sync tag tags tasks team teams terms threads tickets token top
topics track transactions trending tree unsubscribe update upload uploads user users v1 v2 v3
v4 verify versions video videos views watch web webhooks week wiki wishlist
"""
ROUTE_WORDS = frozenset(_ROUTE_WORDS_TEXT.split())
_PRIVATE_AFTER_TEXT = """
reset password confirm verify activate unsubscribe invite token tokens session sessions magic
login auth share secret sid key
"""
_PRIVATE_AFTER = frozenset(_PRIVATE_AFTER_TEXT.split())
_SECRET_KEY = re.compile(
    r"(?i)sig|code|state|sess|sid|mail|phone|jwt|pass|auth|key|hash|nonce|otp|pin|user|name"
)
_OPEN_KEYS_TEXT = """
sort order lang locale format view tab dir direction type kind by mode currency
"""
_OPEN_KEYS = frozenset(_OPEN_KEYS_TEXT.split())

_KINDS = re.compile(
    r"(?P<int>-?\d{1,24})|(?P<date>\d{4}-\d\d(?:-\d\d(?:T[\d:.]+Z?)?)?)"
    r"|(?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})"
    r"|(?P<email>[^@/]{1,100}@[^@/]{1,200})|(?P<literal>v\d{1,3}|[a-z]{2}[-_][A-Za-z]{2}"
    r"|[a-z]{1,8}\d)"
    r"|(?P<hex>(?=[a-f]*\d)[0-9a-fA-F]{8,})"
    r"|(?P<token>(?=.*\d|.*[a-z][A-Z])[\w.~=+-]{16,}(?<!-)(?=$))"
)
_WORDY = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)+")
_OPEN_KINDS = frozenset({"{int}", "{date}", "{slug}"})
MASKED = frozenset({"{uuid}", "{email}", "{hex}", "{token}", "{id}"})
"""Kinds whose values are never kept: such a path can only be asked for with a real value."""

OTHER = ("{any}",)


def kind_of(segment: str, before: str = "") -> str:
    """The segment itself if it is part of a route, else its kind, as `{int}` or `{int}.json`."""
    if before in _PRIVATE_AFTER and segment and segment not in ROUTE_WORDS:
        return "{int}" if segment.isdigit() and len(segment) < 7 else "{token}"
    if segment.isalpha() and segment.isascii() and len(segment) < 24 and _is_word(segment):
        return segment
    text = unquote(segment) if "%" in segment else segment
    stem, dot, extension = text.rpartition(".")
    if dot and stem and extension.isalpha() and len(extension) < 6 and "@" not in text:
        return f"{kind_of(stem, before)}.{extension}"
    if not text or text == ".well-known":
        return text
    found = _KINDS.fullmatch(text)
    kind = found.lastgroup if found else None
    if is_secret_value(text) or (kind == "token" and not _WORDY.fullmatch(text)):
        return "{token}"
    if kind and kind != "token":
        return text if kind == "literal" else f"{{{kind}}}"
    if any(map(str.isdigit, text)):
        return "{slug}" if _WORDY.fullmatch(text) else "{id}"
    return quote(text, safe="-_.~!$'()*+,;=:@")[:200] if text.isascii() else "{slug}"


def _is_word(letters: str) -> bool:
    """Capitals are few in names, as getOrderDetailsById; they are half of a random token."""
    return len(letters) < 16 or 4 * sum(map(str.isupper, letters)) <= len(letters)


def clean_query(query: str) -> str:
    """Keys with their values where a value can hold nothing private: small numbers, dates, words
    of an order or a language. All others become `x`."""
    if not query:
        return ""
    pairs = (pair.partition("=") for pair in query.split("&")[:30])
    return "&".join(_clean_pair(*pair) for pair in pairs)


def _clean_pair(name: str, sign: str, value: str) -> str:
    key = unquote(name)
    if not re.fullmatch(r"[\w.\[\]-]{1,40}", key) or kind_of(key).startswith("{"):
        return "x=x"  # what has no key may be a token itself
    secret = is_secret(key) or _SECRET_KEY.search(key)
    is_open = not secret and (
        re.fullmatch(r"-?\d{1,6}|\d{4}-\d\d-\d\d", value)
        or (key in _OPEN_KEYS and re.fullmatch(r"-?[A-Za-z_]{1,16}", value))
    )
    return quote(name, safe="%[]") + sign + (value if is_open else "x" * bool(value))


def sample_of(segments: Sequence[str], kinds: Sequence[str], query: str) -> str:
    """The path to ask for: real numbers, dates and slugs; placeholders for all that is masked."""
    shown = (
        segment if kind.split(".")[0] in _OPEN_KINDS or kind == segment else kind
        for segment, kind in zip(segments, kinds, strict=True)
    )
    path = "/" + "/".join(quote(one, safe="%:@!$&'()*+,;=~{}") for one in shown)
    path = path if len(kinds) < _MOST_SEGMENTS else path[:200]
    cleaned = clean_query(query)
    return f"{path}?{cleaned}" if cleaned else path


@dataclass(slots=True, eq=False)
class Leaf:
    """What was seen of one template. `samples` are paths in their real frequency."""

    parts: tuple[str, ...]
    count: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    timed: int = 0
    time_s: float = 0.0
    samples: list[str] = field(default_factory=list)
    moved: "Leaf | None" = None

    def take(self, other: "Leaf", random: Random) -> None:
        """Add the figures of a leaf that is folded into this one."""
        total = self.count + other.count
        if not self.samples or not other.samples:
            self.samples = self.samples or other.samples
        else:
            weights = (self.count, other.count)
            both = random.choices((self.samples, other.samples), weights, k=_KEPT_SAMPLES)
            self.samples = [random.choice(one) for one in both]
        self.count = total
        self.statuses.update(other.statuses)
        self.timed += other.timed
        self.time_s += other.time_s


@dataclass(slots=True, eq=False)
class _Node:
    children: dict[str, "_Node"] = field(default_factory=dict)
    leaf: Leaf | None = None
    is_wild: bool = False


class Tree:
    """The templates of all requests. `patterns` are the user's own, as `/shop/{name}/items`."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.random = Random(0)  # noqa: S311 - the same log gives the same samples
        self._roots: dict[tuple[str, int], _Node] = {}
        self._leaves = 0
        self._own = [tuple(_segments(pattern)) for pattern in patterns]

    def leaf(self, method: str, path: str) -> Leaf:
        """The leaf of a path. It may be folded into another later: `current` follows it."""
        segments = _segments(path)
        parts = self._own_parts(segments) or kinds_of(segments)
        if self._leaves >= MOST_LEAVES:
            self._fold_all()
        if self._leaves >= MOST_LEAVES:
            parts = OTHER
        root = self._roots.setdefault((method, len(parts)), _Node())
        return self._grown(root, parts)

    def _own_parts(self, segments: Sequence[str]) -> tuple[str, ...]:
        for own in self._own:
            if len(own) == len(segments) and all(
                a.startswith("{") or a == b for a, b in zip(own, segments, strict=True)
            ):
                return own
        return ()

    def _grown(self, node: _Node, parts: tuple[str, ...]) -> Leaf:
        for part in parts:
            if node.is_wild and part not in node.children and not _is_fixed(part):
                part = "{slug}"
            if (child := node.children.get(part)) is None:
                child = node.children[part] = _Node()
                if len(node.children) > _STREAMED:
                    self._fold(node)
                    child = node.children.get(part) or node.children["{slug}"]
            node = child
        if node.leaf is None:
            node.leaf = Leaf(parts)
            self._leaves += 1
        return node.leaf

    def _fold_all(self) -> None:
        for root in self._roots.values():
            self._fold_below(root, 0)

    def _fold_below(self, node: _Node, depth: int) -> None:
        if node.is_wild or _varies(node, depth):
            self._fold(node)
        for child in node.children.values():
            self._fold_below(child, depth + 1)

    def _fold(self, node: _Node) -> None:
        """Make one child of all that are no words of routes."""
        names = [name for name in node.children if not _is_fixed(name)]
        wild = node.children.setdefault("{slug}", _Node())
        node.is_wild = True
        for name in names:
            self._merge(wild, node.children.pop(name))

    def _merge(self, into: _Node, other: _Node) -> None:
        into.is_wild |= other.is_wild
        if other.leaf is not None:
            if into.leaf is None:
                into.leaf = other.leaf
            else:
                into.leaf.take(other.leaf, self.random)
                other.leaf.moved = into.leaf
                self._leaves -= 1
        for name, child in other.children.items():
            if name in into.children:
                self._merge(into.children[name], child)
            else:
                into.children[name] = child

    def templates(self) -> Iterator[tuple[str, str, Leaf]]:
        """Method, template and figures of each, after all has been folded."""
        self._fold_all()
        for (method, _), root in self._roots.items():
            for parts, leaf in _below(root, ()):
                yield method, "/" + "/".join(parts), leaf


def current(leaf: Leaf) -> Leaf:
    """The leaf into which this one was folded, or itself."""
    while leaf.moved is not None:
        leaf = leaf.moved
    return leaf


def kinds_of(segments: Sequence[str]) -> tuple[str, ...]:
    """The kind of each segment."""
    return tuple(map(kind_of, segments, ("", *segments)))


def _segments(path: str) -> list[str]:
    return path[1:].split("/", _MOST_SEGMENTS)


def _is_fixed(name: str) -> bool:
    return not name or name[0] == "{" or name in ROUTE_WORDS


def _varies(node: _Node, depth: int) -> bool:
    """Whether the literal children of a node are values, not parts of routes."""
    names = [name for name in node.children if not _is_fixed(name)]
    if len(names) <= _FEW or len(names) > _MANY:
        return len(names) > _MANY
    like_slugs = sum(not name.isalpha() or not name.islower() for name in names)
    return 2 * like_slugs >= len(names) or (depth > 0 and len(names) > 2 * _FEW)


def _below(node: _Node, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Leaf]]:
    if node.leaf is not None:
        yield parts, node.leaf
    for name, child in node.children.items():
        yield from _below(child, (*parts, name))
