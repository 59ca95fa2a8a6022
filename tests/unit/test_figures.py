import pytest

from tuner.model import percent


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.068, "+6.8 %"), (-0.0125, "-1.2 %"), (-0.0004, "+0.0 %"), (0.0, "+0.0 %")],
)
def test_a_change_has_its_sign_and_none_that_it_lacks(share: float, text: str) -> None:
    assert percent(share) == text
