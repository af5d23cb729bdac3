"""A budget is divided so that rounds and branches side by side never spend more than it, and nothing is lost."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from oragent._base.budget import Budget, Spent

COUNTS = st.integers(0, 10**6)


@given(st.builds(Spent, COUNTS, COUNTS, COUNTS, st.floats(0, 1e6)), st.integers(1, 30))
def test_the_parts_of_a_whole_are_even_and_together_it(whole: Spent, count: int) -> None:
    parts = [whole.equal_part(position, count) for position in range(count)]
    assert sum(part.evaluations for part in parts) == whole.evaluations
    assert sum(part.model_calls for part in parts) == whole.model_calls
    assert sum(part.tokens for part in parts) == whole.tokens
    assert abs(sum(part.money for part in parts) - whole.money) < 1e-6
    assert parts[0].evaluations - parts[-1].evaluations in (0, 1)


def test_what_is_left_is_never_below_nothing_and_unbounded_where_there_is_no_bound() -> None:
    room = Budget(evaluations=10, money=1.5).remaining(Spent(evaluations=12, model_calls=3, money=0.5, seconds=99.0))
    assert (room.evaluations, room.money, room.seconds) == (0, 1.0, 0.0)
    assert room.model_calls > sys.maxsize // 2


def test_a_bound_is_reached_when_one_kind_is_used_up_whatever_the_time() -> None:
    bounds = Spent(5, 10, 1000, 2.0, 1.0)
    assert not Spent(4, 9, 999, 1.9, 50.0).reaches_any(bounds)
    assert Spent(5, 0, 0, 0.0).reaches_any(bounds)
    assert Spent(0, 0, 0, 2.0).reaches_any(bounds)


@pytest.mark.parametrize("given", [{}, {"seconds": None}, {"money": None, "tokens": None}])
def test_who_names_no_bound_has_the_default(given: dict[str, None]) -> None:
    assert Budget(**given) == Budget(evaluations=200) == TypeAdapter(Budget).validate_python(given)


@pytest.mark.parametrize("given", [{"seconds": 60.0}, {"money": 2.5}, {"model_calls": 3, "tokens": 5}])
def test_a_bound_that_is_named_replaces_the_default(given: dict[str, float]) -> None:
    for budget in (Budget(**given), TypeAdapter(Budget).validate_python(given)):
        assert budget.named_bounds == given


def test_bounds_that_are_named_together_hold_together() -> None:
    assert Budget(evaluations=7, seconds=60.0).evaluations == 7
    assert Budget(evaluations=None).evaluations is None


@given(st.floats(1e-3, 1e7))
def test_the_grace_is_a_tenth_of_the_time_within_bounds(seconds: float) -> None:
    grace = Budget(seconds=seconds).grace_s
    assert 1.0 <= grace <= 30.0
    assert grace == seconds / 10 or grace in (1.0, 30.0) or abs(grace - seconds / 10) < 1e-9


BOTH = Budget(evaluations=5, model_calls=10, until="both")


@given(COUNTS, COUNTS)
def test_until_both_ends_when_both_are_reached_and_never_before(evaluations: int, calls: int) -> None:
    spent = Spent(evaluations % 20, calls % 20)
    over = BOTH.name_reached_bound(spent) is not None
    assert over == (spent.evaluations >= 5 and spent.model_calls >= 10)
    room = BOTH.remaining(spent, Spent(sys.maxsize // 2, sys.maxsize // 2))
    assert (room.evaluations, room.model_calls) == ((0, 0) if over else (sys.maxsize, sys.maxsize))
    assert BOTH.spent_share(spent) == min(1.0, spent.evaluations / 5, spent.model_calls / 10)


def test_other_bounds_hold_by_themselves_and_both_must_be_named() -> None:
    budget = Budget(evaluations=5, model_calls=10, money=1.0, until="both")
    assert budget.name_reached_bound(Spent(0, 0, 0, 1.5)) == "the budget of 1 US dollars is used up"
    assert budget.remaining(Spent(0, 0, 0, 0.25), Spent(money=0.25)).money == 0.5
    assert BOTH.name_reached_bound(Spent(5, 10)) == "the budget of 5 evaluations and 10 model calls is used up"
    assert BOTH.next_bound(Spent(4, 1, seconds=10.0)) == ("model_calls", 90.0)
    for given_bounds in ({"evaluations": 5}, {"model_calls": 5}, {}):
        with pytest.raises(ValueError, match="until: both needs two bounds"):
            Budget(**given_bounds, until="both")


@given(st.lists(st.builds(Spent, COUNTS, COUNTS, COUNTS, st.floats(0, 1e6)), max_size=8))
def test_many_are_added_as_one_after_the_other(spent: list[Spent]) -> None:
    assert Spent(1, 2, 3, 0.1, 4.0).add_all(spent) == sum(spent, Spent(1, 2, 3, 0.1, 4.0))
