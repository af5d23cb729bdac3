"""An explanation agrees with finite differences and with the conflicts of its operations."""

import io

import pytest
from hypothesis import assume, given
from rich.console import Console

from oragent.modelling.data.display import amount, figure, rounded, signed
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import ModelSession
from oragent.modelling.operations.explanation import Explanation, explain
from oragent.modelling.operations.outcomes import Outcome, SolveLimits, solution_outcome
from oragent.modelling.operations.printing import print_fields
from oragent.modelling.operations.results import RangeEntry
from oragent.modelling.solving.model_solving import solve
from tests.modelling.models import models, pharmacy, steel, with_rhs


def ranges(milp: IndexedModel, of: str) -> dict[str, RangeEntry]:
    return {entry.name: entry for entry in explain(group_by_names(milp)).ranges if entry.of == of}


def ends(entry: RangeEntry) -> tuple[float | None, float | None, float]:
    assert entry.price is not None
    assert entry.price.value is not None
    return entry.low, entry.high, entry.price.value


def test_steel() -> None:
    assert ends(ranges(steel(), "right-hand side")["hours"]) == pytest.approx((38.25892857, 55.44642857, 4640))
    bounds = ranges(steel(), "bound")
    assert list(bounds) == ["coils", "bands"]
    assert bounds["coils"].value.value == 500
    assert ends(bounds["coils"])[2] == pytest.approx(-22 / 7)
    assert ends(bounds["bands"]) == pytest.approx((2910.714286, 6348.214286, 1.8))


@pytest.mark.parametrize(("value", "text"), [
    (15339.1, "15,339.1"), (17.33688799, "17.3369"), (1320.833333, "1,320.83"), (20171.56, "20,171.56"), (-0.5, "-0.5"),
    (1234567.0, "1,234,567"), (999999.99, "999,999.99"), (999999.999, "1,000,000"), (0.00123456789, "0.00123457"), (1.5e-6, "1.5e-06"), (100.0, "100"),
    (-1e-12, "0"), (float("inf"), "inf"), (2e18, "2e+18"),
])  # fmt: skip
def test_a_figure_of_a_sentence_has_six_digits_cents_and_thousands_apart(value: float, text: str) -> None:
    assert figure(value) == text
    assert signed(value, figure) == (text if text[0] in "-0" and value < 1e-9 else f"+{text}")


def test_a_known_solution_is_explained_as_it_is() -> None:
    for milp in (steel(), pharmacy(), steel(hours=12)):
        model = group_by_names(milp)
        assert explain(model, outcome=solution_outcome(solve(milp))) == explain(model)


def test_rows_with_room_do_not_bind() -> None:
    assert "morphine" not in {row.name for row in explain(group_by_names(pharmacy())).binding}


def test_a_variable_that_is_not_used_says_what_it_would_cost() -> None:
    variables = (Variable("good"), Variable("poor"))
    row = Row("room", {"good": 1, "poor": 1}, Relation.AT_MOST, 10)
    milp = IndexedModel.from_records(variables, (row,), Objective({"good": 5, "poor": 2}), Sense.MAXIMIZE)
    _, high, price = ends(ranges(milp, "bound")["poor"])
    assert (high, price) == (10, -3)


def test_at_a_corner_more_and_less_are_told_apart() -> None:
    """Of two equal limits, more of one gains nothing, and less of it loses."""
    rows = tuple(Row(name, {"x": 1}, Relation.AT_MOST, 4) for name in ("first", "second"))
    milp = IndexedModel.from_records((Variable("x"),), rows, Objective({"x": 3}), Sense.MAXIMIZE)
    entries = explain(group_by_names(milp)).ranges
    for name in ("first", "second"):
        assert [ends(entry) for entry in entries if entry.name == name] == [(0, 4, 3), (4, None, 0)]


def test_slopes_at_a_corner_are_those_of_its_two_sides() -> None:
    """More room gains y, at 1 a unit; less room costs x, at 3 a unit, down to its least value."""
    rows = (Row("room", {"x": 1, "y": 1}, Relation.AT_MOST, 4), Row("x alone", {"x": 1}, Relation.AT_MOST, 4))
    milp = IndexedModel.from_records(
        (Variable("x", 2), Variable("y")), rows, Objective({"x": 3, "y": 1}), Sense.MAXIMIZE
    )
    less, more = [ends(entry) for entry in explain(group_by_names(milp)).ranges if entry.name == "room"]
    assert (less[0], less[2], more[2]) == (2, 3, 1)


def test_prices_that_are_not_those_of_the_whole_model_say_so() -> None:
    """One more of ``total`` gains 1 by a whole z, but with z fixed it costs 1."""
    kinds = {"z": VariableKind.INTEGER}
    variables = tuple(Variable(name, kind=kinds.get(name, VariableKind.CONTINUOUS)) for name in "xyz")
    rows = (Row("cap", {"x": 1, "y": 1}, Relation.AT_MOST, 7), Row("total", {"x": 1, "z": 1}, Relation.EQUAL, 4))
    milp = IndexedModel.from_records(variables, rows, Objective({"x": 2, "y": 3, "z": 1}), Sense.MAXIMIZE)
    explained = explain(group_by_names(milp))
    assert -1 in [entry.price.value for entry in explained.ranges if entry.name == "total" and entry.price]
    assert explained.with_integers_fixed
    assert explain(group_by_names(milp.without_integrality())).with_integers_fixed is None
    goals = (FurtherObjective("first", {"x": 1, "y": 1}, Sense.MAXIMIZE, weight=1, priority=1),)
    both = milp.without_integrality().with_records(features=ModelFeatures(goals=goals))
    assert len(explain(group_by_names(both)).notes) == 1
    assert explain(group_by_names(milp.without_integrality())).notes == ()


@pytest.mark.slow
@given(models(integers=False))
def test_prices_of_binding_rows_are_finite_differences(milp: IndexedModel) -> None:
    solution = solve(milp)
    assume(solution.status is SolveStatus.OPTIMAL)
    names = dict(zip(group_by_names(milp).row_names, milp.row_records, strict=True))
    for entry in explain(group_by_names(milp)).ranges:
        if entry.of != "right-hand side" or entry.price is None or entry.price.value is None:
            continue
        row = names[entry.name]
        for end in (entry.low, entry.high):
            step = 0.0 if end is None else max(min(end - row.rhs, 7.0), -7.0)
            moved = solve(with_rhs(milp, {row.name: row.rhs + step}))
            assert moved.objective == pytest.approx(solution.objective + entry.price.value * step, abs=1e-5)


def test_an_infeasible_model_names_its_conflict_and_the_nearest_right_hand_sides() -> None:
    explained = explain(group_by_names(steel(hours=12)))
    assert {name for family in explained.conflict for name in family.names} == {"hours", "bands", "coils", "plate"}
    assert explained.irreducible
    (change,) = explained.changes
    assert (change.row, change.before, change.after) == ("hours", 12, pytest.approx(13.25892857))
    alone = {one.row: one.after for one in explain(group_by_names(steel(hours=12, bounds_as_rows=True))).each_alone}
    assert alone['"least coils"'] == pytest.approx(323.75)
    assert alone["hours"] == pytest.approx(13.25892857)


def test_one_row_alone_is_the_whole_repair_and_each_of_two_is_a_repair() -> None:
    assert explain(group_by_names(steel(hours=12))).each_alone == ()
    rows = (Row("least", {"x": 1}, Relation.AT_LEAST, 5), Row("most", {"x": 1}, Relation.AT_MOST, 3))
    milp = IndexedModel.from_records((Variable("x"),), rows, Objective({"x": 1}), Sense.MINIMIZE)
    alone = explain(group_by_names(milp)).each_alone
    assert [(change.row, change.before, change.after) for change in alone] == [("least", 5, 3), ("most", 3, 5)]


def test_bounds_that_leave_no_point_are_said() -> None:
    milp = IndexedModel.from_records([Variable("x", 0.2, 0.8, VariableKind.INTEGER)], [], Objective(), Sense.MINIMIZE)
    explained = explain(group_by_names(milp))
    assert {family.part for family in explained.conflict} == {"lower bounds", "upper bounds"}
    assert explained.least_total_change is None
    assert explained.notes


def test_an_unbounded_model_names_what_runs_off() -> None:
    variables = (
        Variable("x", kind=VariableKind.INTEGER),
        Variable("y", kind=VariableKind.INTEGER),
        Variable("z", 0, 9),
    )
    rows = (Row("d", {"x": 1, "y": -1}, Relation.AT_MOST, 0.5),)
    milp = IndexedModel.from_records(variables, rows, Objective({"x": 1, "z": 1}), Sense.MAXIMIZE)
    explained = explain(group_by_names(milp))
    assert explained.direction == (("x", 1), ("y", 1))
    assert explained.change is not None
    assert explained.change.value == 1


def test_what_is_not_known_is_not_explained() -> None:
    limits = SolveLimits()
    assert explain(group_by_names(steel(hours=12)), limits, Outcome(SolveStatus.UNKNOWN)) == Explanation()


@pytest.mark.slow
@given(models())
def test_every_model_can_be_explained(milp: IndexedModel) -> None:
    status = solve(milp).status
    explained = explain(group_by_names(milp), SolveLimits(seconds=5))
    assert bool(explained.direction) == (status is SolveStatus.UNBOUNDED)
    assert status is SolveStatus.INFEASIBLE or not explained.conflict


def test_a_foreign_name_cannot_drive_a_terminal() -> None:
    name = "\x1b[31m[bold]\u202e\n"
    milp = IndexedModel.from_records(
        [Variable(name)], [Row(name, {name: 1}, "<=", 3)], Objective({name: 1}), "maximize"
    )
    for model in (
        milp,
        IndexedModel.from_records([Variable(name)], [], milp.objective_record, "maximize"),
        IndexedModel.from_records([Variable(name, 4)], milp.row_records, milp.objective_record, "maximize"),
    ):
        out = io.StringIO()
        print_fields(explain(group_by_names(model)), Console(file=out, width=80))
        assert not {"\x1b", "\u202e"} & set(out.getvalue())


def test_ranges_of_several_rows_are_those_of_each_row_alone() -> None:
    rows = (
        Row("first", {"a": 1.0, "b": 1.0}, Relation.AT_MOST, 4.0),
        Row("second", {"a": 1.0, "b": 3.0}, Relation.AT_MOST, 6.0),
    )
    variables = (Variable("a"), Variable("b"))
    model = IndexedModel.from_records(variables, rows, Objective({"a": 3.0, "b": 4.0}), Sense.MAXIMIZE)
    together = ModelSession(model).ask("range rows").entries
    alone = [ModelSession(model).ask(f"range rows.{name}").entries[0] for name in ("first", "second")]
    assert list(together) == alone
    # By hand: at a = 3, b = 1 the basis holds while both stay at least 0.
    assert [ends(entry) for entry in together] == [pytest.approx((2, 6, 2.5)), pytest.approx((4, 12, 0.5))]


@pytest.mark.parametrize(("value", "plain", "sized"), [
    (1e-9, "1e-09", "1e-09"), (9.9e-10, "0", "0"), (-1e-9, "-1e-09", "-1e-09"), (0.01, "0.01", "0.01"), (0.00999, "0.00999", "0.00999"),
    (0.00123456, "0.00123456", "0.00123"), (1234.56789, "1234.56789", "1,234.5679"), (-0.012345, "-0.012345", "-0.0123"),
    (1e15, "1e+15", "1e+15"), (999999999999999.0, "1e+15", "999,999,999,999,999"), (-3.0, "-3", "-3"), (-0.0, "0", "0"),
    (-0.00123456, "-0.00123456", "-0.00123"), (-1234.56789, "-1234.56789", "-1,234.5679"), (-9.9e-10, "0", "0"), (-2e15, "-2e+15", "-2e+15"),
    (float("inf"), "inf", "inf"), (float("-inf"), "-inf", "-inf"), (12345678901.0, "1.23456789e+10", "12,345,678,901"),
])  # fmt: skip
def test_figures_and_amounts_have_their_digits(value: float, plain: str, sized: str) -> None:
    assert (rounded(value), amount(value)) == (plain, sized)
    assert signed(value) == (
        plain if plain[0] in "-0" and plain in ("0", rounded(value)) and value <= 9.9e-10 else f"+{plain}"
    )


@pytest.mark.parametrize(("value", "text"), [
    (1e-9, "1e-09"), (0.0001, "0.0001"), (0.00009999, "9.999e-05"), (1e15, "1e+15"), (123456789012345.0, "123,456,789,012,345"),
    (0.01, "0.01"), (12.3456789, "12.3457"), (-1234.5, "-1,234.5"),
])  # fmt: skip
def test_figures_of_sentences_change_their_form_at_their_limits(value: float, text: str) -> None:
    assert figure(value) == text
