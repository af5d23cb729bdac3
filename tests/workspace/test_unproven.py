"""Plans that are not proven optimal: whose value, gap and decisions belong together, and which differences are shown."""

import io
from dataclasses import replace

import pytest

from oragent._base.terminal import Terminal
from oragent.milp.capture.program import ProgramOutcome
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable
from oragent.milp.solution import Solution, SolveStatus
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, verbs
from oragent.workspace.records import TRIAL
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.settings import EffortOptions
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put

RECORD = "solver_records/bakery.solution.json"


def found(objective: float, bound: float, **values: float) -> Solution:
    gap = abs(objective - bound) / max(1.0, abs(objective))
    return Solution(SolveStatus.FEASIBLE, objective, bound, gap, {"rye": 90.0, "wheat": 0.0, **values},
                    slacks={"flour_there": 10.0, TRIAL: 0.0})  # fmt: skip


@pytest.mark.slow
def test_a_program_that_the_limit_ends_after_its_solve_has_a_result(tmp_path):
    endless = PROGRAM.replace("problem.solve()", "problem.solve()\n    while True:\n        pass")
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": endless})
    out = io.StringIO()
    with Sandbox(1) as box:
        effort = EffortOptions(time=2)
        assert command.run_program(tmp_path, "", Terminal(file=out, width=200), box, effort) == 0
    assert "stopped at the limit of time" in out.getvalue()
    assert "model solved: optimal, objective 400" in out.getvalue()
    assert "OBJECTIVE_VALUE" not in out.getvalue()


def test_a_difference_within_the_gap_is_no_gain_in_a_revision():
    milp = Milp(
        name="bakery",
        sense=Sense.MAXIMIZE,
        objective=Objective({"rye": 4.0, "wheat": 3.0}),
        variables=(Variable("rye"), Variable("wheat")),
        rows=(Row("flour_there", {"rye": 1.0, "wheat": 1.0}, Relation.AT_MOST, 100.0),),
    )
    ran = ProgramRun(ProgramOutcome.ENDED, models=(SolvedModel(milp, found(360, 400)),))
    after = replace(ran, models=(SolvedModel(milp, found(375, 400)),))
    assert verbs._describe_gap(ran, after).startswith("no change is shown, as the difference lies within the gap")
    proven = Solution(SolveStatus.OPTIMAL, 400.0, 400.0, 0.0, {"rye": 100.0, "wheat": 0.0})
    optimal = replace(ran, models=(SolvedModel(milp, proven),))
    assert verbs._describe_gap(optimal, optimal) == ""
