"""An explanation states what the oracles say, in plain sentences."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oragent.modelling.data.display import figure, signed
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.operations.flat_explanation import Topic, explain
from oragent.modelling.operations.inverse_objectives import marginal
from oragent.modelling.solving.flat_solving import solve
from tests.modelling.models import models, pharmacy, steel


def told(milp: Milp, topic: Topic) -> dict[str, str]:
    return {one.subject: one.text for one in explain(milp, solve(milp)) if one.topic is topic}


def test_steel_in_words() -> None:
    assert told(steel(), Topic.STATUS)[""] == "Optimal: 194,828.57 dollars. No feasible point is better."
    assert told(steel(), Topic.BINDING) == {
        "hours": "'hours' binds (at most 40): each unit more changes the objective by +4,640 dollars (better), "
        "from 38.2589 to 55.4464."
    }
    bounds = told(steel(), Topic.BOUND)
    assert list(bounds) == ["coils", "bands"]
    assert bounds["coils"].startswith("'coils' stands at its least value, 500 tons. Each unit more of it would change")
    assert "by -3.14286 dollars (worse)" in bounds["coils"]
    assert bounds["coils"].endswith("if its coefficient in the objective went from 30 beyond 33.1429.")
    assert "by +1.8 dollars (better), from 2,910.71 to 6,348.21" in bounds["bands"]


@pytest.mark.parametrize(("value", "text"), [
    (15339.1, "15,339.1"), (17.33688799, "17.3369"), (1320.833333, "1,320.83"), (20171.56, "20,171.56"), (-0.5, "-0.5"),
    (1234567.0, "1,234,567"), (999999.99, "999,999.99"), (999999.999, "1,000,000"), (0.00123456789, "0.00123457"), (1.5e-6, "1.5e-06"), (100.0, "100"),
    (-1e-12, "0"), (float("inf"), "inf"), (2e18, "2e+18"),
])  # fmt: skip
def test_a_figure_of_a_sentence_has_six_digits_cents_and_thousands_apart(value: float, text: str) -> None:
    assert figure(value) == text
    assert signed(value, figure) == (text if text[0] in "-0" and value < 1e-9 else f"+{text}")


def test_rows_with_room_say_how_much() -> None:
    assert told(pharmacy(), Topic.SLACK)["morphine"] == "'morphine' has room: 1,202, at most 3,000, 1,798 to spare."


def test_an_integer_model_says_where_its_duals_are_from() -> None:
    (text,) = told(pharmacy(), Topic.BINDING).values()
    assert "with its integers relaxed, each unit more would change the objective by +14.6667" in text
    assert "(worse), from 0 to 125" in text


def test_a_variable_that_is_not_used_says_what_it_would_take() -> None:
    variables = (Variable("good"), Variable("poor"))
    row = Row("room", {"good": 1, "poor": 1}, Relation.AT_MOST, 10)
    milp = Milp(variables, (row,), Objective({"good": 5, "poor": 2}), Sense.MAXIMIZE)
    assert told(milp, Topic.BOUND)["poor"] == (
        "'poor' is not used. Each unit more of it would change the objective by -3 (worse), up to 10. "
        "It would move if its coefficient in the objective went from 2 beyond 5."
    )


def test_at_a_corner_more_and_less_are_told_apart() -> None:
    """Of two equal limits, more of one gains nothing, and less of it loses."""
    rows = tuple(Row(name, {"x": 1}, Relation.AT_MOST, 4) for name in ("first", "second"))
    milp = Milp((Variable("x"),), rows, Objective({"x": 3}), Sense.MAXIMIZE)
    texts = told(milp, Topic.BINDING)
    for name in ("first", "second"):
        assert texts[name] == (
            f"'{name}' binds (at most 4): each unit more changes the objective by nothing; "
            "each unit less changes the objective by -3 (worse), down to 0."
        )


@pytest.mark.slow
@given(models(integers=False), st.data())
def test_slopes_to_either_side_are_finite_differences(milp: Milp, data: st.DataObject) -> None:
    assume(milp.rows)
    solution = solve(milp)
    assume(solution.status is SolveStatus.OPTIMAL)
    row = data.draw(st.sampled_from(milp.rows))
    sides = marginal(milp, solution, row.name)
    for slope, side in ((sides.more, 1), (sides.less, -1)):
        end = row.rhs + side * 1e-3 if slope is None else max(min(slope.until, row.rhs + 7), row.rhs - 7)
        moved = solve(replace(milp, rows=tuple(replace(one, rhs=end) if one is row else one for one in milp.rows)))
        if slope is None:
            assert moved.status is not SolveStatus.OPTIMAL
        else:
            assert side * (end - row.rhs) > 0
            assert moved.objective == pytest.approx(solution.objective + slope.rate * (end - row.rhs), abs=1e-5)


def test_an_infeasible_model_names_its_conflict_and_the_nearest_right_hand_sides() -> None:
    conflict = told(steel(hours=12), Topic.CONFLICT)
    assert list(conflict) == ["", "hours", "bands", "coils", "plate"]
    assert conflict["coils"] == "'coils' is at least 500."
    assert told(steel(hours=12), Topic.NEAREST)["hours"] == "'hours' would have to be <= 13.25892857, not 12."
    rows = steel(hours=12, bounds_as_rows=True)
    texts = [one.text for one in explain(rows, solve(rows)) if one.topic is Topic.NEAREST]
    assert "Alone, 'least coils' would have to be >= 323.75." in texts
    assert "Alone, 'hours' would have to be <= 13.25892857." in texts


def test_bounds_that_leave_no_point_are_said() -> None:
    milp = Milp([Variable("x", 0.2, 0.8, VariableKind.INTEGER)], [], Objective(), Sense.MINIMIZE)
    assert told(milp, Topic.NEAREST)[""] == "No change of right-hand sides would do: the bounds leave no point."


def test_an_unbounded_model_names_what_runs_off() -> None:
    variables = (
        Variable("x", kind=VariableKind.INTEGER),
        Variable("y", kind=VariableKind.INTEGER),
        Variable("z", 0, 9),
    )
    rows = (Row("d", {"x": 1, "y": -1}, Relation.AT_MOST, 0.5),)
    milp = Milp(variables, rows, Objective({"x": 1, "z": 1}), Sense.MAXIMIZE)
    rays = told(milp, Topic.RAY)
    assert set(rays) == {"", "x", "y"}
    assert rays[""] == "For ever in these proportions: 'x' +1, 'y' +1; each time the objective changes by +1."


def test_what_is_not_known_is_said() -> None:
    (only,) = explain(steel(), Solution(SolveStatus.UNKNOWN, note="the solver stopped"))
    assert only.text == "Unknown: the solver stopped."
    open_gap = Solution(SolveStatus.FEASIBLE, 90.0, 100.0, 0.11, solve(steel()).values, {"hours": 39.0}, {"hours": 1.0})
    assert explain(steel(), open_gap)[0].text == (
        "Feasible, not proven to be the best: 90 dollars; none can be larger than 100."
    )


@pytest.mark.slow
@given(models())
def test_every_model_can_be_explained(milp: Milp) -> None:
    solution = solve(milp)
    remarks = explain(milp, solution, limit_s=5)
    assert remarks[0].topic is Topic.STATUS
    assert all(one.text.endswith((".", "?")) and "\n" not in one.text for one in remarks)


def test_a_foreign_name_cannot_drive_a_terminal() -> None:
    name = "\x1b[31m[bold]\u202e\n"
    milp = Milp([Variable(name)], [Row(name, {name: 1}, "<=", 3)], Objective({name: 1}), "maximize")
    for model in (milp, replace(milp, rows=[]), replace(milp, variables=[Variable(name, 4)])):
        assert not any({"\x1b", "\u202e", "\n"} & set(one.text) for one in explain(model, solve(model)))


def test_slopes_at_a_corner_are_those_of_its_two_sides() -> None:
    """More room gains y, at 1 a unit; less room costs x, at 3 a unit, down to its least value."""
    rows = (Row("room", {"x": 1, "y": 1}, Relation.AT_MOST, 4), Row("x alone", {"x": 1}, Relation.AT_MOST, 4))
    milp = Milp((Variable("x", 2), Variable("y")), rows, Objective({"x": 3, "y": 1}), Sense.MAXIMIZE)
    sides = marginal(milp, solve(milp), "room")
    assert (sides.more.rate, sides.less.rate, sides.less.until) == (1, 3, 2)
