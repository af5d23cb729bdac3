"""Programs of a workspace, confined: what is captured is solved again, what is hostile comes to nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import ModellingError, WorkspaceError
from oragent.modelling import SolveStatus, solve
from oragent.modelling.capture import sandbox_script
from oragent.modelling.capture.program import (
    CapturedModel,
    CapturedProgram,
    ClaimedPoint,
    ClaimVerdict,
    ProgramOutcome,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution
from oragent.sandbox.messages import Limits
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import runner as runner_module
from oragent.workspace.entries import ProgramEntry
from oragent.workspace.layout import Mode
from oragent.workspace.records import make_record
from oragent.workspace.runner import (
    OUT_OF_TIME,
    ProgramRun,
    ProgramRunner,
    SolvedModel,
    copied_folder,
    is_within_tolerance,
    relative_error,
    solve_captured,
)
from oragent_benchmarks.workspace.agents import ReleaseRunner
from oragent_benchmarks.workspace.grading import AttemptOutcome, Reference, grade_attempt
from oragent_benchmarks.workspace.printed import Backing, attempt_of, find_backing, parse_run
from tests.workspace.release import put

DATA = "Parameter_Name,Value,Unit,Context_Description\ncapacity,10.5,kg,what the van carries\n"
READ = """
import csv, os
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "general_parameters.csv")
capacity = float(list(csv.reader(open(here)))[1][1])
"""
MODEL = """
import pulp
problem = pulp.LpProblem("van", pulp.LpMaximize)
x, y = pulp.LpVariable("x", 0, cat="Integer"), pulp.LpVariable("y", 0)
problem += 3 * x + 2 * y + 5
problem += 2 * x + y <= capacity, "weight"
problem += x + y <= 8, "places"
"""
SOLVE = "problem.solve(pulp.{solver}(msg=0))\nprint('OBJECTIVE_VALUE:', pulp.value(problem.objective))\n"
HIGHSPY = """
import highspy
h = highspy.Highs()
h.setOptionValue("output_flag", False)
x, y = h.addVariable(0, 4), h.addIntegral(0, 3.5)
h.addConstr(x + y <= 5.5)
h.maximize(x + 2 * y + 1)
print("OBJECTIVE_VALUE:", h.getObjectiveValue())
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    with Sandbox(1) as box:
        yield ProgramRunner(box, Limits(cpu_s=20.0, memory_mb=600, file_mb=8, output_kb=64, idle_s=2.0))


def backing_of(ran: ProgramRun) -> Backing:
    return find_backing(parse_run(ran), [model.objective for model in ran.models])


def folder(tmp_path: Path, program: str, **more: str) -> Path:
    put(
        tmp_path / "w",
        {"src/program.py": program, "data/general_parameters.csv": DATA, "docs/a.md": "A van.\n", **more},
    )
    return tmp_path / "w"


def test_a_package_of_an_extra_that_is_missing_is_named_with_its_command(tmp_path, runner, monkeypatch):
    monkeypatch.setattr("oragent.workspace.runner.EXTRAS", {"no_such_framework": "frameworks"})
    ran = runner.run(folder(tmp_path, "import no_such_framework\n"), "src/program.py")
    assert ran.last_model is None
    assert "no_such_framework" in ran.reason
    assert "[frameworks]" in ran.reason


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (["no_such"], "no_such"),
        (["no_such_2", "no_such"], "no_such"),
        (["no_such", "other"], "no_such"),
        (["json"], ""),
        (["other"], ""),
        ([], ""),
    ],
)
def test_only_a_missing_package_of_an_extra_has_a_command(names, named, monkeypatch):
    monkeypatch.setattr(runner_module, "EXTRAS", dict.fromkeys(("no_such", "no_such_2", "json"), "frameworks"))
    errors = "".join(f"ModuleNotFoundError: No module named '{name}'\n" for name in names)
    text = runner_module._describe_missing_package(errors)
    assert (f"imports {named}," in text) if named else text == ""


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["PULP_CBC_CMD", "GUROBI_CMD", "GUROBI", "HiGHS", "COPT", "GLPK_CMD"])
def test_whatever_solver_a_program_names_highs_solves(tmp_path, runner, solver):
    ran = runner.run(folder(tmp_path, READ + MODEL + SOLVE.format(solver=solver)), "src/program.py")
    assert (ran.stop, backing_of(ran), ran.objective) == (ProgramOutcome.ENDED, Backing.MODEL, 23.0)
    assert ran.last_model.milp.name == "van"
    assert grade_attempt(attempt_of(ran), Reference("one", Mode.BUILD, 1, "one", 23.0)).is_passed


def test_helpers_of_the_release_are_found(tmp_path, runner):
    program = (
        "from gurobi_execution_record import install_gurobi_objective_recorder\ninstall_gurobi_objective_recorder()\n"
        + "from gurobi_pulp_compat import LpProblem, LpVariable, LpMaximize, lpSum, value, GUROBI_CMD, constants\n"
        + "import utils\np = LpProblem('p', LpMaximize)\nx = LpVariable.dicts('x', range(2), 0, utils.HIGH)\n"
        + "p += lpSum(x.values())\np.solve(GUROBI_CMD(msg=0))\nprint('OBJECTIVE_VALUE:', value(p.objective))\n"
    )
    of_release = ReleaseRunner(runner.sandbox, runner.limits)
    ran = of_release.run(folder(tmp_path, program, **{"src/utility_code.py": "HIGH = 3\n"}), "src/program.py")
    assert (parse_run(ran).value, backing_of(ran)) == (6.0, Backing.MODEL), ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "backing"),
    [
        (HIGHSPY, Backing.MODEL),
        (READ + MODEL + "problem.solve()\nprint('OBJECTIVE_VALUE:', 22)\n", Backing.OTHER),
        (READ + MODEL + "problem.solve()\nprint('OBJECTIVE_VALUE: 23.4')\n", Backing.OTHER),
        ("print('OBJECTIVE_VALUE:', 23)\n", Backing.NONE),
    ],
)
def test_a_printed_value_is_backed_by_a_model_or_marked(tmp_path, runner, program, backing):
    assert backing_of(runner.run(folder(tmp_path, program), "src/program.py")) is backing


def test_data_come_from_the_working_folder_too(tmp_path, runner):
    program = "import csv\nprint('OBJECTIVE_VALUE:', list(csv.reader(open('./data/general_parameters.csv')))[1][1])\n"
    assert "OBJECTIVE_VALUE: 10.5" in runner.run(folder(tmp_path, program), "src/program.py").stdout


def test_what_a_program_writes_stays_in_the_copy(tmp_path, runner):
    place = folder(tmp_path, "import os\nopen('new.txt', 'w').write('1')\nos.remove('docs/a.md')\n")
    ran = runner.run(place, "src/program.py")
    assert ran.stop is ProgramOutcome.ENDED, ran.stderr
    assert (place / "docs/a.md").is_file()
    assert not (place / "new.txt").exists()


def test_only_the_last_of_many_models_are_kept(tmp_path, runner):
    program = "import pulp\nfor n in range(1, 31):\n    p = pulp.LpProblem('p', pulp.LpMaximize)\n    p += pulp.LpVariable('x', 0, n)\n    p.solve()\nprint('OBJECTIVE_VALUE:', n)\n"
    ran = runner.run(folder(tmp_path, program), "src/program.py")
    assert [model.objective for model in ran.models] == list(range(11, 31))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "stop", "outcome"),
    [
        ("while True: pass\n", ProgramOutcome.TIME, AttemptOutcome.TIMEOUT),
        ("import time\ntime.sleep(60)\n", ProgramOutcome.TIME, AttemptOutcome.TIMEOUT),
        ("x = ['a' * 10**7 for _ in range(1000)]\n", ProgramOutcome.MEMORY, AttemptOutcome.MEMORY),
        ("1 / 0\n", ProgramOutcome.ERROR, AttemptOutcome.RUNTIME_ERROR),
        ("import os\nos._exit(3)\n", ProgramOutcome.ERROR, AttemptOutcome.RUNTIME_ERROR),
        ("print('OBJECTIVE_VALUE: nan')\n", ProgramOutcome.ENDED, AttemptOutcome.NO_OBJECTIVE),
        (READ + MODEL + "problem += x >= 9\nproblem.solve()\nprint('OBJECTIVE_VALUE: 23')\n", ProgramOutcome.ENDED, AttemptOutcome.INFEASIBLE),
        ("import pulp\np = pulp.LpProblem('p', pulp.LpMaximize)\np += pulp.LpVariable('x', 0)\np.solve()\nprint('OBJECTIVE_VALUE: 23')\n", ProgramOutcome.ENDED, AttemptOutcome.UNBOUNDED),
    ],
)  # fmt: skip
def test_a_failure_is_data(tmp_path, runner, program, stop, outcome):
    quick = ProgramRunner(runner.sandbox, Limits(cpu_s=2.0, memory_mb=600, file_mb=8, output_kb=64, idle_s=1.0))
    ran = quick.run(folder(tmp_path, program), "src/program.py")
    assert ran.stop is stop
    assert grade_attempt(attempt_of(ran), Reference("one", Mode.BUILD, 1, "one", 23.0)).outcome is outcome


# Deeds that the default suite tries.
QUICK = ("fork", "socket", "read", "write")
HOSTILE = {
    "fork": "import os\nos.fork()",
    "start": "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'true'])",
    "become": "import os\nos.execv('/bin/true', ['true'])",
    "socket": "import socket\nsocket.socket()",
    "up": "import os\nos.listdir(os.path.join(os.getcwd(), '..', '..'))",
    "read": "open({secret!r}).read()",
    "write": "open({secret!r}, 'a').write('x')",
    "outside": "open('/usr/lib/oragent-was-here', 'w')",
    "link": "import os\nos.link({secret!r}, 'a')",
}


@pytest.mark.parametrize(
    "deed", [pytest.param(HOSTILE[name], marks=() if name in QUICK else pytest.mark.slow, id=name) for name in HOSTILE]
)
def test_a_hostile_program_gets_nowhere(tmp_path, runner, deed):
    secret = tmp_path / "vault" / "reference_objectives.csv"
    secret.parent.mkdir(mode=0o700)
    secret.write_text("the label")
    ran = runner.run(folder(tmp_path, deed.format(secret=str(secret)) + "\nprint('did it')\n"), "src/program.py")
    assert ran.stop is ProgramOutcome.ERROR
    assert "did it" not in ran.stdout
    assert secret.read_text() == "the label"


def test_what_a_program_leaves_behind_leads_nowhere(tmp_path, runner):
    folder_of_solves = sandbox_script.SOLVES
    program = (
        f"import os\nos.symlink('/etc/passwd', 'leak.txt')\nos.mkfifo('pipe')\nos.makedirs('{folder_of_solves}', exist_ok=True)\n"
        f"open('{folder_of_solves}/000001.json', 'w').write('{{\"data\": 5}}')\n"
        f"os.symlink('/etc/passwd', '{folder_of_solves}/000002.json')\n"
    )
    ran = runner.run(folder(tmp_path, program), "src/program.py")
    assert ran.stop is ProgramOutcome.ENDED, ran.stderr
    assert {model.milp for model in ran.models} == {None}
    assert all(model.note for model in ran.models)
    assert ran.objective is None


def test_a_link_in_the_folder_is_refused(tmp_path, runner):
    place = folder(tmp_path, "")
    (place / "data" / "link.csv").symlink_to("/etc/passwd")
    with pytest.raises(WorkspaceError, match="is a link"):
        runner.run(place, "src/program.py")
    with pytest.raises(WorkspaceError):
        runner.run(folder(tmp_path / "b", ""), "src/other.py")


WALK = """
import os, sys
found = []
def look(path):
    try:
        found.append(open(path, "rb").read(1 << 20))
    except OSError:
        pass
here, tops = os.getcwd(), ["/", "/proc", "/tmp", "/root", "/home", "/etc", "/var", "/dev", "/run", {secret!r}]
while here != "/":
    tops.append(here)
    here = os.path.dirname(here)
seen = set()
for top, folders, files in (step for start in tops for step in os.walk(start)):
    if top in seen or "site-packages" in top or "python3" in top:
        folders[:] = []
        continue
    seen.add(top)
    for name in files:
        if not (top.startswith("/proc") and name in {{"kcore", "kmsg", "pagemap", "mem"}}):
            look(os.path.join(top, name))
for name, value in os.environ.items():
    found.append((name + value).encode())
everything = b"".join(found)
print("seen", sum({word!r}.encode() in one for one in found), len(everything))
"""


def ran_walk(word, secret):
    return WALK.format(word=word, secret=str(secret)).replace("S3CRET-LABEL", "S3CRET-' 'LABEL")


def test_the_program_finds_no_label_anywhere(tmp_path, runner, monkeypatch):
    word = "S3CRET-" + "LABEL-4711"
    monkeypatch.setenv("ORAGENT_LABEL", word)
    put(tmp_path, {"vault/rubrics.jsonl": word, "views/other/docs/a.md": word})
    ran = runner.run(folder(tmp_path, ran_walk(word, tmp_path)), "src/program.py")
    assert ran.stop is ProgramOutcome.ENDED, ran.stderr
    assert ran.stdout.startswith("seen 0 "), ran.stdout
    again = runner.run(folder(tmp_path / "control", ran_walk(word, tmp_path), **{"docs/b.md": word}), "src/program.py")
    assert again.stdout.startswith("seen 1 "), "what lies in the view is seen, so that the walk does look"


def test_records_have_the_solver_s_figures(tmp_path, runner):
    ran = runner.run(folder(tmp_path, READ + MODEL + SOLVE.format(solver="HiGHS")), "src/program.py")
    record, again = make_record(ran), solve(ran.last_model.milp)
    assert again.status is SolveStatus.OPTIMAL
    assert record["objective"] == pytest.approx(again.objective)
    assert {name: entry["value"] for name, entry in record["variables"].items()} == pytest.approx(again.values)


BUDGET = IndexedModel.from_records(
    (Variable("x", 0, kind=VariableKind.INTEGER), Variable("y")),
    (Row("weight", {"x": 2.0, "y": 1.0}, Relation.AT_MOST, 7.5),),
    Objective({"x": 3.0, "y": 1.0}),
    Sense.MAXIMIZE,
)


def captured(point: list[float] | None, milp: IndexedModel | None = BUDGET) -> CapturedModel:
    values = None if point is None else np.array(point)
    return CapturedModel("pulp 3", milp, ClaimedPoint("", None, values), ClaimVerdict.OPEN, "why not")


@pytest.mark.parametrize(
    ("point", "objective"),
    [
        # Without time, the claimed point is used if it is feasible: 3 x + y.
        ([3.0, 1.5], 10.5), ([1.0, 0.0], 3.0), ([4.0, 0.0], None), (None, None),
    ],
)  # fmt: skip
def test_without_time_the_point_of_the_program_counts_if_it_is_feasible(
    point: list[float] | None, objective: float | None
) -> None:
    solved = solve_captured(captured(point), 0.0, 0.0)
    assert (solved.objective, solved.has_point) == (objective, objective is not None)
    assert solved.note == OUT_OF_TIME
    assert (solved.framework, solved.milp) == ("pulp 3", BUDGET)


def test_with_time_the_optimum_counts_whatever_the_program_claims() -> None:
    for point in ([3.0, 1.5], [1.0, 0.0], [9.0, 9.0]):
        solved = solve_captured(captured(point), 20.0, 0.0)
        assert (solved.objective, solved.note) == (pytest.approx(10.5), "")
        assert solved.solution is not None
        # Prices of a small model are there: one more of weight is worth 1.
        assert solved.solution.duals["weight"] == pytest.approx(1)
    missing = solve_captured(captured(None, None), 20.0, 0.0)
    assert (missing.milp, missing.note, missing.framework, missing.objective) == (None, "why not", "pulp 3", None)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(("claimed", "is_used"), [(1.0, True), (0.0, False), (-1.0, False), (1e-9, False)])
def test_a_claimed_point_is_used_if_it_is_better_than_one_that_is_not_proven(
    monkeypatch: pytest.MonkeyPatch, sense: Sense, claimed: float, is_used: bool
) -> None:
    milp = BUDGET.with_records(sense=sense, objective=Objective({"y": 1.0}))
    better = 3.0 - sense.sign * claimed
    for status in (SolveStatus.FEASIBLE, SolveStatus.OPTIMAL):
        marker: Any = object()
        answer = Solution(
            status,
            objective=3.0,
            bound=3.0 - 3 * sense.sign,
            values={"x": 0.0, "y": 3.0},
            relaxation=marker,
            seconds=7.0,
        )
        monkeypatch.setattr(runner_module, "solve", lambda *arguments, answer=answer, **options: answer)
        solved = solve_captured(captured([0.0, better], milp), 20.0, 0.0)
        used = is_used and status is SolveStatus.FEASIBLE
        assert solved.objective == (better if used else 3.0)
        assert solved.solution is not None
        assert (solved.solution.seconds, solved.solution.relaxation) == (7.0, marker)
        assert solved.solution.bound == answer.bound


def test_models_are_solved_again_if_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def fail(milp: IndexedModel, limit_s: float, gap: float, duals: bool) -> Solution:
        limits.append(limit_s)
        raise ModellingError("no solver")

    monkeypatch.setattr(runner_module, "solve", fail)
    for limit, note in ((0.5, "not solved again: no solver"), (0.0, OUT_OF_TIME), (-1.0, OUT_OF_TIME)):
        solved = solve_captured(captured(None), limit, 0.0)
        assert (solved.note, solved.solution, solved.milp) == (note, None, BUDGET)
    assert limits == [0.5]
    # A short time is a time.
    monkeypatch.setattr(runner_module, "solve", lambda *arguments, **options: Solution(SolveStatus.UNKNOWN))
    assert solve_captured(captured(None), 0.5, 0.0).note == ""


def test_prices_are_computed_for_small_models_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, has_prices in ((3, True), (2, False)):
        monkeypatch.setattr(runner_module, "SENSITIVE", limit)
        solved = solve_captured(captured(None), 20.0, 0.0)
        assert solved.solution is not None
        assert bool(solved.solution.duals) is has_prices
        claimed = solve_captured(captured([3.0, 1.5]), 0.0, 0.0).solution
        assert claimed is not None
        assert bool(claimed.duals) is has_prices


def test_a_run_has_the_figures_of_its_last_captured_model() -> None:
    def model(objective: float | None) -> SolvedModel:
        status = SolveStatus.INFEASIBLE if objective is None else SolveStatus.OPTIMAL
        return SolvedModel(BUDGET, Solution(status, objective=objective))

    plans = (model(1.0), model(2.0), SolvedModel(None, note="not captured"))
    ran = ProgramRun(ProgramOutcome.ENDED, models=plans)
    assert (ran.last_model, ran.objective, ran.has_solution, ran.is_cut_with_plan) == (plans[1], 2.0, True, False)
    cut = replace(ran, stop=ProgramOutcome.TIME)
    assert (cut.has_solution, cut.is_cut_with_plan, cut.standing) == (False, True, "optimal")
    none = ProgramRun(ProgramOutcome.ENDED, models=(model(1.0), model(None)))
    assert (none.objective, none.has_solution, none.standing) == (None, False, "infeasible")
    empty = ProgramRun(ProgramOutcome.TIME)
    assert (empty.last_model, empty.standing, empty.is_cut_with_plan) == (None, "", False)


@pytest.mark.parametrize(
    ("value", "reference", "error"),
    [(11.0, 10.0, 0.1), (9.0, 10.0, 0.1), (-11.0, -10.0, 0.1), (0.3, 0.1, 0.2), (0.0, 0.0, 0.0)],
)
def test_the_error_of_an_objective_is_relative_to_the_reference(value: float, reference: float, error: float) -> None:
    assert relative_error(value, reference) == pytest.approx(error)
    assert is_within_tolerance(value, reference, error + 1e-12)
    assert not error or not is_within_tolerance(value, reference, error - 1e-9)
    assert is_within_tolerance(1.5, 1.0, 0.5)


def test_a_copy_has_the_files_that_replace_others_and_leaves_nothing(tmp_path: Path) -> None:
    put(tmp_path / "w", {
        "src/a.py": "old", "src/b.py": "b", "src/c.py": "c", "far/away/d.py": "d", "run.db": "x", ".oragent/s": "x", "deep/.hidden": "x",
    })  # fmt: skip
    with copied_folder(tmp_path / "w", {"src/a.py": "new", "more/deep/c.bin": b"\0"}) as copy:
        files = {path.relative_to(copy).as_posix(): path.read_bytes() for path in copy.rglob("*") if path.is_file()}
        nested = copy
        for _ in range(300):
            nested = nested / "deeper"
        nested.mkdir(parents=True)
        (copy / "src").chmod(0o000)
        (copy / "link").symlink_to(tmp_path)
    assert files == {
        "src/a.py": b"new", "src/b.py": b"b", "src/c.py": b"c", "far/away/d.py": b"d", "more/deep/c.bin": b"\0",
    }  # fmt: skip
    assert not copy.exists()
    assert not copy.parent.exists()
    assert (tmp_path / "w/src/a.py").read_text() == "old"
    with pytest.raises(WorkspaceError), copied_folder(tmp_path / "w", {"src/a.py/x": "no folder"}):
        pass


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"secret": "x"})
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    monkeypatch.setattr(runner_module, "list_files", lambda folder, hidden: {"a": tmp_path / "link"})
    with copied_folder(tmp_path, {}) as copy:
        assert (copy / "a").is_symlink()


def test_a_program_runs_with_the_limits_and_the_command_of_its_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "w", {"part/src/a.py": "x", "plan.py": "x"})
    calls = []

    def capture(program: Path, **options: object) -> CapturedProgram:
        calls.append((program, options))
        return CapturedProgram(ProgramOutcome.ENDED, (), 2, "o", "e", "why", 3.0, 40.0, opened=("data/t.csv",))

    monkeypatch.setattr(runner_module, "capture_program", capture)
    limits = Limits(cpu_s=7.0)
    entry = ProgramEntry("plan.py", "plan", ("--week", "1"), "part", (".",))
    box = object()
    owner = ProgramRunner(box, limits, entry=entry, environment={"A": "1"})  # type: ignore[arg-type]
    ran = owner.run(tmp_path / "w", "plan.py")
    assert (ran.code, ran.stdout, ran.stderr, ran.cpu_s, ran.peak_mb, ran.opened) == (
        2,
        "o",
        "e",
        3.0,
        40.0,
        ("data/t.csv",),
    )
    program, options = calls[-1]
    assert (options["limits"], options["sandbox"], options["working_folder"], ran.reason) == (
        limits,
        box,
        "part",
        "why",
    )
    assert (options["arguments"], options["module"], options["import_folders"]) == (("--week", "1"), "plan", (".",))
    assert (options["environment"], options["works_in_folder"], options["solve_s"]) == ({"A": "1"}, True, None)
    assert options["data_folder"] == program.parent
    # A program elsewhere works in the folder with its src, and without the command.
    ran = owner.run(tmp_path / "w", "part/src/a.py")
    program, options = calls[-1]
    assert options["data_folder"] == program.parents[1]
    assert (options["arguments"], options["module"]) == ((), "")
    assert ran.opened == ("part/data/t.csv",)
    with pytest.raises(WorkspaceError):
        owner.run(tmp_path / "w", "none.py")


@pytest.mark.parametrize(("used", "seconds"), [(0.0, 20.0), (12.0, 8.0), (15.0, 5.0), (19.0, 5.0), (99.0, 5.0)])
def test_models_are_solved_again_in_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, used: float, seconds: float
) -> None:
    """A quarter of the limit at least; the last model comes first."""
    solved = []

    def solve_one(model: CapturedModel, limit_s: float, gap: float) -> SolvedModel:
        solved.append((model.framework, round(limit_s), gap))
        return SolvedModel(None, framework=model.framework)

    monkeypatch.setattr(runner_module, "solve_captured", solve_one)
    owner = ProgramRunner(None, Limits(cpu_s=20.0), gap=0.25)  # type: ignore[arg-type]
    models = tuple(replace(captured(None, None), framework=name) for name in ("a", "b"))
    assert [model.framework for model in owner._solve_again(models, used)] == ["a", "b"]
    assert solved == [("b", round(seconds), 0.25), ("a", round(seconds), 0.25)]
