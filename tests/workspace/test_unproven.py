"""Plans that are not proven optimal: whose value, gap and decisions belong together, and which differences are shown."""

import io

import pytest

from oragent._base.terminal import Terminal
from oragent.modelling.operations.results import Figure, ObjectiveChange
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import agent_tasks, command
from oragent.workspace.model_results import ComparisonResult, Revision
from oragent.workspace.settings import EffortOptions
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put


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
    revision = Revision(name=".")

    def describe(low, high):
        change = ObjectiveChange(
            name="", sense="maximize", before=Figure(), after=Figure(), difference=Figure.between(15.0, low, high)
        )
        return agent_tasks._describe_gap(ComparisonResult(verb="verify", old=revision, new=revision, objective=change, status="feasible", entries=()))  # fmt: skip

    assert describe(-40.0, 40.0).startswith("no change is shown, as the difference lies within the gap")
    assert describe(5.0, 40.0) == "the optimum changes by between 5 and 40"
    assert describe(15.0, 15.0) == ""
