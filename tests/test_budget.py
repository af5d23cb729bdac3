"""A budget is divided so that rounds and branches side by side never spend more than it, and nothing is lost."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from oragent._base.budget import UNITS, Budget, Spent

COUNTS = st.integers(0, 10**6)


@given(st.builds(Spent, COUNTS, COUNTS, COUNTS, st.floats(0, 1e6), st.floats(0, 1e6)), st.integers(1, 30))
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
    bounds = Spent(5, 10, 1000, 2.0, 3.0, 1.0)
    assert not Spent(4, 9, 999, 1.9, 2.9, 50.0).reaches_any(bounds)
    assert Spent(work=3.0).reaches_any(bounds)
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
        with pytest.raises(ValueError, match="bounds"):
            Budget(**given_bounds, until="both")


@given(st.lists(st.builds(Spent, COUNTS, COUNTS, COUNTS, st.floats(0, 1e6), st.floats(0, 1e6)), max_size=8))
def test_many_are_added_as_one_after_the_other(spent: list[Spent]) -> None:
    assert Spent(1, 2, 3, 0.1, 4.0, 5.0).add_all(spent) == sum(spent, Spent(1, 2, 3, 0.1, 4.0, 5.0))


AMOUNTS = st.builds(Spent, COUNTS, COUNTS, COUNTS, *[st.floats(0, 1e6)] * 3)


@given(
    st.builds(Spent, COUNTS, COUNTS, COUNTS, st.floats(0, 1e6), st.floats(0, 1e6)),
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
)
def test_each_weight_gets_one_and_the_rest_in_proportion(whole: Spent, weights: list[int]) -> None:
    parts = whole.split_by_weights(weights)
    for name in ("evaluations", "model_calls", "tokens"):
        total, shares = getattr(whole, name), [getattr(part, name) for part in parts]
        assert sum(shares) == total
        least = int(total >= len(weights))
        exact = [least + (total - least * len(weights)) * weight / sum(weights) for weight in weights]
        assert all(abs(share - value) < 1 for share, value in zip(shares, exact, strict=True))
        assert min(shares) >= least
    for name in ("money", "work"):
        shares = [getattr(whole, name) * weight / sum(weights) for weight in weights]
        assert [getattr(part, name) for part in parts] == pytest.approx(shares)
    assert {part.seconds for part in parts} == {0.0}


@given(AMOUNTS, AMOUNTS)
def test_amounts_are_added_and_subtracted_each_for_itself(first: Spent, second: Spent) -> None:
    total, rest = vars(first + second), vars(first - second)
    for name, amount in vars(first).items():
        assert total[name] == amount + getattr(second, name)
        assert rest[name] == max(0, amount - getattr(second, name))


@pytest.mark.parametrize(("position", "evaluations"), [(0, 4), (1, 4), (2, 3)])
def test_the_first_parts_are_the_larger_ones(position: int, evaluations: int) -> None:
    part = Spent(11, 6, 2, 1.5, 4.5).equal_part(position, 3)
    assert part == Spent(evaluations, 2, int(position < 2), 0.5, 1.5)


@given(
    st.builds(
        Budget,
        evaluations=st.integers(1, 99),
        tokens=st.none() | st.integers(1, 999),
        money=st.none() | st.floats(0.01, 9),
        work=st.none() | st.floats(0.01, 9),
    ),
    st.builds(Spent, st.integers(0, 99), COUNTS, st.integers(0, 999), st.floats(0, 9), st.floats(0, 9)),
)
def test_the_share_and_the_reached_bound_are_those_of_the_largest_use(budget: Budget, spent: Spent) -> None:
    shares = {name: getattr(spent, name) / bound for name, bound in budget.named_bounds.items()}
    assert budget.spent_share(spent) == min(1.0, max(shares.values()))
    reached = [name for name, share in shares.items() if share >= 1]
    words = budget.name_reached_bound(spent)
    assert (words is None) is (not reached)
    if words:
        assert f"{budget.named_bounds[reached[0]]:g} {UNITS.get(reached[0], reached[0])}" in words


def test_seconds_count_as_a_bound_but_not_as_a_share() -> None:
    budget = Budget(evaluations=10, seconds=60.0)
    assert budget.spent_share(Spent(evaluations=4, seconds=59.0)) == 0.4
    assert budget.name_reached_bound(Spent(seconds=59.9)) is None
    assert "60 seconds" in str(budget.name_reached_bound(Spent(seconds=60.0)))
    assert Budget(seconds=60.0).spent_share(Spent(seconds=59.0)) == 0.0


@pytest.mark.parametrize(
    ("bounds", "spent", "expected"),
    [
        # At half a unit a second, the other 6 take 12 seconds.
        ({"evaluations": 10}, Spent(evaluations=4, seconds=8.0), ("evaluations", 12.0)),
        ({"evaluations": 10, "seconds": 15.0}, Spent(evaluations=4, seconds=8.0), ("seconds", 7.0)),
        ({"evaluations": 10, "seconds": 30.0}, Spent(evaluations=4, seconds=8.0), ("evaluations", 12.0)),
        ({"evaluations": 10, "money": 2.0}, Spent(4, 0, 0, 1.5, seconds=8.0), ("money", 8 / 3)),
        ({"evaluations": 10, "work": 2.0}, Spent(4, work=1.5, seconds=8.0), ("work", 8 / 3)),
        ({"evaluations": 10}, Spent(evaluations=12, seconds=8.0), ("evaluations", 0.0)),
        ({"seconds": 5.0}, Spent(seconds=8.0), ("seconds", 0.0)),
        # Nothing was used: nothing can be predicted.
        ({"evaluations": 10}, Spent(seconds=8.0), None),
        ({"evaluations": 10, "seconds": 60.0}, Spent(), ("seconds", 60.0)),
        # The later of two joint bounds counts, and only if both can be predicted.
        ({"evaluations": 10, "model_calls": 10, "until": "both"}, Spent(5, 2, seconds=8.0), ("model_calls", 32.0)),
        ({"evaluations": 10, "model_calls": 10, "until": "both"}, Spent(5, 0, seconds=8.0), None),
        (
            {"evaluations": 10, "model_calls": 10, "seconds": 20.0, "until": "both"},
            Spent(5, 2, seconds=8.0),
            ("seconds", 12.0),
        ),
    ],
)
def test_the_bound_that_is_reached_first_at_the_present_rate(
    bounds: dict, spent: Spent, expected: tuple | None
) -> None:
    found = Budget(**bounds).next_bound(spent)
    assert found == (None if expected is None else (expected[0], pytest.approx(expected[1])))


def test_joint_bounds_count_as_one() -> None:
    budget = Budget(evaluations=10, model_calls=10, tokens=100, until="both")
    assert budget.spent_share(Spent(9, 2, 30)) == 0.3
    assert budget.spent_share(Spent(9, 5, 30)) == 0.5
    rest = budget.remaining(Spent(10, 10, 30))
    assert (rest.evaluations, rest.model_calls, rest.tokens) == (0, 0, 70)
    assert rest.money == pytest.approx(sys.maxsize)
    assert Budget(evaluations=10).remaining(Spent(3), Spent(4)).evaluations == 3
    assert Budget(evaluations=10).joint_bounds == ()


@pytest.mark.parametrize(("seconds", "grace"), [(None, 1.0), (5.0, 1.0), (100.0, 10.0), (299.0, 29.9), (1000.0, 30.0)])
def test_the_grace_of_a_time(seconds: float | None, grace: float) -> None:
    assert Budget(seconds=seconds).grace_s == pytest.approx(grace)


@pytest.mark.parametrize(
    ("tree", "is_read"),
    [
        ({}, True), ({"evaluations": 0, "money": 0.5}, True), ({"tokens": 10**17}, True), ({"tokens": 10**18}, False),
        ({"evaluations": -1}, False), ({"money": float("nan")}, False), ({"money": True}, False), ({"money": "1"}, False),
        ({"calls": 1}, False), ([], False), (None, False),
    ],
)  # fmt: skip
def test_amounts_are_read_from_plain_numbers(tree: object, is_read: bool) -> None:
    if is_read:
        assert {name: value for name, value in vars(Spent.from_tree(tree)).items() if value} == {
            k: v for k, v in tree.items() if v
        }
    else:
        with pytest.raises(ValueError):  # noqa: PT011
            Spent.from_tree(tree)
