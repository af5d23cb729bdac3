"""The set of ours that is kept: exact models agree with its labels, and agents without a model come to what they must."""

import io
import re
from pathlib import Path

import numpy as np
import pytest

from oragent._base.terminal import Terminal
from oragent.evals.workspace.agents import list_plants
from oragent.evals.workspace.command import WorkspaceBenchRequest, run_bench
from oragent.evals.workspace.exact_instances import has_moved, read_instances
from oragent.evals.workspace.importing import read_labels
from oragent.evals.workspace.judging import by_predicates, score_answer
from oragent.evals.workspace.tables import tertiles
from oragent.evals.workspace.views import RevisionView, labels_of, search_labels
from oragent.milp import SolveStatus, solve
from oragent.milp.model import rename_milp
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.comparing import Flaw, compare_models
from oragent.workspace.layout import Mode, find_flaws, open_workspace
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.tables import CsvTable
from oragent.workspace.tables import read_table as read_table
from oragent.workspace.tables import write_table as write_table

MADE = Path(__file__).parent / "made8"
KNOWN = read_instances(MADE)
LABELS = read_labels(MADE)


@pytest.fixture(scope="module")
def runner():
    with Sandbox(1) as box:
        yield ProgramRunner(box)


@pytest.mark.parametrize("number", sorted(KNOWN))
def test_the_labels_are_the_optima_of_the_exact_models(number):
    known = KNOWN[number]
    for mode, milp in ((Mode.BUILD, known.milp), (Mode.REVISE, known.revised)):
        found = solve(milp, duals=False)
        assert found.status is SolveStatus.OPTIMAL
        assert found.objective == pytest.approx(LABELS.references[mode][f"made_{number:03d}_{mode}"].objective)


@pytest.mark.slow
@pytest.mark.parametrize("number", sorted(KNOWN))
def test_a_revision_moves_the_optimum_and_its_neutral_values_bring_the_original_back(number, runner):
    known = KNOWN[number]
    assert has_moved(known.revised_optimum, known.optimum)
    view = MADE / f"views/made_{number:03d}_revise/revised"
    table = read_table((view / "data/general_parameters.csv").read_text()).table
    neutral = {one.name: f"{one.neutral:.10g}" for one in known.figures}
    rows = tuple((row[0], neutral.get(row[0], row[1]), *row[2:]) for row in table.rows)
    files = {"src/p.py": known.programs[1], "data/general_parameters.csv": write_table(CsvTable(table.header, rows))}
    assert runner.run(view, "src/p.py", files).objective == pytest.approx(known.optimum)
    assert runner.run(view, "src/p.py", {"src/p.py": known.programs[1]}).objective == pytest.approx(
        known.revised_optimum)  # fmt: skip


def test_models_have_between_50_and_500_variables():
    assert all(50 <= len(milp.variables) <= 500 for known in KNOWN.values() for milp in (known.milp, known.revised))


def test_views_hold_no_label_and_no_word_of_modelling():
    for number, known in KNOWN.items():
        rubric = next(one for one in LABELS.rubrics.values() if one.number == number)
        for mode in Mode:
            name = f"made_{number:03d}_{mode}"
            own = {name: LABELS.references[mode][name]} if mode is not Mode.EXPLAIN else {}
            assert [one for one in search_labels(MADE / "views" / name, labels_of(own, rubric)) if one.certain] == []
            assert [str(one) for one in find_flaws(open_workspace(MADE / "views" / name, mode)) if "no row" not in str(one)
                    and "no value" not in str(one)] == []  # fmt: skip
        brief = (MADE / f"views/made_{number:03d}_revise/revised/docs/business_requirement.md").read_text()
        assert not re.search(r"constraint|variable|objective|penali|binary|formulation", brief)
        assert all(f"`{one.name}`" in brief for one in known.figures)


def test_the_question_given_back_covers_nothing():
    for rubric in LABELS.rubrics.values():
        assert score_answer(rubric, rubric.question, by_predicates(rubric, rubric.question)).coverage < 6.0


@pytest.mark.slow
@pytest.mark.parametrize("number", sorted(KNOWN))
@pytest.mark.parametrize("revised", [False, True])
def test_every_planted_error_is_named_by_the_comparison(number, revised):
    known = KNOWN[number]
    exact = known.revised if revised else known.milp
    assert compare_models(exact, exact) == ()
    found = list_plants(known, revised)
    assert found
    for plant in found:
        differences = compare_models(plant.milp, exact)
        subject = plant.name.removeprefix("objective ").removeprefix("+constraint ").removeprefix("modify_constraint ")
        assert any(subject in str(one) for one in differences) or plant.name == "modify_objective"
        if plant.kind == "row":
            assert {one.flaw for one in differences} == {Flaw.MISSING_ROW}
        if plant.kind == "cell":
            assert {one.flaw for one in differences} == {Flaw.DATA}


@pytest.mark.slow
def test_agents_without_a_model_come_to_what_they_must(tmp_path):
    out = io.StringIO()
    screen = Terminal(file=out, width=200, color_system=None, force_terminal=False)
    request = WorkspaceBenchRequest(tmp_path / "bench", MADE, agents=("oracle", "copy", "planted"),
                           variants=(RevisionView.CODE,), settings={"limit": 2})  # fmt: skip
    assert run_bench(request, screen) == 0
    lines = {}
    mode = ""
    for line in out.getvalue().splitlines():
        mode = line.partition(":")[0] if ": made8" in line else mode
        words = line.split()
        if words and words[0] in request.agents:
            lines[mode, words[0]] = words
    assert lines["build", "oracle"][2] == lines["revise-code", "oracle"][2] == "100.0"
    assert lines["build", "copy"][2] == lines["revise-code", "copy"][2] == "0.0"
    assert lines["build", "planted"][2] == lines["revise-code", "planted"][2] == "0.0"
    for mode in ("build", "revise-code"):
        assert "2 of 2" in " ".join(lines[mode, "planted"])
    page = (tmp_path / "bench" / "report.html").read_text()
    assert "gpt-5.4" in page
    assert "submitted/made_001_build.py" in page
    again = io.StringIO()
    assert run_bench(WorkspaceBenchRequest(tmp_path / "bench"), Terminal(file=again, width=200, color_system=None)) == 0
    assert "oracle" in again.getvalue()


def test_models_are_compared_up_to_names():
    known = KNOWN[min(KNOWN, key=lambda number: len(KNOWN[number].milp.variables))]
    milp = known.milp
    other = rename_milp(milp, {one.name: f"v{place}" for place, one in enumerate(milp.variables)},
                    {row.name: f"r{place}" for place, row in enumerate(milp.rows)})  # fmt: skip
    assert compare_models(other, milp) == ()
    assert {one.flaw for one in compare_models(list_plants(known, False)[0].milp, milp)} == {Flaw.MISSING_ROW}


def test_difficulty_keeps_ties_together():
    rng = np.random.default_rng(0)
    values = [float(value) for value in rng.choice([0, 50, 100], 12)]
    labels = tertiles(values)
    assert all((labels[i] == labels[j]) for i in range(12) for j in range(12) if values[i] == values[j])
