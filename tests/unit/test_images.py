"""Which texts name an image, and which image they name."""

import pytest

from tuner.nouns.model import ImageName

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("cart", "docker.io/library/cart:latest"),
        ("docker.io/cart:1.4", "docker.io/library/cart:1.4"),
        ("shop/cart:1.4", "docker.io/shop/cart:1.4"),
        ("localhost/cart", "localhost/cart:latest"),
        ("Registry.example:5000/a/b-c__d.e:V1", "Registry.example:5000/a/b-c__d.e:V1"),
        ("[::1]:5000/cart", "[::1]:5000/cart:latest"),
        (f"registry.example/cart:1.4@{DIGEST}", f"registry.example/cart@{DIGEST}"),
        (DIGEST, DIGEST),
    ],
)
def test_what_is_left_out_is_filled_in_as_docker_does(text: str, reference: str) -> None:
    assert ImageName.parse(text).reference == reference


@pytest.mark.parametrize(
    "text",
    [
        *("", "../x://y", "../images", "a/../b", "/cart", "cart/", "a//b", "-cart", "Cart", "x y"),
        *(
            "cart:",
            "cart@",
            "cart:1:2",
            "cart\n",
            "http://registry/cart",
            "cart?tag=1",
            "c\u00e4rt",
        ),
        *(f"cart:{'1' * 129}", "cart@sha256:12", f"cart@{DIGEST.upper()}", "a/" * 128 + "b"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an image reference"):
        ImageName.parse(text)


def test_globs_are_of_registry_and_repository() -> None:
    cart = ImageName.parse("registry.example/shop/cart:1.4")
    assert cart.is_among([])
    assert cart.is_among(["docker.io/*", "registry.example/shop/*"])
    assert not cart.is_among(["registry.example/cart", "shop/cart"])
    assert not ImageName.parse("registry.example.evil/shop/cart").is_among(["registry.example/*"])
    assert not ImageName.parse(DIGEST).is_among(["docker.io/*"])  # an id may be any image
