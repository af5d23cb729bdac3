"""Time, gap and memory are the user's to give; an incumbent with its bound is a result, and is labelled so."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent._base.terminal import Terminal
from oragent.llm.callable import Scripted
from oragent.modelling import SolveStatus
from oragent.modelling.capture.program import CapturedModel, ClaimedPoint, ClaimVerdict
from oragent.modelling.data.names import group_by_names
from oragent.modelling.solving.model_solving import WARM_UP
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, file_commands, runner
from oragent.workspace.records import make_record
from oragent.workspace.runner import ProgramRunner, solve_captured
from oragent.workspace.settings import LIMITS, EffortOptions, WorkspaceSettings, read_settings
from oragent_benchmarks.workspace.printed import Backing, find_backing, parse_run
from tests.workspace.release import put
from tests.workspace.test_command import DATA, STORY, call

SPLIT = """
import random
import pulp
draw = random.Random(4)
p = pulp.LpProblem("split", pulp.LpMinimize)
x = [pulp.LpVariable(f"x{n}", cat="Binary") for n in range(50)]
over = [pulp.LpVariable(f"over{r}", 0) for r in range(6)]
under = [pulp.LpVariable(f"under{r}", 0) for r in range(6)]
p += 1000 + pulp.lpSum(over) + pulp.lpSum(under)
for r in range(6):
    a = [draw.randrange(100) for _ in x]
    p += pulp.lpSum(v * w for v, w in zip(a, x)) + over[r] - under[r] == sum(a) // 2, f"row{r}"
p.solve()
print("OBJECTIVE_VALUE:", pulp.value(p.objective))
"""  # Cornuejols & Dawande 1999: nobody proves an optimum of this size in seconds


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(1) as shared:
        yield shared


def home_with(folder: Path, program: str = "") -> Path:
    files = {"docs/a.md": STORY, "data/general_parameters.csv": DATA}
    put(folder, files | ({"src/program.py": program} if program else {}))
    return folder


def console() -> tuple[Terminal, io.StringIO]:
    out = io.StringIO()
    return Terminal(file=out, width=200, color_system=None, force_terminal=False), out


@pytest.mark.slow
def test_what_stops_at_a_limit_is_feasible_with_a_bound_and_never_optimal(tmp_path, box):
    folder = home_with(tmp_path / "w", SPLIT)
    effort = read_settings(folder, EffortOptions(time=8))  # to begin may take seconds on a busy machine
    ran = ProgramRunner(box, effort.limits, effort.gap).run(folder, "src/program.py")
    solution = ran.last_model.solution
    assert solution.status is SolveStatus.FEASIBLE
    # The better point of the two solves counts.
    assert solution.objective <= parse_run(ran).value + 1e-6
    assert solution.bound <= solution.objective
    assert ran.standing.startswith("feasible, within ")
    record = make_record(ran)
    assert (record["status"], record["bound"]) == ("feasible", solution.bound)


@pytest.mark.slow
def test_a_gap_ends_the_solve_and_is_said_everywhere(tmp_path, box):
    def reply(request, number):
        done = sum(message.role == "assistant" for message in request.messages)
        steps = [call("write_file", path="src/program.py", text=SPLIT), call("submit", path="src/program.py")]
        return steps[min(done, 1)]

    folder = home_with(tmp_path / "w")
    screen, out = console()
    given = EffortOptions(time=3, gap=0.4)
    wanted = command.VerbRequest(folder, model=Scripted(reply), sandbox=box, effort=given)
    assert command.build_program(wanted, screen) == 0, out.getvalue()
    assert "model solved: feasible, within" in out.getvalue()
    assert "written" in out.getvalue()
    file_commands.list_versions(folder, screen)
    assert "feasible, within" in out.getvalue().split("builder")[1]
    assert "feasible, within" in (folder / "report.html").read_text()
    assert command.run_program(folder, "", screen, box, given) == 0


@pytest.mark.slow
def test_the_point_of_a_program_that_stopped_early_is_checked_and_set_against_the_optimum(tmp_path, box):
    early = SPLIT.replace("range(50)", "range(14)").replace("range(6)", "range(2)")
    early = early.replace("p.solve()", "p.solve(pulp.HiGHS(gapRel=0.9))")
    ran = ProgramRunner(box).run(home_with(tmp_path / "w", early), "src/program.py")
    assert ran.last_model.solution.status is SolveStatus.OPTIMAL
    assert ran.objective <= parse_run(ran).value
    lie = early.replace("pulp.value(p.objective)", "1000.25")
    ran = ProgramRunner(box).run(home_with(tmp_path / "w", lie), "src/program.py")
    assert find_backing(parse_run(ran), [model.objective for model in ran.models]) is Backing.OTHER


def test_the_command_line_wins_over_the_file_and_that_over_the_defaults(tmp_path):
    assert read_settings(tmp_path, EffortOptions()) == WorkspaceSettings()
    (tmp_path / "workspace.yaml").write_text("time: 600\ngap: 0.02\n")
    assert read_settings(tmp_path, EffortOptions(gap=0.1)) == WorkspaceSettings(time=600.0, gap=0.1)
    with pytest.raises(ConfigError, match="gap"):
        read_settings(tmp_path, EffortOptions(gap=1.5))
    (tmp_path / "workspace.yaml").write_text("tme: 600\n")
    with pytest.raises(ConfigError, match="time"):
        read_settings(tmp_path, EffortOptions())


@pytest.mark.slow
def test_a_program_gets_the_memory_that_was_given(tmp_path, box):
    hungry = "x = bytearray(700 << 20)\nfor at in range(0, len(x), 4096): x[at] = 1\n" + SPLIT.replace(
        "range(50)", "range(4)"
    )
    folder = home_with(tmp_path / "w", hungry)
    assert command.run_program(folder, "", console()[0], box, EffortOptions(memory=300)) == 3
    assert command.run_program(folder, "", console()[0], box, EffortOptions(memory=1500)) == 0


@pytest.mark.slow
def test_models_are_solved_again_in_the_time_that_the_program_left(tmp_path, box, monkeypatch):
    left = []

    def record(captured, limit_s, gap):
        left.append((limit_s, gap))
        return solve_captured(captured, limit_s, gap)

    monkeypatch.setattr(runner, "solve_captured", record)
    slow = "import time\nwhile time.process_time() < 1.5: pass\n"
    put(tmp_path, {"src/a.py": slow + SPLIT.replace("range(50)", "range(4)")})
    ran = ProgramRunner(box, replace(LIMITS, cpu_s=4.0), 0.03).run(tmp_path, "src/a.py")
    assert ran.last_model is not None
    ((limit_s, gap),) = left
    assert gap == 0.03
    assert 0.9 <= limit_s <= 4.0 - 1.5
    assert solve_captured(captured_split(), 0.0, 0.0).note == runner.OUT_OF_TIME


def captured_split() -> CapturedModel:
    """A model without a claim."""
    claim = ClaimedPoint("no point", None, None)
    return CapturedModel("pulp", group_by_names(WARM_UP), claim, ClaimVerdict.UNVERIFIED)
