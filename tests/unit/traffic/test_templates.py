"""Paths are folded by what varies, and nothing private is kept."""

from random import Random

import pytest

from tests.access_logs import WORDS, slug
from tuner.traffic.templates import Tree, clean_query, current, kind_of, kinds_of, sample_of


def templates(paths: list[str], patterns: tuple[str, ...] = ()) -> dict[str, int]:
    tree = Tree(patterns)
    for path in paths:
        current(tree.leaf("GET", path)).count += 1
    return {template: leaf.count for _, template, leaf in tree.templates() if leaf.count}


@pytest.mark.parametrize(
    ("segment", "kind"),
    [
        ("orders", "orders"),
        ("v1", "v1"),
        ("oauth2", "oauth2"),
        ("en-GB", "en-GB"),
        ("8231", "{int}"),
        ("8231.json", "{int}.json"),
        ("2026-11-28", "{date}"),
        ("0a1b2c3d-1111-4222-8333-444455556666", "{uuid}"),
        ("deadbeef01", "{hex}"),
        ("ann%40shop.example", "{email}"),
        ("eyJhbGciOiJIUzI1NiIsInR5cCI6.eyJzdWIiOiIxMjM0NTY3ODkwIn0", "{token}"),
        ("dGhpc0lzQVNlY3JldDEyMw", "{token}"),
        ("dGhpcyBpcHNhYRlc", "{token}"),
        ("getOrderDetailsById", "getOrderDetailsById"),
        ("iphone-15-pro", "{slug}"),
        ("B08N5WRWNW", "{id}"),
        ("caf\xe9", "{slug}"),
        ("", ""),
    ],
)
def test_kinds(segment: str, kind: str) -> None:
    assert kind_of(segment) == kind


@pytest.mark.parametrize("before", ["reset", "unsubscribe", "invite", "session"])
def test_what_follows_a_private_word_is_a_token_whatever_it_looks_like(before: str) -> None:
    assert kind_of("abcdef", before) == "{token}"


def test_slugs_become_one_template_and_words_of_routes_stay() -> None:
    random = Random(1)  # noqa: S311
    paths = [f"/blog/{slug(random)}" for _ in range(3000)] + ["/blog/archive"] * 5
    assert templates(paths) == {"/blog/{slug}": 3000, "/blog/archive": 5}


def test_few_names_stay_routes() -> None:
    paths = [f"/{word}/{n}" for word in WORDS[:10] for n in range(20)]
    assert set(templates(paths)) == {f"/{word}/{{int}}" for word in WORDS[:10]}


def test_names_of_users_at_the_root_are_folded_with_what_follows() -> None:
    random = Random(2)  # noqa: S311
    names = ["".join(random.choices("abcdefghij", k=6)) for _ in range(1000)]
    paths = [f"/{name}/{rest}" for name in names for rest in ("issues", "pulls")]
    assert templates([*paths, "/api/issues"]) == {
        "/{slug}/issues": 1000,
        "/{slug}/pulls": 1000,
        "/api/issues": 1,
    }


def test_the_users_own_template_comes_first() -> None:
    found = templates(["/shop/red/items", "/shop/blue/items"], ("/shop/{name}/items",))
    assert found == {"/shop/{name}/items": 2}


def test_the_tree_stays_small() -> None:
    random = Random(3)  # noqa: S311
    word = "abcdefghijklmnopqrstuvwxyz"
    tree = Tree()
    for _ in range(60_000):
        parts = ("".join(random.choices(word, k=5)) for _ in range(random.randrange(1, 6)))
        current(tree.leaf("GET", "/" + "/".join(parts))).count += 1
    found = list(tree.templates())
    assert len(found) < 50
    assert sum(leaf.count for _, _, leaf in found) == 60_000


def test_a_leaf_that_was_folded_leads_to_the_one_that_counts() -> None:
    tree = Tree()
    first = tree.leaf("GET", "/blog/" + "first-post")
    for n in range(400):
        tree.leaf("GET", f"/blog/a-{'x' * (n + 1)}-post")
    current(first).count += 1
    assert {t: leaf.count for _, t, leaf in tree.templates()} == {"/blog/{slug}": 1}


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("page=2&sort=-price", "page=2&sort=-price"),
        ("q=red+shoes", "q=x"),
        ("token=1234", "token=x"),
        ("code=77", "code=x"),
        ("email=ann@shop.example", "email=x"),
        ("from=2026-01-01", "from=2026-01-01"),
        ("eyJhbGciOiJIUzI1NiJ9", "x=x"),
        ("next=", "next="),
        ("phone=555123", "phone=x"),
    ],
)
def test_values_of_a_query(query: str, kept: str) -> None:
    assert clean_query(query) == kept


def test_a_sample_has_real_numbers_and_no_private_value() -> None:
    segments = ["users", "0a1b2c3d-1111-4222-8333-444455556666", "orders", "17"]
    assert sample_of(segments, kinds_of(segments), "") == "/users/{uuid}/orders/17"
