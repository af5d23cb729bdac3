"""A program as a solver: CBC, where PuLP brings it, and programs that fail."""

import contextlib
import platform
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.sol_files import SolutionFile
from oragent.modelling.files.text_forms import from_text
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.solving.back_ends.command import CommandSolver, _model_text, _result
from oragent.modelling.solving.back_ends.protocol import Limit, SolverOptions, SolverStatus
from oragent.modelling.solving.back_ends.registry import find_solver
from oragent.modelling.solving.model_solving import solve
from oragent.sandbox.messages import Command, EndReason
from oragent_benchmarks.families import FAMILIES
from tests.modelling.models import pharmacy
from tests.modelling.shops import NEED, fixed_shop


def cbc() -> str:
    pulp = pytest.importorskip("pulp")
    paths = [
        path
        for path in (Path(pulp.__file__).parent / "solverdir").glob("cbc/linux/i64/cbc")
        if path.stat().st_mode & stat.S_IXUSR
    ]
    if not paths or platform.machine() != "x86_64":
        pytest.skip("PuLP brings no CBC for this machine")
    # The path of an environment may have spaces.
    return f"command:{shlex.quote(str(paths[0]))} {{model.mps}} solve solution {{solution}}"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["knapsack", "transport", "lot_sizing"])
def test_cbc_finds_the_optima_of_families(family: str) -> None:
    instance = FAMILIES[family](3, 4)
    solution = solve(instance.milp, solver=cbc())
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.objective == pytest.approx(instance.optimum, rel=1e-6)


@pytest.mark.parametrize(("sign", "form"), [(1, "mps"), (-1, "lp"), (-1, "mps")])
def test_cbc_takes_the_sense_the_constant_and_the_kinds_of_variables(sign: int, form: str) -> None:
    shop = fixed_shop(sign)
    session = ModelSession(shop.model(), SolveLimits(solver=cbc().replace("{model.mps}", f"{{model.{form}}}")))
    assert session.ask("solve").objective.value == pytest.approx(shop.optimum())
    session.ask("need = 30")
    assert session.ask("solve").status == "infeasible"
    assert not len(shop.changed("rhs", NEED, 30).points())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("command:cbc {model.mps}", "{solution}"),
        ("command:no-such-program {model.lp} {solution}", "no-such-program"),
        ("command:false {model.lp} {solution}", "exit code 1"),
        ("command:sh -c 'echo the reason >&2' {model.lp} {solution}", "the reason"),
        ("command:sh -c 'echo the reason' {model.lp} {solution}", "the reason"),
        ("command:cp {model.lp} {solution}", "line 1"),
        ("command:'cp {model.lp} {solution}", "quotation"),
    ],
)
def test_programs_that_give_no_solution_are_refused_in_one_line(line: str, expected: str) -> None:
    with pytest.raises(ModellingError) as raised:
        solve(pharmacy(), solver=line)
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_false_solution_of_a_program_is_not_believed(tmp_path: Path) -> None:
    script = tmp_path / "liar"
    script.write_text("#!/bin/sh\nprintf 'x0 1\\nx1 1\\n' > \"$2\"\n")
    script.chmod(0o755)
    solution = solve(pharmacy(), solver=f"command:{script} {{model.lp}} {{solution}}")
    assert solution.status is SolveStatus.UNKNOWN
    assert "breaks the model" in solution.note


def test_the_name_of_a_command_is_not_among_the_registered() -> None:
    assert find_solver("command:cbc {model.lp} {solution}").name == "command"


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ("cbc {model.mps} {solution}", True), ("cbc {model.lp} --out={solution}", True), ("cbc {model.lp}", False),
        ("cbc {solution}", False), ("cbc model.mps {solution}", False), ("cbc {model.sav} {solution}", False), ("", False),
        ("'{model.mps} {solution}", False),
    ],
)  # fmt: skip
def test_a_line_needs_places_for_the_model_and_the_solution(line: str, is_right: bool) -> None:
    if is_right:
        assert CommandSolver.from_line(line).words == tuple(line.split())
    else:
        with pytest.raises(ModellingError):
            CommandSolver.from_line(line)


@pytest.mark.parametrize(
    ("status", "stated", "bound"),
    [
        (SolveStatus.OPTIMAL, None, -9.0), (SolveStatus.OPTIMAL, 16.0, -9.0), (SolveStatus.OPTIMAL, 16.00001, -9.0),
        (SolveStatus.OPTIMAL, 16.001, None), (SolveStatus.UNKNOWN, 16.0, None),
    ],
)  # fmt: skip
def test_an_optimum_of_a_program_counts_if_its_point_has_it(
    status: SolveStatus, stated: float | None, bound: float | None
) -> None:
    arrays = Arrays(
        Sense.MAXIMIZE, np.array([-5.0, -3.0]), 7.0, np.zeros(2), np.full(2, 9.0), np.ones(2, dtype=bool),
        Sparse.from_dense(np.ones((1, 2))), np.array([1.0]), np.array([np.inf]),
    )  # fmt: skip
    # The file states a minimisation without the constant; names of other columns are left out.
    values = {"x0": 2.0, "x1": 2.0, "x2": 5.0, "y": 1.0, "x": 3.0}
    result = _result(arrays, SolutionFile(values, stated, status), "a program")
    assert (result.values.tolist(), result.bound) == ([2.0, 2.0], bound)
    assert result.status is (SolverStatus.OPTIMAL if status is SolveStatus.OPTIMAL else SolverStatus.STOPPED)
    for end in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        assert _result(arrays, SolutionFile(values, stated, end), "a program").values is None
    assert _result(arrays, SolutionFile({}, None, status), "a program").values is None
    zeros = _result(arrays, SolutionFile({}, None, status, is_sparse=True), "a program")
    assert zeros.values.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("form", ["lp", "mps"])
@pytest.mark.parametrize("sense", Sense)
def test_a_program_gets_all_columns_and_a_minimisation_without_a_constant(form: str, sense: Sense) -> None:
    arrays = Arrays(
        sense, np.array([-5.0, 0.0, 0.0, 2.0, 0.0]), 7.0, np.arange(5.0), np.full(5, 9.0), np.arange(5) % 2 == 0,
        Sparse.from_dense(np.array([[1.0, 0.0, 3.0, 0.0, 0.0]])), np.array([-np.inf]), np.array([20.0]),
    )  # fmt: skip
    read = from_text(_model_text(arrays, form), form)
    assert {v.name: (v.low, v.high, v.is_integer) for v in read.variable_records} == {
        f"x{at}": (at, 9.0, at % 2 == 0) for at in range(5)
    }
    assert (read.sense, read.objective_record.constant) == (Sense.MINIMIZE, 0.0)
    assert dict(read.objective_record.terms) == {"x0": -5.0 * sense.sign, "x3": 2.0 * sense.sign}
    assert [(row.name, dict(row.terms), row.rhs) for row in read.row_records] == [("r0", {"x0": 1.0, "x2": 3.0}, 20.0)]


@pytest.mark.parametrize(("seconds", "cpu_s", "wall_s"), [(None, 601.0, 1210.0), (5.0, 6.0, 20.0)])
def test_a_program_runs_with_limits(
    seconds: float | None, cpu_s: float, wall_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[Command] = []
    ends = [
        (EndReason.EXITED, {"model.sol": b"x0 50\nx1 117\n"}), (EndReason.MEMORY, {}), (EndReason.DEADLINE, {}),
        (EndReason.SIGNALLED, {}),
    ]  # fmt: skip

    @contextlib.contextmanager
    def sandbox(count: int, *, warm: bool) -> Iterator[Callable[..., SimpleNamespace]]:
        end, files = ends.pop(0)
        yield lambda command, root_dir: commands.append(command) or SimpleNamespace(end=end, files=files)

    monkeypatch.setattr("oragent.modelling.solving.back_ends.command.Sandbox", sandbox)
    solver, arrays = CommandSolver.from_line("cp {model.lp} {solution}"), pharmacy().to_staged_arrays()
    results = [solver.solve(arrays, SolverOptions(seconds=seconds)) for _ in range(4)]
    assert results[0].values.tolist() == [50, 117]
    assert [result.limit for result in results] == [None, Limit.MEMORY, Limit.TIME, Limit.TIME]
    (limits,) = {command.limits for command in commands}
    assert (limits.cpu_s, limits.wall_s, limits.memory_mb, limits.file_mb) == (cpu_s, wall_s, 4096, 512)
    assert {(command.argv, command.bring) for command in commands} == {
        ((shutil.which("cp"), "model.lp", "model.sol"), ("model.sol",))
    }
