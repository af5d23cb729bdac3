"""The set of ours that is kept: exact models agree with its labels, and agents without a model come to what they must."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.evals.workspace.agents import plants
from oragent.evals.workspace.business_text import modelling_words
from oragent.evals.workspace.command import WorkspaceBenchRequest, run_bench
from oragent.evals.workspace.difficulty import tertiles
from oragent.evals.workspace.generating.making import MOVED, make, moved
from oragent.evals.workspace.generating.operators import OPERATORS
from oragent.evals.workspace.generating.patches import apply
from oragent.evals.workspace.generating.sets import GenerateRequest, generate, read_known
from oragent.evals.workspace.judging import by_predicates, score
from oragent.evals.workspace.label_sets import read_labels
from oragent.evals.workspace.leaks import labels_of, search
from oragent.evals.workspace.noise.artifacts import Artifacts, NoiseStep
from oragent.evals.workspace.noise.planting import resolve
from oragent.evals.workspace.views import RevisionView
from oragent.milp import SolveStatus, solve
from oragent.milp.families import FAMILIES
from oragent.milp.naming import rename_milp
from oragent.workspace.comparing import Flaw, compared
from oragent.workspace.layout import Mode, check, open_workspace
from oragent.workspace.tables import read as read_table

MADE = Path(__file__).parent / "made12"
KNOWN = read_known(MADE)
LABELS = read_labels(MADE)


@pytest.mark.parametrize("number", sorted(KNOWN))
def test_the_labels_are_the_optima_of_the_exact_models(number):
    known = KNOWN[number]
    for mode, milp in ((Mode.BUILD, known.milp), (Mode.REVISE, known.revised)):
        found = solve(milp, duals=False)
        assert found.status is SolveStatus.OPTIMAL
        assert found.objective == pytest.approx(LABELS.references[mode][f"made_{number:03d}_{mode}"].objective)


@pytest.mark.parametrize("number", sorted(KNOWN))
def test_a_revision_moves_the_optimum_and_its_neutral_values_bring_the_original_back(number):
    known = KNOWN[number]
    assert moved(known.revised_optimum, known.optimum)
    assert abs(known.revised_optimum - known.optimum) / max(1.0, abs(known.optimum)) > MOVED
    neutral = solve(apply(known.patch, known.milp, known.patch.neutral), duals=False)
    assert neutral.objective == pytest.approx(known.optimum)
    assert apply(known.patch, known.milp, known.patch.values) == known.revised


@pytest.mark.parametrize("number", sorted(KNOWN))
def test_the_truth_is_still_in_the_noisy_files(number):
    record = json.loads((MADE / f"vault/instances/{number:03}.json").read_text())
    view = MADE / f"views/made_{number:03d}_build"
    noisy = Artifacts(
        {path.name: read_table(path.read_text()).table for path in (view / "data").iterdir()},
        {path.name: path.read_text() for path in (view / "docs").iterdir()},
    )
    clean = resolve(noisy, [NoiseStep.from_json(step) for step in record["steps"]])
    assert {name: read_table(text).table for name, text in record["tables"].items()} == dict(clean.tables)


def test_views_hold_no_label_and_no_word_of_modelling():
    for number, known in KNOWN.items():
        rubric = next(one for one in LABELS.rubrics.values() if one.number == number)
        for mode in Mode:
            name = f"made_{number:03d}_{mode}"
            own = {name: LABELS.references[mode][name]} if mode is not Mode.EXPLAIN else {}
            assert [one for one in search(MADE / "views" / name, labels_of(own, rubric)) if one.certain] == []
            assert [str(one) for one in check(open_workspace(MADE / "views" / name, mode)) if "no row" not in str(one)
                    and "no value" not in str(one)] == []  # fmt: skip
        brief = (MADE / f"views/made_{number:03d}_revise/revised/docs/business_requirement.md").read_text()
        assert modelling_words(brief) == ()
        assert all(f"`{one.name}`" in brief for one in known.patch.parameters)


def test_the_question_given_back_covers_nothing():
    for rubric in LABELS.rubrics.values():
        assert score(rubric, rubric.question, by_predicates(rubric, rubric.question)).coverage < 6.0


@pytest.mark.parametrize("number", sorted(KNOWN))
@pytest.mark.parametrize("revised", [False, True])
def test_every_planted_error_is_named_by_the_comparison(number, revised):
    known = KNOWN[number]
    exact = known.revised if revised else known.milp
    assert compared(exact, exact) == ()
    found = plants(known, revised)
    assert found
    for plant in found:
        differences = compared(plant.milp, exact)
        subject = plant.name.removeprefix("objective ").removeprefix("+constraint ").removeprefix("modify_constraint ")
        assert any(subject in str(one) for one in differences) or plant.name == "modify_objective"
        if plant.kind == "row":
            assert [one.flaw for one in differences] == [Flaw.MISSING_ROW]
        if plant.kind == "cell":
            assert {one.flaw for one in differences} == {Flaw.DATA}


def test_agents_without_a_model_come_to_what_they_must(tmp_path):
    out = io.StringIO()
    screen = Terminal(file=out, width=200, color_system=None, force_terminal=False)
    request = WorkspaceBenchRequest(tmp_path / "bench", MADE, agents=("oracle", "copy", "planted", "records"),
                           variants=(RevisionView.CODE,), settings={"limit": 2})  # fmt: skip
    assert run_bench(request, screen) == 0
    lines = {}
    mode = ""
    for line in out.getvalue().splitlines():
        mode = line.partition(":")[0] if ": made12" in line else mode
        words = line.split()
        if words and words[0] in request.agents:
            lines[mode, words[0]] = words
    assert lines["build", "oracle"][2] == lines["revise-code", "oracle"][2] == "100.0"
    assert lines["build", "copy"][2] == lines["revise-code", "copy"][2] == "0.0"
    assert lines["build", "planted"][2] == lines["revise-code", "planted"][2] == "0.0"
    for mode in ("build", "revise-code"):
        assert "2 of 2" in " ".join(lines[mode, "planted"])
    assert lines["explain", "records"][2] == "35.0"
    page = (tmp_path / "bench" / "report.html").read_text()
    assert "gpt-5.4" in page
    assert "submitted/made_001_build.py" in page
    again = io.StringIO()
    assert run_bench(WorkspaceBenchRequest(tmp_path / "bench"), Terminal(file=again, width=200, color_system=None)) == 0
    assert "oracle" in again.getvalue()


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_of_revision_works_on_some_family(operator):
    family = {"minimum lot": "transport", "carry-over": "product_mix", "new site": "diet"}.get(operator, "product_mix")
    made = make(1, family, 4, 5, 3, [operator])
    assert made.revised.operator == operator
    assert moved(made.revised.optimum, made.optimum)
    assert all(one.unit for one in made.revised.patch.parameters)


def test_the_same_seed_makes_the_same_instance():
    first, second = (make(3, "diet", 4, 11) for _ in range(2))
    assert first == second
    assert make(3, "diet", 4, 12).milp != first.milp


def test_a_set_is_made_whole_or_not_at_all(tmp_path):
    made = generate(GenerateRequest(("knapsack",), 1, 7), tmp_path / "set")
    assert sorted(path.name for path in (tmp_path / "set/views").iterdir()) == [
        "made_001_build", "made_001_explain", "made_001_revise",
    ]  # fmt: skip
    assert read_known(tmp_path / "set")[1].revised == made[0].revised.milp
    with pytest.raises(WorkspaceError, match="expected a new folder"):
        generate(GenerateRequest(("knapsack",), 1, 7), tmp_path / "set")
    with pytest.raises(WorkspaceError, match="family 'none'"):
        generate(GenerateRequest(("none",), 1, 7), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_models_are_compared_up_to_names():
    known = KNOWN[min(KNOWN, key=lambda number: len(KNOWN[number].milp.variables))]
    milp = known.milp
    other = rename_milp(milp, {one.name: f"v{place}" for place, one in enumerate(milp.variables)},
                    {row.name: f"r{place}" for place, row in enumerate(milp.rows)})  # fmt: skip
    assert compared(other, milp) == ()
    assert [one.flaw for one in compared(plants(known, False)[0].milp, milp)] == [Flaw.MISSING_ROW]


def test_difficulty_keeps_ties_together():
    rng = np.random.default_rng(0)
    values = [float(value) for value in rng.choice([0, 50, 100], 12)]
    labels = tertiles(values)
    assert all((labels[i] == labels[j]) for i in range(12) for j in range(12) if values[i] == values[j])
    assert set(FAMILIES)
