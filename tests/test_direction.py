import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.direction import Direction

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
def test_what_one_direction_calls_better_the_other_calls_worse(first: float, second: float) -> None:
    assert Direction.MAXIMIZE.better(first, second) == Direction.MINIMIZE.better(second, first) == (first > second)


@given(st.lists(FINITE, min_size=1))
def test_nothing_is_better_than_the_best(scores: list[float]) -> None:
    for direction in Direction:
        best = direction.best(scores)
        assert best in scores
        assert not any(direction.better(score, best) for score in scores)


@pytest.mark.parametrize(("name", "words", "sign"), [("maximize", "higher", 1.0), ("minimize", "lower", -1.0)])
def test_a_direction_is_read_from_its_name_and_says_which_way_is_good(name: str, words: str, sign: float) -> None:
    direction = Direction(name)
    assert (direction.sign, direction.comparative, direction.words) == (sign, words, f"{words} is better")
    assert str(direction) == name
