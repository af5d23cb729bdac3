"""Plans that are not proven optimal: whose value, gap and decisions belong together, and which differences are shown."""

import io
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.terminal import Terminal
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable
from oragent.milp.solution import Solution, SolveStatus
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, verbs
from oragent.workspace.objective import StopReason
from oragent.workspace.records import TRIAL
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.settings import EffortOptions
from oragent.workspace.shim import ProgramLimits
from oragent.workspace.tools import ToolSession
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put

RECORD = "solver_records/bakery.solution.json"


def found(objective: float, bound: float, **values: float) -> Solution:
    gap = abs(objective - bound) / max(1.0, abs(objective))
    return Solution(SolveStatus.FEASIBLE, objective, bound, gap, {"rye": 90.0, "wheat": 0.0, **values},
                    slacks={"flour_there": 10.0, TRIAL: 0.0})  # fmt: skip


def test_a_solve_leaves_the_program_time_to_print_under_a_limit_of_a_second(monkeypatch):
    monkeypatch.setattr(time, "process_time", lambda: 0.85)
    assert ProgramLimits(0.9).remaining_s() == pytest.approx(0.09)
    assert ProgramLimits(0.5).remaining_s() == pytest.approx(0.05)
    assert ProgramLimits(60.0).remaining_s() == pytest.approx(59.15)


@pytest.mark.slow
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


def test_a_difference_within_the_gap_is_no_gain_in_a_tool_or_a_revision():
    milp = Milp(
        name="bakery",
        sense=Sense.MAXIMIZE,
        objective=Objective({"rye": 4.0, "wheat": 3.0}),
        variables=(Variable("rye"), Variable("wheat")),
        rows=(Row("flour_there", {"rye": 1.0, "wheat": 1.0}, Relation.AT_MOST, 100.0),),
    )
    runner = SimpleNamespace(solve_milps=lambda *milps: tuple(SolvedModel(one, found(375, 400)) for one in milps))
    ran = ProgramRun(StopReason.ENDED, stdout="OBJECTIVE_VALUE: 360\n", models=(SolvedModel(milp, found(360, 400)),))
    session = ToolSession(Path(), runner, last_run=ran)
    assert "objective 375 in place of 360: no change is shown" in session._whatif("flour_there", 90.0)
    after = replace(ran, stdout="OBJECTIVE_VALUE: 375\n", models=(SolvedModel(milp, found(375, 400)),))
    assert verbs._describe_gap(ran, after).startswith("no change is shown, as the difference lies within the gap")
    proven = Solution(SolveStatus.OPTIMAL, 400.0, 400.0, 0.0, {"rye": 100.0, "wheat": 0.0})
    optimal = replace(ran, stdout="OBJECTIVE_VALUE: 400\n", models=(SolvedModel(milp, proven),))
    assert verbs._describe_gap(optimal, optimal) == ""
