"""Checks of a submitted program, with runs whose models are made here from the data of their folder."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.operations.results import DiffEntry, Figure
from oragent.modelling.solving.model_solving import solve
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.settings import WorkspaceSettings
from oragent.workspace.sources import FolderState
from oragent.workspace.submission import BuildCheck, RevisionCheck, describe_entry, list_unused_helpers
from tests.workspace.release import put

FIGURES = {"flour": "100", "price": "4"}
PROGRAM = "src/bakery.py"
DATA = "data/general_parameters.csv"


def make_model(figures: dict[str, str]) -> IndexedModel:
    """Loaves of rye at a price and of wheat at 3; the most rye, and an order, are rules that may be missing."""
    rows = [Row("flour_there", {"rye": 1.0, "wheat": 1.0}, Relation.AT_MOST, float(figures["flour"]))]
    if "most_rye" in figures:
        rows.append(Row("rye_sold", {"rye": 1.0}, Relation.AT_MOST, float(figures["most_rye"])))
    if "order" in figures:
        rows.append(Row("order", {"rye": 1.0}, Relation.AT_LEAST, float(figures["order"])))
    prices = {"rye": float(figures["price"]), "wheat": 3.0}
    return IndexedModel.from_records(
        (Variable("rye"), Variable("wheat")), tuple(rows), Objective(prices), Sense.MAXIMIZE
    )


class Runner:
    """Stands for the sandbox: a program without the word "broken" has the model of its data."""

    def __init__(self) -> None:
        self.folders: list[Path] = []

    def run(self, folder: Path, program: str) -> ProgramRun:
        self.folders.append(folder)
        if "broken" in (folder / program).read_text():
            return ProgramRun(ProgramOutcome.ENDED, 1, stderr="NameError: broken", reason="no model was solved")
        rows = csv.DictReader(io.StringIO((folder / DATA).read_text()))
        milp = make_model({row["Parameter_Name"]: row["Value"] for row in rows})
        return ProgramRun(ProgramOutcome.ENDED, models=(SolvedModel(milp, solve(milp)),))


def write_folder(folder: Path, figures: dict[str, str], **files: str) -> FolderState:
    table = "Parameter_Name,Value\n" + "".join(f"{name},{value}\n" for name, value in figures.items())
    put(folder, {DATA: table, PROGRAM: "import pulp\n", "docs/a.md": "# Bakery\n", **files})
    return FolderState(".", "", folder, WorkspaceSettings(), PROGRAM)


def check(
    tmp_path: Path, figures: dict[str, str], plan: dict[str, Any], base: dict[str, str] | None = None, **files: str
) -> tuple[RevisionCheck, Any]:
    """Return a check of a revision of the data, and its findings."""
    old, new = write_folder(tmp_path / "old", FIGURES), write_folder(tmp_path / "new", figures, **files)
    contents = {path: file.read_text() for path, file in old.list_files().items()} if base is None else base
    made = RevisionCheck(Runner(), new, contents, old=old, plan=plan)  # type: ignore[arg-type]
    return made, made(PROGRAM)


def figure(name: str, value: str, **more: str) -> dict[str, str]:
    return {"name": name, "value": value, **more}


@pytest.mark.parametrize(
    ("figures", "preserved"),
    [
        ({**FIGURES, "most_rye": "40"}, True), ({**FIGURES, "most_rye": "40", "price": "5"}, True),
        # The neutral value is none: the former optimum is lost at it.
        ({**FIGURES, "most_rye": "40", "neutral": "60"}, False),
        # A new figure without a neutral value is not tested.
        ({**FIGURES, "most_rye": "40", "neutral": ""}, None),
    ],
)  # fmt: skip
def test_a_revision_is_tested_at_former_and_neutral_values(
    tmp_path: Path, figures: dict[str, str], preserved: bool | None
) -> None:
    neutral = figures.pop("neutral", "1000")
    planned = [figure(name, value) for name, value in figures.items() if FIGURES.get(name) != value]
    plan = {"data": [entry | ({"neutral": neutral} if entry["name"] == "most_rye" else {}) for entry in planned]}
    made, findings = check(tmp_path, figures, plan, **{"docs/a.md": "# Bakery\nFewer loaves.\n"})
    assert (made.preserved, findings.errors) == (preserved, ())
    assert made.comparison is not None
    price = float(figures["price"])
    assert made.comparison.objective.before.value == 400
    assert made.comparison.objective.after.value == 40 * price + 60 * 3
    assert len(findings.warnings) == (preserved is False)
    if preserved is False:
        # Both optima: at 60 loaves of rye, and before.
        assert str(60 * 4 + 40 * 3) in findings.warnings[0]
        assert "400" in findings.warnings[0]
    planned_edits, others = made.edits
    assert (len(planned_edits), list(others)) == (len(planned), [])
    # The former program runs once, and so does the new one, beside the trial at former values.
    made._open(made.old)  # type: ignore[arg-type]
    made._open(made.state)
    runner: Any = made.runner
    assert runner.folders.count(tmp_path / "old") == runner.folders.count(tmp_path / "new") == 1
    assert len(runner.folders) == 3


def test_planned_edits_that_are_missing_are_errors_and_others_warnings(tmp_path: Path) -> None:
    plan = {"data": [figure("flour", "90"), figure("price", "4")]}
    made, findings = check(tmp_path, {**FIGURES, "order": "5"}, plan, **{"docs/a.md": "# Bakery\nOrders.\n"})
    # A value that stood there before needs no edit.
    assert (len(made.missing), len(findings.errors)) == (1, 1)
    assert "flour" in made.missing[0]
    assert "90" in findings.errors[0]
    planned_edits, others = made.edits
    assert list(planned_edits) == []
    assert others
    assert any("order" in warning for warning in findings.warnings)


@pytest.mark.parametrize(("value", "missing"), [("4", 0), ("5", 1)])
def test_a_planned_value_that_stands_already_is_found_by_one_label_or_several(
    tmp_path: Path, value: str, missing: int
) -> None:
    table = {"data/pairs.csv": "city,loaf,price\nNord,rye,4\nNord,wheat,3\n"}
    old, new = (write_folder(tmp_path / name, FIGURES, **table) for name in ("old", "new"))
    plan = {"edits": [{"path": "data/pairs.csv", "row": "Nord, rye", "column": "price", "value": value}]}
    made = RevisionCheck(Runner(), new, {}, old=old, plan=plan)  # type: ignore[arg-type]
    made(PROGRAM)
    assert len(made.missing) == missing


@pytest.mark.parametrize(
    ("files", "edits_documents", "warned"),
    [
        ({}, True, True), ({}, False, False), ({"docs/a.md": "# Bakery\nMore.\n"}, True, False), ({"docs/b.md": "More.\n"}, True, False),
    ],
)  # fmt: skip
def test_a_revision_says_in_its_documents_what_it_changes(
    tmp_path: Path, files: dict[str, str], edits_documents: bool, warned: bool
) -> None:
    rest = {"docs/c.md": "The rest.\n"}
    old = write_folder(tmp_path / "old", FIGURES, **rest)
    new = write_folder(tmp_path / "new", FIGURES, **rest, **files)
    base = {path: file.read_text() for path, file in old.list_files().items()}
    made = RevisionCheck(Runner(), new, base, old=old, edits_documents=edits_documents)  # type: ignore[arg-type]
    assert bool(made(PROGRAM).warnings) is warned
    without = {path: text for path, text in base.items() if not path.startswith("docs/")}
    assert not RevisionCheck(Runner(), new, without, old=old)(PROGRAM).warnings  # type: ignore[arg-type]


def test_a_program_that_fails_or_has_no_plan_is_described(tmp_path: Path) -> None:
    state = write_folder(tmp_path, FIGURES, **{"src/broken.py": "broken", "src/help.py": ""})
    build = BuildCheck(Runner(), state, {})  # type: ignore[arg-type]
    assert build(PROGRAM).errors == ()
    (error,) = build("src/broken.py").errors
    assert "NameError" in error
    # Two files that no other one imports.
    assert len(build(PROGRAM).warnings) == 2
    infeasible = write_folder(tmp_path / "more", {**FIGURES, "most_rye": "4", "order": "9"})
    first, *conflict = BuildCheck(Runner(), infeasible, {})(PROGRAM).errors  # type: ignore[arg-type]
    assert str(SolveStatus.INFEASIBLE) in first
    assert {"rye_sold", "order"} <= {
        name for name in ("rye_sold", "order", "flour_there") if name in " ".join(conflict)
    }
    unsolved = BuildCheck(Runner(), state, {})  # type: ignore[arg-type]
    for status, count in ((SolveStatus.UNBOUNDED, 1), (SolveStatus.UNKNOWN, 1), (SolveStatus.OPTIMAL, 0)):
        solution = Solution(status, objective=1.0 if status is SolveStatus.OPTIMAL else None)
        unsolved.run = ProgramRun(ProgramOutcome.ENDED, models=(SolvedModel(make_model(FIGURES), solution),))
        errors = list(unsolved._describe_failure())
        assert len(errors) == count
        assert all(str(status) in text for text in errors)
    # A program that was stopped has failed, whatever its model.
    unsolved.run = ProgramRun(ProgramOutcome.MEMORY, models=unsolved.run.models)
    assert len(list(unsolved._describe_failure())) == 1


def test_a_broken_revision_is_not_compared(tmp_path: Path) -> None:
    made, findings = check(tmp_path, FIGURES, {}, **{PROGRAM: "broken"})
    assert (made.comparison, made.preserved) == (None, None)
    assert len(findings.errors) == 1
    # A former program that has failed cannot be compared either.
    old = write_folder(tmp_path / "old", FIGURES, **{PROGRAM: "broken"})
    new = write_folder(tmp_path / "new", FIGURES, **{PROGRAM: "import pulp\n"})
    again = RevisionCheck(Runner(), new, {}, old=old)  # type: ignore[arg-type]
    findings = again(PROGRAM)
    assert (again.comparison, findings.errors, len(findings.warnings)) == (None, (), 1)


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([{"name": "rye_sold", "change": "add"}], 0), ([{"name": "Rye sold", "change": "add"}], 0), ([{"name": "rye", "change": "add"}], 0),
        ([{"name": "rye_so", "change": "add"}], 1), ([{"name": "gone", "change": "drop"}], 0), (["gone"], 0),
        ([{"name": "gone", "change": "add"}, {"name": "lost", "change": "add"}], 2),
    ],
)  # fmt: skip
def test_rows_that_a_plan_adds_have_their_names_in_the_program(tmp_path: Path, rows: list[Any], missing: int) -> None:
    figures = {**FIGURES, "most_rye": "40"}
    made, _ = check(tmp_path, figures, {"rows": rows, "data": [figure("most_rye", "40")]})
    assert len(list(made.missing_rows())) == missing
    made.run = None
    assert list(made.missing_rows()) == []


def test_a_new_helper_is_imported_by_another_file(tmp_path: Path) -> None:
    put(tmp_path, {
        "src/main.py": "import used\nfrom pack import other\n", "src/used.py": "", "src/other.py": "", "src/unused.py": "import unused\n",
        "src/before.py": "", "src/reused.py": "", "data/a.csv": "x",
    })  # fmt: skip
    files = {str(file.relative_to(tmp_path)): file for file in tmp_path.rglob("*.*")}
    found = list(list_unused_helpers(files, {"src/before.py": ""}, "src/main.py"))
    assert [text.partition(" ")[0] for text in sorted(found)] == ["src/reused.py", "src/unused.py"]


@pytest.mark.parametrize(
    ("change", "members", "largest", "effect", "parts", "absent"),
    [
        ("added", 1, (("r[a]", None, 3.0),), None, ["rows", "limit"], ["members", "→", "optimum"]),
        ("removed", 2, (), Figure.exact(5.0), ["limit", "(2 members)", "optimum by", "5"], ["→"]),
        ("changed", 4, (("a", 1.0, 2.0), ("b", None, 3.0), ("c", None, None), ("d", 5.0, 6.0)), Figure(),
         ["(4 members)", "a 1 → 2", "b none → 3", "; c"], ["d 5", "optimum", "c none"]),
    ],
)  # fmt: skip
def test_a_difference_is_described_by_its_size_its_largest_changes_and_its_effect(
    change: str, members: int, largest: tuple, effect: Figure | None, parts: list[str], absent: list[str]
) -> None:
    entry = DiffEntry(of="rows", name="limit", change=change, members=members, largest=largest, effect=effect)
    text = describe_entry(entry)
    assert [part for part in parts if part not in text] == []
    assert [part for part in absent if part in text] == []


def test_long_names_of_a_difference_are_shortened_to_sixty_characters() -> None:
    long = ("x" * 99, 1.0, 2.0), ("y" * 60, None, None), ("z" * 61, None, None)
    text = describe_entry(DiffEntry(of="rows", name="w" * 99, change="changed", members=3, largest=long))
    words = [word.strip(";:") for word in text.split() if word[0] in "wxyz"]
    assert [len(word) for word in words] == [60] * 4
    assert words[2] == "y" * 60


def test_a_plan_is_json(tmp_path: Path) -> None:
    """Plans come from replies: entries of other kinds are left out."""
    made, _ = check(tmp_path, FIGURES, json.loads('{"rows": [null, 5], "data": [7]}'))
    assert (list(made.missing_rows()), made.missing) == ([], ())
