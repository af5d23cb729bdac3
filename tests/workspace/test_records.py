"""Records of runs hold for the present files only, and say what conflicts."""

import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.errors import WorkspaceError
from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.operations.results import Figure
from oragent.modelling.solving.model_solving import solve
from oragent.workspace import records
from oragent.workspace.reading import list_files
from oragent.workspace.records import (
    RECORD,
    describe_conflict,
    hash_inputs,
    make_record,
    read_record,
    write_record,
)
from oragent.workspace.runner import ProgramRun, SolvedModel
from tests.workspace.release import put

# Repair of a right-hand side.
CHANGE = SimpleNamespace(row="need", before=9.0, after=7.0)


def make_model(least: float) -> IndexedModel:
    """Rye is at most 3; the sum of all but free is at least this; no other row holds free."""
    rows = (
        Row("need", {"wheat": 1.0, "oat": 1.0, "rye": 1.0}, Relation.AT_LEAST, least),
        Row("most_rye", {"rye": 1.0}, Relation.AT_MOST, 3.0),
        Row("rest", {"wheat": 1.0, "oat": 1.0}, Relation.AT_MOST, 4.0),
    )
    names = (Variable("free", 0.0, 1.0), Variable("oat"), Variable("rye", unit="t"), Variable("wheat"))
    cost = Objective({"wheat": 3.0, "oat": 2.0, "rye": 1.0}, unit="EUR")
    return IndexedModel.from_records(names, rows, cost, Sense.MINIMIZE)


def run_of(model: IndexedModel) -> ProgramRun:
    return ProgramRun(ProgramOutcome.ENDED, models=(SolvedModel(model, solve(model)),), opened=("data/a.csv",))


def test_a_record_has_figures_and_decisions_in_the_order_of_short_rows() -> None:
    record = make_record(run_of(make_model(5.0)))
    assert (record["status"], record["objective"], record["bound"], record["unit"]) == ("optimal", 7.0, 7.0, "EUR")
    assert (record["gap"], record["conflict"]) == (0.0, [])
    assert list(record["variables"]) == ["rye", "wheat", "oat", "free"]
    values = {name: column["value"] for name, column in record["variables"].items()}
    assert {name: values[name] for name in ("rye", "wheat", "oat")} == {"rye": 3.0, "wheat": 0.0, "oat": 2.0}
    assert {name: column["unit"] for name, column in record["variables"].items()} == {
        "rye": "t", "wheat": "", "oat": "", "free": "",
    }  # fmt: skip
    infeasible = make_record(run_of(make_model(9.0)))
    assert (infeasible["status"], infeasible["objective"], bool(infeasible["conflict"])) == ("infeasible", None, True)
    unsolved = (SolvedModel(None, note="too large"), SolvedModel(make_model(5.0)))
    for models in ((), unsolved[:1], unsolved[1:]):
        assert make_record(ProgramRun(ProgramOutcome.ENDED, models=models)) == {}
    unknown = SolvedModel(make_model(9.0), Solution(SolveStatus.UNKNOWN))
    assert make_record(ProgramRun(ProgramOutcome.ENDED, models=(unknown,)))["conflict"] == []


def test_a_record_counts_while_its_files_are_the_same(tmp_path: Path) -> None:
    put(tmp_path, {"data/a.csv": "x\n", "data/b.csv": "y\n", "docs/a.md": "text\n"})
    assert read_record(tmp_path, list_files(tmp_path)) == {}
    for _ in range(2):
        write_record(tmp_path, run_of(make_model(5.0)), list_files(tmp_path, hidden=False))
    assert read_record(tmp_path, list_files(tmp_path, hidden=False))["objective"] == 7.0
    # Documents and files that the program did not open may change.
    put(tmp_path, {"data/b.csv": "z\n", "docs/b.md": "more\n", "answers/ask-1.md": "x", "requests/a.md": "x"})
    assert read_record(tmp_path, list_files(tmp_path, hidden=False))["objective"] == 7.0
    put(tmp_path, {"data/a.csv": "z\n"})
    assert read_record(tmp_path, list_files(tmp_path, hidden=False)) == {}
    for damaged in ({}, {"inputs": None}, {"inputs": 5}, {"inputs": {}}):
        put(tmp_path, {RECORD: json.dumps(damaged)})
        assert read_record(tmp_path, list_files(tmp_path, hidden=False)) == {}
    (tmp_path / RECORD).unlink()
    (tmp_path / ".oragent").rmdir()
    (tmp_path / ".oragent").write_text("no folder")
    with pytest.raises(WorkspaceError):
        write_record(tmp_path, run_of(make_model(5.0)), {})


def test_a_conflict_names_its_rows_and_a_change_that_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 7 can be had, and 9 are wanted: a change of 2 in all, and each row alone can be the one."""
    model = make_model(9.0)
    explanations, explain = [], records.explain
    monkeypatch.setattr(records, "explain", lambda *words: explanations.append(explain(*words)) or explanations[0])
    lines = list(describe_conflict(model))
    (least, *_), text = lines, "\n".join(lines)
    assert "2 in all" in least
    assert all(f"'{name}'" in text for name in ("need", "most_rye", "rest"))
    assert "'need' would have to be 7" in text
    assert "'most_rye' would have to be 5" in text
    assert "'rest' would have to be 6" in text
    assert "These 3" in text
    monkeypatch.setattr(records, "explain", lambda *words: explanations[0])
    for most in range(1, len(lines) + 1):
        monkeypatch.setattr(records, "MAX_PARTS", most)
        short = list(describe_conflict(model))
        more = [int(line.split()[2]) for line in short if line.startswith("- and ")]
        assert len(short) - len(more) + sum(more) == len(lines)
        assert short[:most] == lines[:most]
        assert max(len(short) - len(more), most) <= 2 * most
        assert all(number > 0 for number in more)


def explained(count: int, shown: int, **fields: object) -> SimpleNamespace:
    """An explanation whose conflict has one family of so many members, of which some are named."""
    family = SimpleNamespace(part="rows", names=tuple("abcd"[:shown]), members=count)
    usual = {
        "least_total_change": Figure.exact(2.5),
        "proven": True,
        "changes": (),
        "each_alone": (),
        "notes": ("a note",),
    }
    return SimpleNamespace(**{**usual, "conflict": (family,), "irreducible": True, **fields})


@pytest.mark.parametrize(
    ("explanation", "texts", "others"),
    [
        (explained(2, 2), ["- The least", "2.5 in all", "These 2 ", "without any one", "rows: 'a', 'b'.", "- a note"], [" more"]),
        (explained(1, 1), ["This cannot"], ["These", " more"]),
        (explained(5, 2, proven=False, irreducible=False), ["perhaps not the least", "too many", "'b' and 3 more."], ["The least"]),
        (explained(3, 3, least_total_change=None), ["These 3 "], ["in all"]),
        (explained(1, 1, conflict=()), ["in all", "- a note"], ["cannot hold"]),
        (explained(1, 1, changes=(CHANGE,)), ["'need' would have to be 7, not 9."], ["Alone"]),
        (explained(1, 1, each_alone=(CHANGE,)), ["Alone, 'need' would have to be 7."], ["not 9"]),
    ],
)  # fmt: skip
def test_a_conflict_is_described_as_far_as_it_is_known(
    explanation: SimpleNamespace, texts: list[str], others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(records, "explain", lambda *words: asked.append(words) or explanation)
    text = "\n".join(describe_conflict(make_model(9.0)))
    assert all(each in text for each in texts)
    assert not any(each in text for each in others)
    ((_, limits, outcome),) = asked
    assert (limits.seconds, outcome.status) == (records.CONFLICT_S, SolveStatus.INFEASIBLE)


def test_inputs_are_the_same_in_any_order_of_files(tmp_path: Path) -> None:
    paths = ["data/b.csv", "data/a.csv", "docs/a.md", "answers/a.md", "requests/a.md", "plan.py"]
    put(tmp_path, dict.fromkeys(paths, "x\n"))
    files = {path: tmp_path / path for path in paths}
    hashes = hash_inputs(files, paths)
    assert hash_inputs(dict(reversed(files.items())), paths) == hashes
    # Each file that was opened, and the names of all inputs.
    content, names = (hashlib.sha256(text).hexdigest() for text in (b"x\n", b"data/a.csv\ndata/b.csv\nplan.py"))
    assert hashes == {"": names, "data/a.csv": content, "data/b.csv": content, "plan.py": content}
    assert hash_inputs(files, ["plan.py", "gone.csv"]) == {"": names, "plan.py": content}
    # Names of files may be no Unicode text.
    odd = hash_inputs({os.fsdecode(b"data/\xff.csv"): tmp_path}, [])
    assert odd == {"": hashlib.sha256(b"data/\xff.csv").hexdigest()}


def test_a_record_is_plain_text(tmp_path: Path) -> None:
    """Units of a model may have letters beyond ASCII; the file is read by people too."""
    model = IndexedModel.from_records((Variable("x", 1.0, unit="Stück"),), (), Objective({"x": 2.0}), Sense.MINIMIZE)
    write_record(tmp_path, run_of(model), {})
    assert '"Stück"' in (tmp_path / RECORD).read_text()
