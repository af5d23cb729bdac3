"""A value that passes is told from a model that is right; labels and ceilings say what a set can show at all."""

import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from oragent._base.terminal import Terminal
from oragent.evals.workspace.command import WorkspaceBenchRequest, run_bench, show_bench
from oragent.evals.workspace.evaluating import InstanceLabels, grade_program
from oragent.evals.workspace.exact_instances import read_instances
from oragent.evals.workspace.importing import read_labels
from oragent.evals.workspace.views import RevisionView, lay_out, list_tasks
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.folder import write_program
from oragent.workspace.layout import Mode
from oragent.workspace.runner import ProgramRunner

MADE = Path(__file__).parent / "made8"
KNOWN = read_instances(MADE)
ONE_VARIABLE = (
    "import pulp\nm = pulp.LpProblem('m', pulp.LpMinimize)\nx = pulp.LpVariable('x', {value!r})\nm += 1 * x\n"
    "m.solve()\nprint('OBJECTIVE_VALUE:', pulp.value(m.objective))\n"
)


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    with Sandbox(1) as box:
        yield ProgramRunner(box)


def reformulated(source: str) -> str:
    """The planning team's program with the objective in a variable of its own: another model, the same problem."""
    solve = re.search(r"^( *)problem\.solve\(", source, re.MULTILINE)
    assert solve is not None
    lines = [
        "goal = pulp.LpVariable('goal')", "problem += goal - problem.objective == 0, 'goal_is_cost'",
        "problem.setObjective(goal + 0)",
    ]  # fmt: skip
    return source[: solve.start()] + "".join(f"{solve[1]}{line}\n" for line in lines) + source[solve.start() :]


@pytest.mark.slow
def test_printed_values_and_toy_models_pass_but_are_neither_backed_nor_equivalent(tmp_path, runner):
    task = list_tasks(MADE, Mode.REVISE)[0]
    known = KNOWN[task.number]
    labels = InstanceLabels(read_labels(MADE).references[Mode.REVISE][task.name], known.optimum, instance=known)
    sources = {
        "printed": f"print('OBJECTIVE_VALUE: {known.revised_optimum!r}')\n",
        "toy": ONE_VARIABLE.format(value=known.revised_optimum),
        "exact": write_program(known.revised, "exact"),
        "team": known.programs[1],
        "reformulated": reformulated(known.programs[1]),
    }
    found = {}
    for name, source in sources.items():
        folder = lay_out(task, tmp_path / name)
        data = folder / "revised/data/general_parameters.csv"
        rows = "".join(f"{one.name},{one.value:.10g},{one.unit},x\n" for one in known.figures)
        data.write_text(
            data.read_text()
            + "".join(row for row in rows.splitlines(True) if row.split(",")[0] not in data.read_text())
        )
        (folder / "revised/src/m.py").write_text(source)
        record = grade_program(task, folder, "revised/src/m.py", labels, runner)
        assert record["passed"], (name, record)
        found[name] = (not record["unbacked"], record["equivalent"])
    assert found == {
        "printed": (False, False), "toy": (True, False), "exact": (True, True), "team": (True, True),
        "reformulated": (True, True),
    }  # fmt: skip


@pytest.mark.slow
def test_the_tables_show_both_columns_and_how_much_can_be_reached(tmp_path):
    out = io.StringIO()
    screen = Terminal(file=out, width=200, color_system=None, force_terminal=False)
    request = WorkspaceBenchRequest(tmp_path / "bench", MADE, agents=("oracle",), settings={"limit": 1})
    assert run_bench(request, screen) == 0
    assert re.search(r"oracle +1 +100\.0 +2\.5 to 100\.0 +1 of 1 +1 of 1", out.getvalue())
    assert "ceiling: 35.00 points of 35 can be reached by names that stand in the files" in out.getvalue()
    page = (tmp_path / "bench/report.html").read_text()
    assert re.search(r"<th[^>]*>backed</th><th[^>]*>equivalent</th>", page)
    assert "ceiling: 35.00" in page


@pytest.mark.slow
def test_a_name_that_stands_in_no_file_lowers_the_ceiling(tmp_path):
    shutil.copytree(MADE, tmp_path / "set")
    vault = tmp_path / "set/vault/explain_reference_answers_and_rubrics.jsonl"
    vault = vault if vault.is_file() else next((tmp_path / "set/vault").glob("explain*.jsonl"))
    lines = vault.read_text().splitlines(True)
    lines[0] = re.sub(r'"target_entities": ?\["', '"target_entities": ["nowhere_to_be_read", "', lines[0], count=1)
    assert "nowhere_to_be_read" in lines[0]
    vault.write_text("".join(lines))
    out = io.StringIO()
    screen = Terminal(file=out, width=300, color_system=None, force_terminal=False)
    request = WorkspaceBenchRequest(
        tmp_path / "bench", tmp_path / "set", modes=[Mode.EXPLAIN], agents=("copy",), settings={"limit": 1}
    )
    assert run_bench(request, screen) == 0
    ceiling = re.search(r"ceiling: ([0-9.]+) points of 35 .*in no file: 1 'nowhere_to_be_read'", out.getvalue())
    assert ceiling, out.getvalue()
    assert float(ceiling[1]) < 35


@pytest.mark.slow
def test_revisions_without_programs_are_called_by_what_they_show(tmp_path):
    shutil.copytree(MADE, tmp_path / "set")
    for number, view in enumerate(sorted((tmp_path / "set/views").glob("*_revise"))):
        if number:
            shutil.rmtree(view)
            continue
        for program in (view / "original/src").glob("*.py"):
            program.unlink()
        (view / "original/src/formulation.tex").write_text("\\min x\n")
    out = io.StringIO()
    screen = Terminal(file=out, width=200, color_system=None, force_terminal=False)
    request = WorkspaceBenchRequest(tmp_path / "bench", tmp_path / "set", modes=[Mode.REVISE], variants=(RevisionView.CODE,),
                                    agents=("copy",))  # fmt: skip
    run_bench(request, screen)
    assert "revise-model: set" in out.getvalue()
    assert "revise-code" not in out.getvalue()
    show_bench(tmp_path / "bench", screen)
