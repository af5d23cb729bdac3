"""Lists in results: the order of equal entries, the limits on their lengths, and their tables for a terminal."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from oragent._base.errors import ModellingError
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names, with_families
from oragent.modelling.data.solution import TIGHT, SolveStatus
from oragent.modelling.files.lp_reader import read_lp
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession, SolveLimits, asking, conflicting, result_tables, rows
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import Outcome
from oragent.modelling.operations.printing import print_fields, print_result
from oragent.modelling.operations.result_tables import make_table, value_text
from oragent.modelling.operations.results import DiffEntry, Figure, GroupTotal, SetInfo, SolveResult
from oragent.modelling.operations.slices import nearest_names
from oragent.modelling.operations.state import moved
from oragent.modelling.solving.infeasibility import ArrayConflict, ArrayPart, Side
from tests.modelling import indexed_models as models
from tests.modelling.shops import BATCH, MAKE, OPEN, ROWS, fixed_shop

# Sorting keeps the order of few equal entries in any case.
MANY = 40


def many(price: float = 1.0, unit: str = "") -> IndexedModel:
    """Variables from 0 to 1, each with a price and a row for its upper bound, which binds."""
    builder = IndexedModelBuilder("many")
    labels = [f"s{number:02}" for number in range(MANY)]
    builder.add_set("s", labels)
    builder.add_parameter("size", ["s"], np.full(MANY, 3.0))
    x = builder.add_variables("x", ["s"], high=5.0, unit="t")
    builder.add_rows("cap", ["s"], "<=", rows=np.arange(MANY), columns=x, rhs=1.0, unit=unit)
    builder.set_objective("o", "maximize", x, price, unit="EUR")
    return builder.build()


def test_equal_members_stay_in_the_order_of_the_model() -> None:
    model, session = many(), ModelSession(many())
    cells = [f"size[s{number:02}]" for number in range(MANY)]
    for count in (MANY, -MANY):
        assert [member.name for member in session.ask(f"top {count} size").members] == cells
        names = [member.name for member in session.ask(f"top {count} cap by price").members]
        assert names == list(model.row_names)
    (entry,) = moved(model, np.zeros(MANY), np.ones(MANY))
    assert [name for name, _, _ in entry.largest] == list(model.column_names[:5])
    assert entry.members == MANY


def test_equal_differences_stay_in_the_order_of_the_model(tmp_path) -> None:
    session = ModelSession(many(), folder=tmp_path)
    session.ask("size += 1")
    write(session.model, tmp_path / "other.json")
    (entry,) = ModelSession(many(), folder=tmp_path).ask('diff "other.json"').entries
    assert [name for name, _, _ in entry.largest] == [f"size[s{number:02}]" for number in range(5)]
    assert entry.members == MANY


def test_equal_reduced_costs_stay_in_the_order_of_the_model() -> None:
    builder = IndexedModelBuilder("bounds")
    builder.add_set("s", [f"s{number:02}" for number in range(MANY)])
    x = builder.add_variables("x", ["s"], high=2.0)
    fixed = builder.add_variables("fixed", low=1.0, high=1.0)
    builder.set_objective("o", "minimize", [*x, *fixed], np.full(MANY + 1, 4.0))
    model = builder.build()
    # A fixed variable has a reduced cost, but no bound that could move.
    assert [entry.name for entry in explain(model).ranges] == list(model.column_names[:20])


@pytest.mark.parametrize(
    ("before", "after", "is_moved"),
    [
        (0.0, 0.9e-7, False),
        (0.0, 1.1e-7, True),
        (1e6, 1e6 + 0.09, False),
        (1e6, 1e6 + 0.11, True),
        (-1e6, -1e6 - 0.09, False),
        (-1e6, -1e6 - 0.11, True),
    ],
)
def test_a_value_has_moved_if_it_differs_by_more_than_its_last_digits(
    before: float, after: float, is_moved: bool
) -> None:
    flat = IndexedModel.from_records([Variable("x", -1e9, 1e9)], [], Objective({"x": 1}), Sense.MINIMIZE)
    model = group_by_names(flat)
    assert bool(moved(model, np.array([before]), np.array([after]))) == is_moved


def degenerate(count: int) -> ModelSession:
    """Each variable has two equal limits, so that no dual of a row is unique."""
    names = [f"x{number}" for number in range(count)]
    limits = [Row(f"{side} {name}", {name: 1}, Relation.AT_MOST, 4) for name in names for side in ("one", "two")]
    goal = Objective(dict.fromkeys(names, 1.0))
    flat = IndexedModel.from_records([Variable(name) for name in names], limits, goal, Sense.MAXIMIZE)
    return ModelSession(group_by_names(flat))


def test_only_the_first_rows_without_unique_duals_are_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    for count, priced in ((2, 2), (4, 4), (9, 8)):
        monkeypatch.setattr(rows, "MAX_PRICED_ROWS", count)
        members = degenerate(4).ask("slack rows").members
        assert [member.uniqueness for member in members] == ["not unique"] * 8
        assert [member.price_up is not None for member in members] == [True] * priced + [False] * (8 - priced)
        assert {(member.price_up.value, member.price_down.value) for member in members[:priced]} == {(0.0, -1.0)}


def test_slopes_are_computed_for_as_many_rows_as_the_work_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each row has one of eight coefficients.
    for work, checked in ((24, 3), (23, 2), (25, 3), (64, 8), (7, 0)):
        monkeypatch.setattr(rows, "MAX_SLOPE_WORK", work)
        members = degenerate(4).ask("slack rows").members
        assert [member.uniqueness for member in members] == ["not unique"] * checked + ["not checked"] * (8 - checked)


def test_as_many_members_are_priced_as_one_operation_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_PRICED", 2)
    session = fixed_shop(1).session()
    assert len(session.ask("price room").members) == 2
    assert len(session.ask("price open").members) == 4
    monkeypatch.setattr(rows, "MAX_PRICED", 1)
    for line in ("price room", "price open", "top 1 room by price"):
        with pytest.raises(ModellingError):
            session.ask(line)


def test_the_largest_prices_name_the_members_that_have_none() -> None:
    builder = IndexedModelBuilder("tight")
    builder.add_set("s", [f"s{number}" for number in range(7)])
    x = builder.add_variables("x", ["s"], high=1.0)
    builder.add_rows("need", ["s"], ">=", rows=np.arange(7), columns=x, rhs=np.array([0.0, *([0.5] * 6)]))
    builder.set_objective("o", "minimize", x, np.arange(1.0, 8.0))
    result = ModelSession(builder.build()).ask("top 3 need by price")
    assert ([member.name for member in result.members], result.size) == (["need[s0]"], 7)
    assert [warning.split()[0] for warning in result.warnings] == [f"need[s{number}]" for number in range(1, 6)]


def test_a_reason_lists_the_binding_rows_of_the_variable_with_a_coefficient() -> None:
    limits = [
        Row("own", {"x": 1}, Relation.AT_MOST, 3),
        Row("other", {"y": 1}, Relation.AT_MOST, 2),
        Row("both", {"x": 2, "y": 1}, Relation.AT_MOST, 8),
        Row("tie", {"x": -1, "z": 1}, Relation.EQUAL, 0),
        Row("far", {"x": 1}, Relation.AT_MOST, 9),
        Row("none", {"x": 0, "y": 1}, Relation.AT_MOST, 2),
    ]
    variables = [Variable(name, 0, 50) for name in "xyz"]
    flat = IndexedModel.from_records(variables, limits, Objective({"x": 1, "y": 1}), Sense.MAXIMIZE)
    result = ModelSession(group_by_names(flat)).ask("why x")
    assert {member.name for member in result.rows} == {"own", "both", "tie"}
    assert {member.slack.value for member in result.rows} == {0.0}


def shown_text(part: object) -> str:
    out = io.StringIO()
    print_fields(part, Console(file=out, width=200))
    return out.getvalue()


def group(label: str, value: float | None, unit: str = "") -> GroupTotal:
    return GroupTotal(label=label, total=Figure(value=value, low=value, high=value, unit=unit), members=3)


def test_a_table_has_the_columns_that_any_part_fills_and_counts_what_it_omits() -> None:
    parts = [DiffEntry(of="data", name="a", change="removed", members=2),
             DiffEntry(of="costs", name="b", change="changed", members=1, effect=Figure.exact(2.5, "EUR"))]  # fmt: skip
    table = make_table("entries", parts, 5)
    assert table.header == ("of", "name", "change", "members", "effect")
    assert table.rows == (("data", "a", "removed", "2", ""), ("costs", "b", "changed", "1", "2.5 EUR"))
    assert (table.title, table.hidden) == ("entries", 0)
    for limit, hidden in ((1, 1), (2, 0), (3, 0)):
        table = make_table("entries", parts, limit)
        assert (len(table.rows), table.hidden) == (2 - hidden, hidden)
    # The first part alone decides nothing about columns that it leaves empty.
    assert make_table("entries", parts, 1).header == ("of", "name", "change", "members")


def test_figures_without_a_value_are_empty_whatever_their_unit() -> None:
    assert value_text(Figure(unit="EUR")) == value_text(Figure()) == value_text(None) == value_text("") == ""
    assert value_text(Figure(low=3.0, unit="EUR")).endswith("3 EUR")
    assert value_text(Figure.exact(0.0, "EUR")) == "0 EUR"
    assert [value_text(value) for value in (True, False, 0, 2.5, "a")] == ["yes", "no", "0", "2.5", "a"]
    assert value_text((("x", None, 2.0), ("y", 0.0, None))) == "x - 2; y 0 -"
    assert value_text(("a", "b")) == "a; b"
    table = make_table("groups", [group("a", None, "t"), group("b", 2.0, "t")], 9)
    assert table.rows == (("a", "", "3"), ("b", "2 t", "3"))


def index_set(name: str, count: int) -> SetInfo:
    labels = tuple(f"{name}{number}" for number in range(count))
    return SetInfo(name=name, size=count, labels=labels, ordered=False, time=False, guessed=False)


def test_a_set_alone_shows_more_labels_than_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_tables, "MAX_ENTRIES", 4)
    monkeypatch.setattr(result_tables, "MAX_LABELS", 2)

    def labels(*parts: SetInfo) -> list[str]:
        table = make_table("sets", parts, 9)
        return [row[table.header.index("labels")] for row in table.rows]

    assert labels(index_set("a", 4)) == ["a0; a1; a2; a3"]
    assert labels(index_set("a", 6)) == ["a0; a1; a2; a3; and 2 more"]
    assert labels(index_set("a", 2), index_set("b", 3)) == ["a0; a1", "b0; b1; and 1 more"]
    # Labels that the description left out are counted as well.
    assert labels(index_set("c", 3).model_copy(update={"size": 90})) == ["c0; c1; c2; and 87 more"]


def test_printed_tables_have_their_title_and_count_their_omitted_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oragent.modelling.operations.printing.SHOWN_ROWS", 3)
    result = SolveResult(objective=Figure.exact(4.0), families=tuple(group(name, 1.0) for name in "abcde"))
    out = io.StringIO()
    print_result(result.model_copy(update={"warnings": ("late",)}), Console(file=out, width=200))
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert "families" in lines
    assert [line[0] for line in lines if line.endswith("3")] == ["a", "b", "c"]
    assert [line.split()[0] for line in lines if "more" in line] == ["2"]
    assert "note: late" in lines
    few = shown_text(SolveResult(objective=Figure.exact(4.0), families=(group("a", 1.0),)))
    assert "more" not in few


def test_columns_behind_the_first_are_aligned_to_the_right() -> None:
    result = SolveResult(objective=Figure.exact(1.0), families=(group("a", 1.0), group("longer", 2000.0)))
    lines = shown_text(result).splitlines()
    (short,) = [line for line in lines if line.split()[:1] == ["a"]]
    (long,) = [line for line in lines if line.split()[:1] == ["longer"]]
    assert short.startswith("a ")
    assert short.index("1") == long.index("2,000") + len("2,000") - 1


def test_a_name_has_at_most_three_near_ones() -> None:
    text = nearest_names("room", ["room1", "room2", "room3", "room4", "zzz"])
    assert sum(f"room{number}" in text for number in range(1, 5)) == 3


def test_a_name_that_only_begins_as_a_family_is_no_member() -> None:
    session = ModelSession(models.transport())
    with pytest.raises(ModellingError):
        session.ask("describe ship_Nowhere_wk1")
    for lone in ("* except Lyon, Paris", "* except Lyon"):
        with pytest.raises(ModellingError):
            session.ask(f"data ship[{lone}]")


@pytest.mark.parametrize(("unit", "units"), [("t", {"t"}), ("", {""})])
def test_a_repair_has_the_unit_of_the_rows(unit: str, units: set[str]) -> None:
    session = ModelSession(many(unit=unit))
    session.ask("lower(x) = 2")
    result = session.ask("repair")
    assert {result.total.unit} == units
    assert result.total.value == pytest.approx(MANY)
    session.ask("row extra: x[s00] >= 9")
    # The added row has no unit, so that the sum has none either.
    assert session.ask("repair").total.unit == ""


def test_a_repair_of_some_rows_names_what_stays_in_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"x{number}" for number in range(4)]
    limits = [
        Row("aside", {"x0": 1}, Relation.AT_LEAST, 0),
        Row("all", dict.fromkeys(names, 1.0), Relation.AT_LEAST, 9),
        *(Row(f"cap {name}", {name: 1}, Relation.AT_MOST, 1) for name in names),
    ]
    flat = IndexedModel.from_records([Variable(name) for name in names], limits, Objective({"x0": 1}), Sense.MINIMIZE)
    for most, named, more in ((3, 3, "2 more"), (4, 4, "1 more"), (5, 5, ""), (9, 5, "")):
        monkeypatch.setattr(conflicting, "SHOWN_NAMES", most)
        with pytest.raises(ModellingError) as problem:
            ModelSession(group_by_names(flat)).ask("repair rows.aside")
        text = str(problem.value)
        assert sum(name in text for name in ("'all'", *(f"'\"cap {name}\"'" for name in names))) == named
        assert "aside" not in text
        assert (more in text) if more else ("more" not in text)


def test_changed_members_of_a_family_lead_its_names() -> None:
    session = ModelSession(many())
    session.run(["row late: x[s00] <= 4", "row all: sum x >= 99", "drop late", "objective profit: minimize sum x"])
    session.run(["cap[s07] = 0.5", "cap[s03] = 0.25"])
    result = session.ask("conflict")
    (caps,) = [entry for entry in result.families if entry.family == "cap"]
    assert (caps.names[:3], caps.members, caps.changed) == (("cap[s03]", "cap[s07]", "cap[s00]"), MANY, True)
    assert [entry.family for entry in result.families] == ["cap", "all"]
    assert [entry.changed for entry in result.families] == [True, True]


def test_a_new_row_named_like_a_variable_counts_as_changed() -> None:
    session = fixed_shop(1).session()
    session.run(["row make: sum variables.make >= 99", "row late: batch <= 1", "drop late", "waste(batch) += 1"])
    (entry,) = [entry for entry in session.ask("conflict").families if entry.part == "rows" and entry.family == "make"]
    assert entry.changed


LABELLED = ["data make", "data stock", "data room", "value make", "slack room", "binding room", "price room",
            "price stock", "price make", "top 2 make", "top 2 stock", "top 2 room", "top 2 room by price",
            "top 2 make by margin", "why make[a]", "why room[p]"]  # fmt: skip


@pytest.mark.parametrize("line", LABELLED)
def test_each_member_has_the_labels_of_its_name(line: str) -> None:
    result = fixed_shop(1).session().ask(line)
    members = [result.member] if result.kind == "why" else result.members
    assert members
    for member in members:
        inside = member.name.partition("[")[2].rstrip("])")
        assert member.labels == tuple(inside.split(", "))
    if result.kind == "members":
        assert result.size == 2


# Lines whose results are about values or optima of the first of several objectives.
WARNED = ["solve", "value make", "total make", "binding", "slack room", "top 1 make", "top 1 make by cost", "why make[a]",
          "whatif need += 1", "whynot batch <= 1", "compare base base", "sweep need = 1, 2", "most sum make",
          "alternatives 1"]  # fmt: skip


@pytest.mark.parametrize("line", WARNED)
@pytest.mark.parametrize("goal", ["", "objective profit then waste"])
def test_results_about_the_first_of_several_objectives_say_so(line: str, goal: str) -> None:
    session = fixed_shop(1, gains=False).session()
    session.run([goal, "keep goal"] if goal else [])
    result = session.ask(line.replace("base base", "goal goal") if goal else line)
    assert len(result.warnings) == bool(goal)


@pytest.mark.parametrize("line", WARNED)
def test_results_about_a_point_that_is_not_proven_say_how_to_go_on(line: str) -> None:
    session = fixed_shop(1, gains=False).session()
    point = session.study.point(session.study.present)
    session = ModelSession(fixed_shop(1, gains=False).model(), SolveLimits(nodes=77))
    present = session.study.present.known
    worth = fixed_shop(1, gains=False).worth(point)
    present.outcome = Outcome(SolveStatus.FEASIBLE, point, worth, worth - 50.0, "S", "nodes")
    present.is_solved_with = session.study.limits
    result = session.ask(line)
    assert [warning for warning in result.warnings if "--nodes 770" in warning]
    if result.kind not in ("compare", "extreme"):
        assert (result.status, result.ended_by) == ("feasible", "nodes")


def test_a_proven_result_was_not_ended_by_a_limit() -> None:
    session = fixed_shop(1).session()
    present = session.study.present.known
    point = session.study.point(session.study.present)
    for status, bound, ended_by in ((SolveStatus.OPTIMAL, 3.0, ""), (SolveStatus.FEASIBLE, -50.0, "time")):
        present.outcome = Outcome(status, point, 3.0, bound, "S", "time")
        present.is_solved_with = session.study.limits
        result = session.ask("value make")
        assert (result.status, result.ended_by) == (str(status), ended_by)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_solve_counts_the_members_in_use(sign: int) -> None:
    session = fixed_shop(sign).session()
    point = session.study.point(session.study.present)
    families = session.ask("solve").families
    places = {"make": MAKE, "batch": BATCH, "open": OPEN}
    assert {family.label: (family.members, family.total.value) for family in families} == {
        name: (np.count_nonzero(point[chosen]), pytest.approx(point[chosen].sum())) for name, chosen in places.items()
    }


@pytest.mark.parametrize(("low", "high"), [(0, 2), (-1, 1), (0, 1)])
def test_other_values_of_whole_variables_are_searched_among_optima_unless_they_are_binary(low: int, high: int) -> None:
    variables = [Variable(name, low, high, VariableKind.INTEGER) for name in "xy"]
    flat = IndexedModel.from_records(variables, [], Objective({"x": 2, "y": 1}), Sense.MAXIMIZE)
    result = ModelSession(group_by_names(flat)).ask("alternatives 9")
    # The only optimum is at the upper bounds; for binary variables the next best points follow.
    worths = [solution.objective.value for solution in result.solutions]
    assert (worths, result.complete) == (([2.0, 1.0, 0.0], True) if (low, high) == (0, 1) else ([], False))


def test_other_optima_are_found_beside_a_direction_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only values that may change are tried one by one.
    monkeypatch.setattr(asking, "MAX_DIRECTIONS", 1)
    variables = [Variable("f", 0, 0), Variable("y", 0, 5), Variable("x"), Variable("z", 1, 9), Variable("w", 4, 4)]
    flat = IndexedModel.from_records(variables, [], Objective({"z": 1.0}), Sense.MINIMIZE)
    solutions = ModelSession(group_by_names(flat)).ask("alternatives 1").solutions
    assert [solution.objective.value for solution in solutions] == [1.0]
    assert [entry.family for entry in solutions[0].moved] == ["y"]


@pytest.mark.parametrize(
    ("needed", "shortage", "is_shown"),
    [(10.0, 1.9e-6, False), (10.0, 2.1e-6, True), (1e6, 0.19, False), (1e6, 0.21, True), (0.0, 1e-8, False)],
)
def test_a_shortage_within_the_tolerance_of_the_sum_is_none(
    needed: float, shortage: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = IndexedModel.from_records(
        [Variable("x", 0, 1)], [Row("need", {"x": 1}, Relation.AT_LEAST, needed), Row("cap", {"x": 1}, "<=", needed)],
        Objective({}), Sense.MINIMIZE,
    )  # fmt: skip
    scenario = ModelSession(group_by_names(flat)).study.present
    conflict = ArrayConflict((ArrayPart(Side.ROW, 0), ArrayPart(Side.ROW, 1)), irreducible=True)
    multipliers = np.array([4.0, -2.0])
    monkeypatch.setattr(conflicting, "find_certificate", lambda _: (multipliers, None, 2 * shortage))
    found = conflicting._aggregate(scenario, conflict)
    assert (found is not None) == is_shown
    if found is not None:
        assert (found.needed, found.shortage) == (pytest.approx(2 * needed), pytest.approx(shortage))
        assert found.possible == pytest.approx(2 * needed - shortage)
        assert found.multipliers == (("need", 2.0), ("cap", -1.0))


def test_the_solver_of_the_session_finds_conflicts_and_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[str, str, object]] = []
    functions = {name: getattr(conflicting, name) for name in ("find_conflict", "find_nearest")}
    for name, function in functions.items():

        def record(*arguments, solver, options, name=name, function=function):
            used.append((name, solver, options))
            return function(*arguments, solver="highs", options=options)

        monkeypatch.setattr(conflicting, name, record)
    session = fixed_shop(1).session()
    session.run(["need = 99", "solve"])
    limits = SolveLimits(solver="other", nodes=10**6)
    session.study.limits = limits
    session.run(["conflict", "repair"])
    with pytest.raises(ModellingError):
        session.ask("repair tie")
    names = ["find_conflict", "find_nearest", "find_nearest", "find_conflict"]
    assert used == [(name, "other", limits.options()) for name in names]
    conflicting.conflict_of_trial(session.study.present, limits)
    assert used[4:] == [("find_conflict", "other", limits.options())]


def test_a_large_trial_has_the_conflict_of_one_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    session = fixed_shop(1).session()
    session.run(["need = 99", "solve"])
    size = len(session.study.present.known.arrays.matrix.values)
    reduced = []
    find = conflicting.find_conflict

    def record(*arguments, **named):
        reduced.append(size)
        return find(*arguments, **named)

    monkeypatch.setattr(conflicting, "find_conflict", record)
    for most, count in ((size - 1, 0), (size, 1), (size + 1, 2)):
        monkeypatch.setattr(conflicting, "MAX_CONFLICT_ENTRIES", most)
        families = conflicting.conflict_of_trial(session.study.present, SolveLimits())
        assert "need" in {name for entry in families for name in entry.names}
        assert len(reduced) == count


def test_names_and_lines_in_a_terminal_have_a_largest_width() -> None:
    long = "x" * 500
    assert value_text(long).count("x") == 199
    table = make_table("sets", [index_set(long, 1)], 9)
    cells = dict(zip(table.header, table.rows[0], strict=True))
    assert (cells["name"].count("x"), cells["labels"].count("x")) == (199, 199)
    out = io.StringIO()
    result = SolveResult(objective=Figure.exact(1.0), id="r1", line=long, confirmed=long)
    print_result(result, Console(file=out, width=2000))
    assert [line.count("x") for line in out.getvalue().splitlines() if "xx" in line] == [299, 199]


def test_a_description_has_the_sizes_sets_and_families_of_the_model() -> None:
    session = ModelSession(models.transport())
    result = session.ask("describe")
    depots, cities, weeks = len(models.DEPOTS), len(models.CITIES), len(models.WEEKS)
    assert (result.name, result.columns, result.row_count, result.integers) == (
        "transport", depots * cities * weeks + depots * weeks, (depots + cities) * weeks, 0,
    )  # fmt: skip
    assert result.nonzeros == 2 * depots * cities * weeks + depots * weeks + depots * (weeks - 1)
    assert [(each.name, each.size, each.time, each.guessed) for each in result.sets] == [
        ("depot", depots, False, False), ("city", cities, False, False), ("week", weeks, True, False),
    ]  # fmt: skip
    families = {family.name: family for family in result.families}
    ship = families["ship"]
    assert (ship.sets, ship.members, ship.unit, ship.guessed) == (
        ("depot", "city", "week"), depots * cities * weeks, "tons", False,
    )  # fmt: skip
    assert {family.kind for family in result.families} == {"parameters", "variables", "rows"}
    guessed = ModelSession(with_families(read_lp("min\n obj: x(1) + x(2)\nst\n c: x(1) + x(2) >= 1\nend\n")))
    described = guessed.ask("describe")
    assert [each.guessed for each in described.sets] == [True]
    assert [family.guessed for family in described.families if family.kind == "variables"] == [True]


def test_the_price_of_a_row_in_a_reason_is_that_of_one_unit() -> None:
    session = fixed_shop(1).session()
    for row in ROWS:
        (price,) = session.ask(f"price rows.{row}").members
        member = session.ask(f"why rows.{row}").member
        assert (member.price_up, member.price_down) == (price.price_up, price.price_down)
    data = session.ask("why stock[p]")
    (price,) = session.ask("price stock[p]").members
    assert (data.at, data.member) == ("data", price)


def test_an_unbounded_extreme_has_no_objective_but_its_unit() -> None:
    session = fixed_shop(1).session()
    session.run(["objective waste", "upper(make) = inf", "drop room"])
    result = session.ask("most sum make")
    assert (result.objective, result.optimum.unit) == (Figure(unit="kg"), "kg")


@pytest.mark.parametrize("sign", [1, -1])
def test_members_are_ranked_by_the_size_of_the_price_of_one_unit(sign: int) -> None:
    builder = IndexedModelBuilder("prices")
    builder.add_set("s", ["a", "b", "c"])
    x = builder.add_variables("x", ["s"], low=-9.0, high=9.0)
    builder.add_rows("tie", ["s"], "=", rows=np.arange(3), columns=x, rhs=2.0)
    builder.set_objective("o", "minimize", x, sign * np.array([5.0, -7.0, 1.0]))
    session = ModelSession(builder.build())
    for count, order in ((3, "bac"), (2, "ba"), (-3, "cab"), (-1, "c")):
        members = session.ask(f"top {count} tie by price").members
        assert "".join(member.labels[0] for member in members) == order
    prices = {member.name: (member.price_up, member.price_down) for member in session.ask("price tie").members}
    members = session.ask("top 3 tie by price").members
    assert {member.name: (member.price_up, member.price_down) for member in members} == prices


@pytest.mark.parametrize("rhs", [1.0, 1e6])
def test_a_row_binds_within_the_tolerance_of_its_right_hand_side(rhs: float) -> None:
    limits = [Row("most", {"x": 1}, Relation.AT_MOST, rhs), Row("least", {"y": 1}, Relation.AT_LEAST, -rhs)]
    flat = IndexedModel.from_records(
        [Variable("x", -1e9, 1e9), Variable("y", -1e9, 1e9)], limits, Objective({"x": 1}), Sense.MINIMIZE
    )
    scenario = ModelSession(group_by_names(flat)).study.present
    for share, binds in ((0.0, True), (0.9 * TIGHT, True), (1.1 * TIGHT, False)):
        point = np.array([rhs - share * rhs, -rhs + share * rhs])
        assert rows.binding_rows(scenario, point).tolist() == [binds, binds]


def test_a_place_of_a_family_is_named_by_its_set_or_its_number() -> None:
    session = ModelSession(models.transport())
    for number, name in enumerate(("depot", "City", "week"), 1):
        by_name = session.ask(f"total ship by {name}").groups
        assert session.ask(f'total ship by "{number}"').groups == by_name
    for wrong in ('"0"', '"4"', "depots"):
        with pytest.raises(ModellingError):
            session.ask(f"total ship by {wrong}")


def test_objectives_are_found_without_case_and_refused_if_several_are_alike() -> None:
    session = fixed_shop(1).session()
    assert session.ask("frontier PROFIT Waste 2").points == session.ask("frontier profit waste 2").points
    with pytest.raises(ModellingError):
        session.ask("frontier profits waste 2")
    model = session.model
    twins = tuple(replace(model.objectives[1], name=name) for name in ("Waste", "WASTE"))
    session = ModelSession(replace(model, objectives=(model.objectives[0], *twins)))
    assert session.ask("frontier profit WASTE 2").second == "WASTE"
    with pytest.raises(ModellingError):
        session.ask("frontier profit waste 2")


@pytest.mark.parametrize(
    "line",
    ["data make", "data room", "total stock", "top 1 stock", "top 1 make by margin", "top 1 make by coefficient"],
)
def test_what_is_read_from_the_model_alone_was_not_solved(line: str) -> None:
    result = fixed_shop(1).session().ask(line)
    assert (result.status, result.solver, result.limits, result.warnings) == ("", "", None, ())


def test_tables_of_members_leave_out_what_their_names_say() -> None:
    table = make_table("members", fixed_shop(1).session().ask("data make").members, 9)
    assert table.header == ("name", "coefficient", "low", "high")
    assert table.rows[0] == ("make[a]", "-3 EUR", "0 t", "4 t")
