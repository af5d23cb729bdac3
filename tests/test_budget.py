"""A budget is divided so that rounds and branches side by side never spend more than it, and nothing is lost."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from oragent.budget import Budget, Spent

COUNTS = st.integers(0, 10**6)


@given(st.builds(Spent, COUNTS, COUNTS, COUNTS, st.floats(0, 1e6)), st.integers(1, 30))
def test_the_parts_of_a_whole_are_even_and_together_it(whole: Spent, count: int) -> None:
    parts = [whole.part(position, count) for position in range(count)]
    assert sum(part.evaluations for part in parts) == whole.evaluations
    assert sum(part.model_calls for part in parts) == whole.model_calls
    assert sum(part.tokens for part in parts) == whole.tokens
    assert abs(sum(part.money for part in parts) - whole.money) < 1e-6
    assert parts[0].evaluations - parts[-1].evaluations in (0, 1)


def test_what_is_left_is_never_below_nothing_and_unbounded_where_there_is_no_bound() -> None:
    room = Budget(evaluations=10, money=1.5).room(Spent(evaluations=12, model_calls=3, money=0.5, seconds=99.0))
    assert (room.evaluations, room.money, room.seconds) == (0, 1.0, 0.0)
    assert room.model_calls > sys.maxsize // 2


def test_a_bound_is_reached_when_one_kind_is_used_up_whatever_the_time() -> None:
    bounds = Spent(5, 10, 1000, 2.0, 1.0)
    assert not Spent(4, 9, 999, 1.9, 50.0).reaches(bounds)
    assert Spent(5, 0, 0, 0.0).reaches(bounds)
    assert Spent(0, 0, 0, 2.0).reaches(bounds)
