"""Verbs on model files, which need no sandbox, against SciPy and the rules of the files."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from oragent._base.errors import ConfigError, ModellingError, WorkspaceError
from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.model_files import write
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.results import Figure
from oragent.modelling.solving.model_solving import solve
from oragent.workspace import model_tasks
from oragent.workspace.cells import read_change
from oragent.workspace.model_results import CellEdit
from oragent.workspace.model_tasks import (
    _differ,
    _keeps_solution,
    ask_lines,
    compare_models,
    describe_run_result,
    run_model,
    try_changes,
    verify_revision,
)
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.settings import WorkspaceSettings
from oragent.workspace.sources import FolderState, OpenedModel
from tests.workspace.release import put

LIMITS = {"flour": ({"rye": 1.0, "wheat": 1.0}, 100.0), "oven": ({"rye": 1.0}, 40.0)}
# As many as do not change the optimum, and not as many as there are variables.
THREE_ROWS = {**LIMITS, "sold": ({"wheat": 1.0}, 90.0)}
SETTINGS = WorkspaceSettings(time=30.0, gap=0.0, threads=1)


def make_model(limits: dict[str, tuple[dict[str, float], float]] = LIMITS, price: float = 4.0) -> IndexedModel:
    rows = tuple(Row(name, terms, Relation.AT_MOST, rhs) for name, (terms, rhs) in limits.items())
    objective = Objective({"rye": price, "wheat": 3.0}, unit="EUR")
    return IndexedModel.from_records((Variable("rye"), Variable("wheat")), rows, objective, Sense.MAXIMIZE)


def optimum(limits: dict[str, tuple[dict[str, float], float]] = LIMITS, price: float = 4.0) -> float:
    rows = [[terms.get("rye", 0.0), terms.get("wheat", 0.0)] for terms, _ in limits.values()]
    found = linprog([-price, -3.0], A_ub=rows, b_ub=[rhs for _, rhs in limits.values()])
    return -float(found.fun)


def state(folder: Path, model: IndexedModel, revision: str = ".", **files: str) -> FolderState:
    put(folder, {"docs/a.md": "# Bakery\n", **files})
    write(model, folder / "model.json")
    return FolderState(revision, "", folder, SETTINGS, "model.json")


def test_a_model_file_is_solved_with_its_size_and_unit(tmp_path: Path) -> None:
    result = run_model(state(tmp_path, make_model(THREE_ROWS)))
    assert (result.ok, result.status, result.sense, result.variables, result.rows) == (
        True,
        "optimal",
        "maximize",
        2,
        3,
    )
    assert result.objective.value == pytest.approx(optimum())
    assert (result.objective.unit, result.verdict, result.reason, result.warnings, result.stages) == (
        "EUR",
        "",
        "",
        (),
        (),
    )
    assert (result.revision.name, result.revision.program, result.revision.framework) == (".", "model.json", "")
    assert result.limits.seconds == 30.0
    committed = FolderState("main", "c0ffee", tmp_path, SETTINGS, "model.json")
    assert (run_model(committed).revision.name, run_model(committed).revision.commit) == ("main", "c0ffee")
    settings = WorkspaceSettings(time=7.0, gap=0.1, solver="scip", confirm="highs", threads=2, seed=3, memory=300)
    limits = FolderState(".", "", tmp_path, settings, "model.json").solve_limits
    assert limits == SolveLimits(seconds=7.0, gap=0.1, solver="scip", confirm="highs", threads=2, seed=3)


@pytest.mark.parametrize(
    ("limits", "price", "changed"),
    [
        (LIMITS, 4.0, {}), ({**LIMITS, "oven": ({"rye": 1.0}, 30.0)}, 4.0, {"right-hand sides": "changed"}), (LIMITS, 5.0, {"costs": "changed"}),
        ({**LIMITS, "sold": ({"wheat": 1.0}, 20.0)}, 4.0, {"rows": "added"}), ({"flour": LIMITS["flour"]}, 4.0, {"rows": "removed"}),
    ],
)  # fmt: skip
def test_each_difference_has_its_effect_on_the_optimum(
    tmp_path: Path, limits: dict[str, Any], price: float, changed: dict[str, str]
) -> None:
    old, new = state(tmp_path / "old", make_model()), state(tmp_path / "new", make_model(limits, price))
    result = compare_models(old, new)
    before, after = optimum(), optimum(limits, price)
    assert (result.verb, result.ok, result.status) == ("diff-model", not changed, "optimal")
    figures = [result.objective.before.value, result.objective.after.value, result.objective.difference.value]
    assert figures == pytest.approx([before, after, after - before])
    assert {entry.of: entry.change for entry in result.entries} == changed
    # A single difference has the whole effect.
    assert [entry.effect and entry.effect.value for entry in result.entries] == pytest.approx(
        [after - before] * len(changed)
    )
    verified = verify_revision(old, new, [])
    holds = bool(np.isclose(before, after))
    assert (verified.verb, verified.ok, verified.preservation and verified.preservation.holds) == (
        "verify",
        holds,
        holds,
    )
    assert verified.entries == result.entries


def test_of_two_differences_each_row_has_its_own_effect(tmp_path: Path) -> None:
    limits = {"flour": LIMITS["flour"], "sold": ({"wheat": 1.0}, 20.0)}
    result = compare_models(state(tmp_path / "old", make_model()), state(tmp_path / "new", make_model(limits)))
    effects = {(entry.name, entry.change): entry.effect and entry.effect.value for entry in result.entries}
    without = {"flour": LIMITS["flour"]}
    # What a row takes from the optimum of the model that has it.
    assert effects == {
        ("sold", "added"): pytest.approx(optimum(limits) - optimum(without)),
        ("oven", "removed"): pytest.approx(optimum(without) - optimum()),
    }


def test_a_family_of_rows_is_dropped_as_a_whole(tmp_path: Path) -> None:
    sold = {f"sold[{name}]": ({name: 1.0}, 20.0) for name in ("rye", "wheat")}
    result = compare_models(
        state(tmp_path / "old", make_model()), state(tmp_path / "new", make_model({**LIMITS, **sold}))
    )
    (entry,) = [entry for entry in result.entries if entry.of == "rows"]
    assert (entry.name, entry.members, entry.change) == ("sold", 2, "added")
    assert entry.effect is not None
    assert entry.effect.value == pytest.approx(optimum({**LIMITS, **sold}) - optimum())
    # Of a part of a family there is no such effect.
    part = {"sold[rye]": sold["sold[rye]"]}
    parts = compare_models(
        state(tmp_path / "part", make_model({**LIMITS, **part})),
        state(tmp_path / "all", make_model({**LIMITS, **sold})),
    )
    assert all(entry.effect is None for entry in parts.entries if entry.of == "rows")


@pytest.mark.parametrize(("limit", "holds"), [(40.0, True), (30.0, False)])
def test_each_of_several_objectives_is_compared(tmp_path: Path, limit: float, holds: bool) -> None:
    """Wheat comes first, of which 60 are made; then rye, up to its limit."""

    def make(oven: float) -> IndexedModel:
        limits = {"sold": ({"wheat": 1.0}, 60.0), "oven": ({"rye": 1.0}, oven)}
        goal = FurtherObjective("wheat", {"wheat": 1.0}, Sense.MAXIMIZE, priority=1)
        return make_model(limits).with_records(objective=Objective({"rye": 1.0}), features=ModelFeatures(goals=(goal,)))

    old, new = state(tmp_path / "old", make(40.0)), state(tmp_path / "new", make(limit))
    run = run_model(old)
    assert [(stage.optimum.value, stage.sense) for stage in run.stages] == [(60.0, "maximize"), (40.0, "maximize")]
    result = compare_models(old, new)
    assert [(stage.before.value, stage.after.value) for stage in result.stages] == [(60.0, 60.0), (40.0, limit)]
    verified = verify_revision(old, new, [])
    assert verified.stages == result.stages
    assert verified.preservation is not None
    assert (verified.ok, verified.preservation.holds, verified.preservation.former.value) == (holds, holds, 60.0)


def test_a_later_objective_without_bound_has_its_status_and_is_kept(tmp_path: Path) -> None:
    """Wheat comes first, of which 60 are made; of rye there is no limit."""
    goal = FurtherObjective("wheat", {"wheat": 1.0}, Sense.MAXIMIZE, priority=1)
    model = make_model({"sold": ({"wheat": 1.0}, 60.0)}).with_records(
        objective=Objective({"rye": 1.0}), features=ModelFeatures(goals=(goal,))
    )
    old, new = (state(tmp_path / name, model) for name in ("old", "new"))
    found = linprog([-1.0, 0.0], A_eq=[[0.0, 1.0]], b_eq=[60.0])
    # SciPy calls it unbounded.
    assert found.status == 3
    assert [stage.status for stage in run_model(old).stages] == ["optimal", "unbounded"]
    verified = verify_revision(old, new, [])
    assert verified.preservation is not None
    assert (verified.ok, verified.preservation.holds) == (True, True)
    assert "unbounded" in verified.preservation.reason
    assert "the model" not in verified.preservation.reason
    infeasible = [state(tmp_path / f"no {name}", make_model({"oven": ({"rye": 1.0}, -1.0)})) for name in ("old", "new")]
    preservation = verify_revision(*infeasible, []).preservation
    assert preservation is not None
    assert (preservation.holds, "the model is infeasible" in preservation.reason) == (True, True)
    feasible = state(tmp_path / "feasible", make_model())
    for sides in ((infeasible[0], feasible), (feasible, infeasible[0])):
        preservation = verify_revision(*sides, []).preservation
        assert preservation is not None
        assert (preservation.holds, "infeasible" in preservation.reason) == (False, True)


def test_objectives_in_another_order_are_not_compared_one_by_one(tmp_path: Path) -> None:
    limits = {"sold": ({"wheat": 1.0}, 60.0), "oven": ({"rye": 1.0}, 40.0)}
    sides = []
    for name, priority in (("old", 1), ("new", -1)):
        goal = FurtherObjective("wheat", {"wheat": 1.0}, Sense.MAXIMIZE, priority=priority)
        model = make_model(limits).with_records(
            objective=Objective({"rye": 1.0}), features=ModelFeatures(goals=(goal,))
        )
        sides.append(state(tmp_path / name, model))
    result = verify_revision(*sides, [])
    assert (result.stages, result.ok) == ((), False)
    assert any(entry.of == "objective" for entry in result.entries)


def test_lines_end_with_the_status_of_the_last_solve(tmp_path: Path) -> None:
    folder = state(tmp_path, make_model())
    for lines, is_ok in (
        (["solve", "whatif oven = -1"], False),
        (["whatif oven = -1", "solve"], True),
        (["describe"], True),
    ):
        result = ask_lines(folder, "ask", lines)
        assert (result.ok, result.verb, len(result.results)) == (is_ok, "ask", len(lines))
    whatif: Any = try_changes(folder, ["oven = 30", "flour = 90"])
    assert whatif.verb == "whatif"
    (change,) = whatif.results
    expected = optimum({"flour": (LIMITS["flour"][0], 90.0), "oven": (LIMITS["oven"][0], 30.0)})
    assert change.objective.after.value == pytest.approx(expected)


def test_changes_of_cells_and_of_the_model_are_not_mixed(tmp_path: Path) -> None:
    folder = state(tmp_path, make_model(), **{"data/a.csv": "name,value\nx,1\n"})
    with pytest.raises(ConfigError):
        try_changes(folder, ["oven = 30", "data/a.csv[x, value] = 2"])
    with pytest.raises(WorkspaceError):
        try_changes(folder, ["data/none.csv[x, value] = 2"])


def opener(folder: FolderState, tell: Any = None, files: dict[str, str] | None = None, **more: Any) -> OpenedModel:
    """Stands for a program: its oven is the figure of a table."""
    read = (files or {}).get("data/a.csv") or (folder.folder / "data/a.csv").read_text()
    limit = float(read.split("oven,")[1].split()[0])
    return OpenedModel(folder, make_model({**LIMITS, "oven": ({"rye": 1.0}, limit)}), "made 1")


def test_the_claim_of_a_program_is_compared_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = SimpleNamespace(verdict="optimal", reason="why", data_notes=("flour",))
    met: list[bool] = []

    def open_model(folder: FolderState, tell: Any = None, check_claim: bool = False) -> OpenedModel:
        met.append(check_claim)
        return OpenedModel(folder, make_model(), "made 1", claim)  # type: ignore[arg-type]

    monkeypatch.setattr(model_tasks, "open_state_model", open_model)
    result = run_model(state(tmp_path, make_model()))
    assert (met, result.verdict, result.reason, len(result.warnings)) == ([True], "optimal", "why", 1)
    assert "flour" in result.warnings[0]


def test_a_changed_cell_moves_the_optimum_and_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_tasks, "open_state_model", opener)
    folder = state(tmp_path, make_model(), **{"data/a.csv": "name,value\nflour,100\noven,40\n"})
    result: Any = try_changes(folder, ["data/a.csv[oven, value] = 30"])
    expected = optimum({**LIMITS, "oven": ({"rye": 1.0}, 30.0)})
    assert (result.ok, result.status, result.warnings, result.revision.framework) == (True, "optimal", (), "made 1")
    assert result.cells == (("data/a.csv[oven, value]", "40", "30"),)
    assert result.objective.difference.value == pytest.approx(expected - optimum())
    assert {move.family: move.total_after.value - move.total_before.value for move in result.moved} == pytest.approx(
        {"rye": -10.0, "wheat": 10.0}
    )
    (entry,) = result.entries
    # The effect of the change alone is that of the whole.
    assert (entry.of, entry.effect) == ("right-hand sides", None)
    same: Any = try_changes(folder, ["data/a.csv[flour, value] = 90"])
    assert (same.entries, same.moved, len(same.warnings)) == ((), (), 1)
    infeasible: Any = try_changes(folder, ["data/a.csv[oven, value] = -1"])
    assert (infeasible.ok, infeasible.status, infeasible.moved) == (False, "infeasible", ())
    assert (folder.folder / "data/a.csv").read_text() == "name,value\nflour,100\noven,40\n"


def test_a_changed_cell_moves_each_of_several_objectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rye comes first, then what is earned."""
    goal = FurtherObjective("rye", {"rye": 1.0}, Sense.MAXIMIZE, priority=1)

    def open_goals(*arguments: Any, **options: Any) -> OpenedModel:
        opened = opener(*arguments, **options)
        return replace(opened, model=opened.model.with_records(features=ModelFeatures(goals=(goal,))))

    monkeypatch.setattr(model_tasks, "open_state_model", open_goals)
    folder = state(tmp_path, make_model(), **{"data/a.csv": "name,value\nflour,100\noven,40\n"})
    result: Any = try_changes(folder, ["data/a.csv[oven, value] = 30"])
    # Rye up to the oven, then the price of rye and of wheat for the rest of the flour.
    after = optimum({**LIMITS, "oven": ({"rye": 1.0}, 30.0)})
    assert [(stage.before.value, stage.after.value) for stage in result.stages] == [(40.0, 30.0), (optimum(), after)]


def test_a_binary_table_is_changed_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    for row in (("name", "value"), ("oven", 40)):
        workbook.active.append(row)
    folder = state(tmp_path, make_model())
    (tmp_path / "data").mkdir()
    workbook.save(tmp_path / "data/a.xlsx")
    met: list[tuple[Path, Any]] = []

    def open_model(folder: FolderState, tell: Any = None, files: Any = None, **more: Any) -> OpenedModel:
        met.append((folder.folder, files))
        return OpenedModel(folder, make_model())

    monkeypatch.setattr(model_tasks, "open_state_model", open_model)
    result: Any = try_changes(folder, ["data/a.xlsx[oven, value] = 30"])
    assert result.cells == (("data/a.xlsx[oven, value]", "40", "30"),)
    assert met[0] == (tmp_path, None)
    assert met[1][0] != tmp_path
    assert met[1][1] is None


@pytest.mark.parametrize(
    ("tables", "neutral", "holds", "code_reads"),
    [
        (("oven,40", "oven,30"), [], True, 40.0), (("oven,40", "oven,30"), ["data/a.csv[oven, value] = 50"], False, 50.0),
        (("oven,40", "oven,30"), ["data/none.csv[oven, value] = 50"], None, None),
    ],
)  # fmt: skip
def test_a_revision_is_solved_with_former_and_neutral_cells(
    tmp_path: Path, tables: tuple[str, str], neutral: list[str], holds: bool | None, code_reads: float | None
) -> None:
    old, new = (
        state(tmp_path / name, make_model(), **{"data/a.csv": f"name,value\n{text}\n"})
        for name, text in zip(("old", "new"), tables, strict=True)
    )
    result = verify_revision(old, new, [read_change(text) for text in neutral], open_model=opener)
    preservation = result.preservation
    assert preservation is not None
    assert (result.ok, preservation.holds, len(preservation.cells)) == (holds is True, holds, len(neutral))
    assert preservation.former.value == pytest.approx(optimum())
    assert (preservation.former.unit, bool(preservation.reason)) == ("EUR", holds is not True)
    expected = None if code_reads is None else optimum({**LIMITS, "oven": ({"rye": 1.0}, code_reads)})
    assert preservation.objective.value == (None if expected is None else pytest.approx(expected))
    assert [(edit.before, edit.after) for edit in result.edits] == [("40", "30")]


@pytest.mark.parametrize(("value", "holds"), [("100", True), ("30", False)])
def test_a_figure_that_is_new_in_a_json_file_has_its_neutral_value(tmp_path: Path, value: str, holds: bool) -> None:
    old, new = (
        state(tmp_path / name, make_model(), **{"data/a.json": text})
        for name, text in (("old", '{"most": {"oven": 40}}'), ("new", '{"most": {"oven": 40, "rye": 20}}'))
    )

    def open_model(folder: FolderState) -> OpenedModel:
        figures = json.loads((folder.folder / "data/a.json").read_text())["most"]
        return OpenedModel(folder, make_model({**LIMITS, "rye": ({"rye": 1.0}, float(figures.get("rye", 1000)))}))

    result = verify_revision(old, new, [read_change(f"data/a.json[most, rye] = {value}")], open_model=open_model)
    assert result.preservation is not None
    assert (result.ok, result.preservation.holds) == (holds, holds)
    assert result.preservation.objective.value == pytest.approx(
        optimum({**LIMITS, "rye": ({"rye": 1.0}, float(value))})
    )


def test_a_program_that_fails_with_former_values_is_not_preserved(tmp_path: Path) -> None:
    old, new = (
        state(tmp_path / name, make_model(), **{"data/a.csv": f"name,value\noven,{value}\n"})
        for name, value in (("old", 40), ("new", 30))
    )

    def open_model(folder: FolderState) -> OpenedModel:
        if folder not in (old, new):
            raise ModellingError("no")
        return opener(folder)

    neutral = read_change("data/a.csv[oven, value] = 50")
    result = verify_revision(old, new, [neutral], open_model=open_model)
    assert result.preservation is not None
    assert (result.ok, result.preservation.holds, result.preservation.objective.value) == (False, False, None)
    assert result.preservation.cells == (str(neutral),)
    assert "no" in result.preservation.reason
    assert result.preservation.former.value == pytest.approx(optimum())


OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN = (
    SolveStatus.OPTIMAL,
    SolveStatus.FEASIBLE,
    SolveStatus.INFEASIBLE,
    SolveStatus.UNKNOWN,
)


@pytest.mark.parametrize(
    ("former", "now", "keeps"),
    [
        (OPTIMAL, OPTIMAL, True), (INFEASIBLE, FEASIBLE, True), (OPTIMAL, INFEASIBLE, False), (INFEASIBLE, INFEASIBLE, True),
        (UNKNOWN, UNKNOWN, False), (UNKNOWN, INFEASIBLE, False),
    ],
)  # fmt: skip
def test_a_revision_keeps_a_solution_or_the_proof_that_there_is_none(
    former: SolveStatus, now: SolveStatus, keeps: bool
) -> None:
    sides = [SimpleNamespace(known=SimpleNamespace(outcome=SimpleNamespace(status=status))) for status in (former, now)]
    assert _keeps_solution(*sides) is keeps  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("former", "now", "differs"),
    [
        # The tolerance is a millionth, relative to a former optimum of more than one.
        (Figure.exact(0.0), Figure.exact(1e-6), False), (Figure.exact(0.0), Figure.exact(-1e-6), False), (Figure.exact(0.0), Figure.exact(1.1e-6), True),
        (Figure.exact(0.0), Figure.exact(-1.1e-6), True), (Figure.exact(-1000.0), Figure.exact(-1000.0009), False), (Figure.exact(-1000.0), Figure.exact(-1000.002), True),
        (Figure.exact(1000.0), Figure.exact(1000.002), True), (Figure.exact(0.5), Figure.exact(0.5000009), False),
        # Of intervals, a common value is enough; an end that is missing is infinite.
        (Figure(value=5.0, low=4.0, high=6.0), Figure(value=7.0, low=6.0, high=8.0), False), (Figure(value=5.0, low=4.0, high=6.0), Figure(value=7.0, low=6.5, high=8.0), True),
        (Figure(value=5.0, low=4.0, high=6.0), Figure(value=3.0, low=2.0, high=3.5), True), (Figure(value=5.0, low=4.0), Figure(value=9.0, low=8.0, high=9.0), False),
        (Figure(value=5.0, high=6.0), Figure(value=1.0, low=0.0, high=2.0), False), (Figure(value=5.0, low=4.0, high=6.0), Figure(value=9.0, high=9.0), False),
        (Figure(value=5.0, low=4.0, high=6.0), Figure(value=1.0, low=1.0), False),
    ],
)  # fmt: skip
def test_optima_differ_beyond_their_intervals_and_the_tolerance(former: Figure, now: Figure, differs: bool) -> None:
    assert _differ(former, now) is differs


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (CellEdit(path="a.csv", row="r", column="c", before="1", after="2"), "a.csv, row r, column c: 1 → 2"),
        (CellEdit(path="a.csv", row="r", column="c", before=None, after=""), "a.csv, row r, column c: none → empty"),
        (CellEdit(path="a.db", table="t", row="r", column="c", before="", after=None), "a.db, sheet t, row r, column c: empty → none"),
        (CellEdit(path="p" * 160, before="1", after="2"), "p" * 160),
    ],
)  # fmt: skip
def test_a_changed_cell_is_described_by_its_place_and_texts(edit: CellEdit, text: str) -> None:
    assert str(edit) == text
    place, _, change = str(edit.model_copy(update={"path": "p" * 200})).partition(": ")
    assert (len(place), change) == (160, text.partition(": ")[2])


def test_a_run_has_the_result_of_its_last_model(tmp_path: Path) -> None:
    folder, model = state(tmp_path, make_model()), make_model(THREE_ROWS)
    solved = SolvedModel(model, solve(model), framework="pulp 3")
    run = ProgramRun(ProgramOutcome.ENDED, models=(solved,))
    result = describe_run_result(folder, run, ["a note"])
    assert (result.ok, result.status, result.sense, result.variables, result.rows) == (
        True,
        "optimal",
        "maximize",
        2,
        3,
    )
    figure = result.objective
    assert (figure.value, figure.low, figure.high, figure.unit) == (*[pytest.approx(optimum())] * 3, "EUR")
    assert (result.warnings, result.revision.framework, result.limits.seconds) == (("a note",), "pulp 3", 30.0)
    assert (result.revision.name, result.revision.program) == (".", "model.json")
    # Within a gap, the interval ends at the bound; without a bound it has no ends.
    gap = Solution(FEASIBLE, objective=300.0, bound=350.0, gap=1 / 6)
    cut = ProgramRun(ProgramOutcome.TIME, models=(SolvedModel(make_model(), gap, note="cut"),))
    result = describe_run_result(folder, cut)
    assert (result.ok, result.status, result.reason) == (True, "feasible", "cut")
    assert (result.objective.value, result.objective.low, result.objective.high) == (300.0, 300.0, 350.0)
    unbounded = ProgramRun(
        ProgramOutcome.ENDED, models=(SolvedModel(make_model(), Solution(FEASIBLE, objective=300.0)),)
    )
    figure = describe_run_result(folder, unbounded).objective
    assert (figure.value, figure.low, figure.high) == (300.0, None, None)
    failed = describe_run_result(folder, ProgramRun(ProgramOutcome.ERROR, 1, reason="why"))
    assert (failed.ok, failed.status, failed.reason, failed.sense, failed.variables, failed.rows) == (
        False,
        "unknown",
        "why",
        "",
        0,
        0,
    )
    assert (failed.objective.value, failed.revision.framework) == (None, "")
    stopped = describe_run_result(folder, ProgramRun(ProgramOutcome.TIME, reason="why"))
    assert not stopped.ok
