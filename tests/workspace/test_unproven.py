"""Plans that are not proven optimal: whose value, gap and decisions belong together, and which differences are shown."""

import io
import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.terminal import Terminal
from oragent.milp.solution import Solution, SolveStatus
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, explaining, verbs
from oragent.workspace.asking import AskKind, ExactQuestion, PlanAnswers, answer_question, read_question
from oragent.workspace.facts import WorkspaceFacts, read_facts
from oragent.workspace.objective import StopReason
from oragent.workspace.reading import list_files
from oragent.workspace.records import TRIAL, inputs_hash, write_records
from oragent.workspace.runner import ProgramRun, ProgramRunner, SolvedModel
from oragent.workspace.settings import EffortOptions
from oragent.workspace.shim import ProgramLimits
from oragent.workspace.tools import ToolSession
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put

RECORD = "solver_records/bakery.solution.json"


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ProgramRunner, WorkspaceFacts]:
    folder = tmp_path_factory.mktemp("bakery")
    put(folder, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": PROGRAM})
    with Sandbox(1) as box:
        runner = ProgramRunner(box)
        put(folder, write_records(runner.run(folder, "src/bakery.py"), inputs=inputs_hash(list_files(folder))))
        return folder, runner, read_facts(folder, list_files(folder), runner)


def answers_with(facts: WorkspaceFacts, before: Solution, question: str, after: Solution | None = None) -> str:
    """Answer to an exact question about a plan; every other model comes to ``after``."""
    milp = facts.revised.milp
    version = replace(facts.revised, model=SolvedModel(milp, before), record="")
    runner = SimpleNamespace(solve_milps=lambda *milps: tuple(SolvedModel(milp, after) for milp in milps))
    plan = PlanAnswers(version, milp, before, runner)  # type: ignore[arg-type]
    return "\n".join(plan.answer(read_question(question)))


def found(objective: float, bound: float, **values: float) -> Solution:
    gap = abs(objective - bound) / max(1.0, abs(objective))
    return Solution(SolveStatus.FEASIBLE, objective, bound, gap, {"rye": 90.0, "wheat": 0.0, **values},
                    slacks={"flour_there": 10.0, TRIAL: 0.0})  # fmt: skip


def test_an_answer_never_combines_the_record_of_one_run_with_the_plan_of_another(bakery):
    folder, _, facts = bakery
    path = folder / RECORD
    content = path.read_text()
    record = json.loads(content) | {"objective_value": 360.0, "mip_gap": 0.1}
    try:
        path.write_text(json.dumps(record))
        (folder / "workspace.yaml").write_text("time: 20\n")
        with Sandbox(1) as box:
            again = read_facts(folder, list_files(folder), ProgramRunner(box))
        assert again.revised.record == ""
        text = answer_question(again, ExactQuestion(AskKind.PLAN), ProgramRunner(box))
        assert "400" in text
        assert "360" not in text
    finally:
        path.write_text(content)
    assert facts.revised.record == RECORD


def test_a_value_of_an_unproven_plan_says_so(bakery):
    text = answers_with(bakery[2], found(360, 400), "value rye")
    assert text.startswith("The plan is not proven optimal (feasible, within 12 % of the best bound)")
    assert "rye is 90" in text
    proven = Solution(SolveStatus.OPTIMAL, 400.0, 400.0, 0.0, {"rye": 100.0, "wheat": 0.0})
    assert "proven" not in answers_with(bakery[2], proven, "value rye")


def test_a_change_within_the_gap_is_not_shown(bakery):
    question = "price flour_there"
    text = answers_with(bakery[2], found(360, 400), question, found(350, 390, rye=80.0))
    assert "no change is shown" in text
    assert "may change by -50 to +30" in text  # 350 - 400 and 390 - 360
    text = answers_with(bakery[2], found(360, 400), question, found(200, 240, rye=50.0))
    assert "the optimum changes by -200 to -120" in text


def test_a_solve_leaves_the_program_time_to_print_under_a_limit_of_a_second(monkeypatch):
    monkeypatch.setattr(time, "process_time", lambda: 0.85)
    assert ProgramLimits(0.9).remaining_s() == pytest.approx(0.09)
    assert ProgramLimits(0.5).remaining_s() == pytest.approx(0.05)
    assert ProgramLimits(60.0).remaining_s() == pytest.approx(59.15)


def test_a_program_that_the_limit_ends_after_its_solve_has_a_result(tmp_path):
    endless = PROGRAM.replace("problem.solve()", "problem.solve()\n    while True:\n        pass")
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": endless})
    out = io.StringIO()
    with Sandbox(1) as box:
        effort = EffortOptions(time=2)
        assert command.run_program(tmp_path, "", Terminal(file=out, width=200), box, effort) == 0
    assert "stopped at the limit of time before the program printed its result" in out.getvalue()
    assert "model solved: optimal, objective 400" in out.getvalue()
    assert "OBJECTIVE_VALUE" not in out.getvalue()


def test_a_difference_within_the_gap_is_no_gain_between_versions_in_a_tool_or_a_revision(bakery):
    _, _, facts = bakery
    milp = facts.revised.milp
    old, new = (replace(facts.revised, model=SolvedModel(milp, solution), record="")
                for solution in (found(360, 400), found(375, 400, rye=93.75)))  # fmt: skip
    (objective,) = explaining._compare_objectives(old, new)
    assert objective.endswith("no change is shown, as the difference lies within the gap (the optimum may change by "
                              "-25 to +40)")  # fmt: skip
    assert "No plan is shown to be better" in next(explaining._compare_decisions(old, new))

    moved = replace(milp, rows=tuple(replace(row, rhs=90.0) for row in milp.rows))
    runner = SimpleNamespace(solve_milps=lambda *milps: tuple(SolvedModel(one, found(375, 400)) for one in milps))
    both = WorkspaceFacts(replace(old, model=SolvedModel(moved, found(360, 400))), new)
    (change,) = explaining.state_changes(both, runner)
    assert "the best objective found is 375; its effect: no change is shown" in change.text

    ran = ProgramRun(StopReason.ENDED, stdout="OBJECTIVE_VALUE: 360\n", models=(SolvedModel(milp, found(360, 400)),))
    session = ToolSession(Path(), runner, last_run=ran)
    assert "objective 375 in place of 360: no change is shown" in session._whatif("flour_there", 90.0)
    after = replace(ran, stdout="OBJECTIVE_VALUE: 375\n", models=(SolvedModel(milp, found(375, 400)),))
    assert verbs._describe_gap(ran, after).startswith("no change is shown, as the difference lies within the gap")
    proven = Solution(SolveStatus.OPTIMAL, 400.0, 400.0, 0.0, {"rye": 100.0, "wheat": 0.0})
    optimal = replace(ran, stdout="OBJECTIVE_VALUE: 400\n", models=(SolvedModel(milp, proven),))
    assert verbs._describe_gap(optimal, optimal) == ""
