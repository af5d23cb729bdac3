"""What ``formulate`` leaves is discussed by ``converse``, in the words of the problem that it came from."""

import json
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from oragent.cli.app import app
from oragent.converse.conversation import ConversationEnd, ConversationResult, Turn, opening_text
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.registry import open_problem
from oragent.converse.transcript import utility_curve
from oragent.milp import Milp, Objective, Relation, Row, Variable, to_json
from oragent.milp.model import Sense

RECORDED = Path(__file__).parents[1] / "formulate" / "recorded" / "pharmacy"
SAID = """sleeping_pills >= 120
why
morphine <= 1200
undo
fix painkillers 60
quit
"""


def test_the_model_just_formulated_is_discussed_by_its_rows_and_sentences(tmp_path: Path) -> None:
    runner = CliRunner(env={"COLUMNS": "200"})
    made = runner.invoke(app, ["formulate", "--replay", str(RECORDED), "--outputs", str(tmp_path / "formulate")])
    assert made.exit_code == 0, made.output
    (folder,) = (tmp_path / "formulate" / "pharmacy").iterdir()
    milp = json.loads((folder / "milp.json").read_text())
    assert milp["meaning"].startswith("A pharmacy has 3000 mg of morphine")
    assert [row["meaning"] for row in milp["rows"]] == [
        "3000 mg of morphine", "at least 50 painkiller pills", "at least 70% of the pills should be sleeping pills",
    ]  # fmt: skip
    words = ["converse", str(folder), "--agent", "rules", "--outputs", str(tmp_path / "converse")]
    talked = runner.invoke(app, words, input=SAID)
    assert talked.exit_code == 0, talked.output
    said = " ".join(talked.output.split())
    for part in (
        "bound a row to trade it off: morphine <= ... (3000 mg of morphine)",
        "Rows: morphine 1,202 (must be <= 3,000); painkillers_least 50 (must be >= 50)",
        "objective 750; changed: sleeping_pills 117 → 120",
        "without sleeping_pills >= 120: objective 735",
        "infeasible: morphine <= 1,200 is impossible; the least possible is 1,220",
        "changed: painkillers 50 → 60",
    ):
        assert part in said, part
    assert "(0 of them)" not in said
    assert "\\" not in said


def test_the_unit_of_the_objective_is_kept_from_a_formulation(tmp_path: Path) -> None:
    """``formulate`` keeps the unit beside the model; each answer, the copy and a conversation that goes on have it."""
    model = Milp(
        (Variable("x", 0, 5),), (Row("room", {"x": 1.0}, Relation.AT_MOST, 4),), Objective({"x": 3.0}), Sense.MAXIMIZE
    )
    (tmp_path / "milp.json").write_text(to_json(model))
    said = [{"module": "formalization", "parsed": {"UNIT": "EUR"}}, {"module": "compiler", "parsed": None},
            {"module": "formalization", "parsed": {"UNIT": "euro"}}]  # fmt: skip
    (tmp_path / "pool.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in said))
    runner = CliRunner(env={"COLUMNS": "200"})
    words = ["converse", str(tmp_path), "--agent", "rules", "--outputs", str(tmp_path / "out")]
    talked = runner.invoke(app, words, input="set room 3\nwhy\nquit\n")
    assert "Objectives: objective 12 euro." in talked.output
    assert "before: objective 12 euro; after: objective 9 euro;" in talked.output
    (folder,) = (tmp_path / "out").glob("*/*")
    assert json.loads((folder / "milp.json").read_text())["objective"]["unit"] == "euro"
    assert "9 euro" in runner.invoke(app, ["converse", str(folder)], input="show\n").output
    for damaged in ("{", '[1]\n{"module": "formalization", "parsed": {"UNIT": 3}}', "[" * 5000):
        (tmp_path / "pool.jsonl").write_text(damaged)
        assert open_problem(str(tmp_path)).expressions[0].unit == ""


def test_a_curve_climbs_with_the_best_decision_shown() -> None:
    turns = [Turn(said="x", answer="y", values=values) for values in ((), (0.2,), (0.1, 0.5), (0.3,))]
    found = utility_curve(ConversationResult(ConversationEnd.OWN, tuple(turns), "", False, 0.5, 0.8))
    assert found is not None
    assert [(turn, value) for _, _, turn, value in found.shown] == [(2, 0.2), (3, 0.5), (4, 0.3)]
    heights = [float(point.split(",")[1]) for point in found.best.split()]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == found.foot - (found.foot - found.top) * 0.5 / 0.8
    assert utility_curve(ConversationResult(ConversationEnd.OWN, tuple(turns[:1]), "", False, 0.0, 0.8)) is None


def test_an_opening_that_is_not_proven_says_how_far_it_may_be_from_the_best() -> None:
    one = Variable("x", 0, 5)
    proven = FormulatedProblem(Milp((one,), (), Objective({"x": 1.0}), Sense.MAXIMIZE, "room"))
    assert "within" not in opening_text(proven)
    doubtful = FormulatedProblem(proven.base)
    doubtful.first = replace(proven.first, gap=0.0123)
    assert "This is within 1.2 % of the best possible" in opening_text(doubtful)
