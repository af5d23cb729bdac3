"""Programs run in a guest, their models are solved again outside of it, and hostile ones get their verdicts."""

import json
import re
from types import SimpleNamespace

import pytest

from oragent._base.errors import SandboxError
from oragent.formulate.model_comparison import Ruling
from oragent.formulate.problem import DEFAULT, ProgramInterface
from oragent.formulate.running import Bounds, FormulationRunner, _explain_key, _fill_values, _limit_numbers
from oragent.modelling.data.solution import SolveStatus, SolveVerdict
from oragent.sandbox.messages import Command
from tests.formulate.pharmacy import CHECKER, PROGRAM, RIGHT, WRONG

HEAD = "import pulp\ndef solve(data):\n"
SMALL = """
    problem = pulp.LpProblem("small", pulp.LpMaximize)
    x = pulp.LpVariable("x", 0, 10)
    y = pulp.LpVariable("y", 0, 10, cat="Integer")
    problem += 2 * x + 3 * y + 8.5
    problem += x + y <= 7.5, "both"
"""


@pytest.mark.parametrize("prefix", ["", "pulp."])
def test_the_interface_imports_what_programs_call_with_or_without_the_name_of_their_library(runner, prefix) -> None:
    head = DEFAULT.source.split("    problem = ")[0]
    body = SMALL.replace("pulp.", prefix) + "    problem.solve()\n    return {'optimized_vars': {'x': x, 'y': y}}\n"
    assert runner.run_program(head + body, DEFAULT, {}).objective == pytest.approx(2 * 0.5 + 3 * 7 + 8.5)


def test_the_interface_returns_what_a_writer_declares_where_its_marks_stand(runner) -> None:
    lines = [line for line in SMALL.splitlines() if line and "LpProblem" not in line]
    source = re.sub(" *# TO DO.*", "\n".join(lines), DEFAULT.source.replace("LpMinimize)", "LpMaximize)"))
    ran = runner.run_program(source, DEFAULT, {})
    assert (ran.status, ran.objective, ran.values) == ("optimal", pytest.approx(30.5), {"x": 0.5, "y": 7.0})
    untouched = runner.run_program(DEFAULT.source, DEFAULT, {})
    assert untouched.verdict is SolveVerdict.RUNTIME_ERROR
    assert "there is no objective to ask the value of" in untouched.message


@pytest.mark.parametrize(
    ("row", "status", "objective", "values"),
    [
        ("3 * p + 5 * s >= 0.7 * (p + s)", "optimal", 150.0, {"painkillers": 50.0, "sleeping_pills": 0.0}),
        ("s >= 0.7 * (p + s)", "optimal", 735.0, {"painkillers": 50.0, "sleeping_pills": 117.0}),
        ("p <= 40", "infeasible", None, {"painkillers": None, "sleeping_pills": None}),
    ],
)
def test_the_published_programs_come_to_the_published_values(runner, row, status, objective, values) -> None:
    ran = runner.run_program(PROGRAM.format(row=row), DEFAULT, {})
    assert (ran.verdict, ran.status, ran.objective, ran.values) == (None, status, objective, values)
    assert ran.columns == {"painkillers": "painkillers", "sleeping_pills": "sleeping_pills"}


@pytest.mark.parametrize(
    "call",
    [
        "problem.solve()", "problem.solve(pulp.PULP_CBC_CMD(msg=0))", "pulp.getSolver('GLPK_CMD').solve(problem)",
        "problem.solve(pulp.GUROBI(msg=1, threads=8))", "problem.setSolver(pulp.HiGHS(threads=4)); problem.solve()",
        "from pulp import CPLEX_CMD; problem.solve(CPLEX_CMD(timeLimit=5))",
    ],
)  # fmt: skip
def test_whatever_solver_is_asked_for_highs_solves_on_one_thread(runner: FormulationRunner, call: str) -> None:
    ran = runner.run_program(
        f"{HEAD}{SMALL}    {call}\n    return {{'optimized_vars': {{'x': x, 'y': y}}}}\n", DEFAULT, {}
    )
    assert (ran.verdict, ran.objective) == (None, pytest.approx(2 * 0.5 + 3 * 7 + 8.5))  # the constant is not lost
    assert ran.values == {"x": 0.5, "y": 7.0}


def test_values_come_by_column_through_dicts_lists_and_tuples(runner: FormulationRunner) -> None:
    source = HEAD + SMALL + "    problem.solve()\n    return 99, [x, {'deep': y}], {(1, 2): x + y}, 'text'\n"
    ran = runner.run_program(source, DEFAULT, {})
    assert ran.claimed == 99  # believed by nobody
    assert ran.values == {"var1": [0.5, {"deep": 7.0}], "var2": {"1,2": 7.5}, "var3": "text"}
    assert ran.columns["var1"] == ["x", {"deep": "y"}]


def test_a_value_that_is_returned_under_its_variables_name_counts_as_the_variable(runner: FormulationRunner) -> None:
    source = (
        HEAD
        + SMALL
        + "    problem.solve()\n    return {'x': x.value(), 'deep': {'y': y.varValue, 'z': 3.0}, 'w': 0.5}\n"
    )
    ran = runner.run_program(source, DEFAULT, {})
    assert ran.columns == {"x": "x", "deep": {"y": "y", "z": None}, "w": None}
    forged = source.replace("x.value()", "x.value() + 1")
    assert runner.run_program(forged, DEFAULT, {}).columns["x"] is None


def test_a_variable_that_no_row_mentions_has_a_value_too(runner: FormulationRunner) -> None:
    source = HEAD + SMALL + "    z = pulp.LpVariable('z', 3, 4)\n    problem.solve()\n    return {'z': z, 'x': x}\n"
    assert runner.run_program(source, DEFAULT, {}).values == {"z": 3.0, "x": 0.5}


def test_of_an_unbounded_integer_model_it_is_said_that_it_is_unbounded(runner: FormulationRunner) -> None:
    source = HEAD + (
        "    problem = pulp.LpProblem('p', pulp.LpMaximize)\n    x = pulp.LpVariable('x', 0, cat='Integer')\n"
        "    problem += x\n    problem += x >= 3\n    problem.solve()\n    return {'x': x}\n"
    )
    assert runner.run_program(source, DEFAULT, {}).status is SolveStatus.UNBOUNDED  # PuLP says "Infeasible"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "verdict", "told"),
    [
        ("    return {'objective_value': 42}", SolveVerdict.UNSOLVED, "no model"),
        ("    return 1 +", SolveVerdict.COMPILE_ERROR, "syntax error in line 3"),
        ("    return missing", SolveVerdict.RUNTIME_ERROR, "name 'missing'"),
        (SMALL + "    problem += x / y >= 1 / 3", SolveVerdict.RUNTIME_ERROR, "multiply both sides by it"),
        (SMALL + "    problem += (x + 1) / (x + y) >= 1 / 3", SolveVerdict.RUNTIME_ERROR, "multiply both sides by it"),
        (SMALL + "    problem += x / 2 >= 1 / 3", SolveVerdict.UNSOLVED, ""),
        ("    while True: pass", SolveVerdict.TIMEOUT, "too long"),
        ("    x = bytearray(1 << 40)", SolveVerdict.MEMORY, "memory"),
        ("    import os; os.fork()", SolveVerdict.RUNTIME_ERROR, ""),
        ("    import os; os._exit(0)", SolveVerdict.RUNTIME_ERROR, "ended its own process"),
        ("    open('/etc/passwd').read()", SolveVerdict.RUNTIME_ERROR, "ermission"),
        ("    open('result.json', 'w')", SolveVerdict.RUNTIME_ERROR, ""),
        ("    import socket; socket.create_connection(('127.0.0.1', 80))", SolveVerdict.RUNTIME_ERROR, ""),
        ("    d = {}\n    d['d'] = d\n    return d", SolveVerdict.RUNTIME_ERROR, "nested too deeply"),
        ("    return object()", SolveVerdict.RUNTIME_ERROR, "return numbers"),
        (
            "    import oragent.formulate.program_call as b\n    v = pulp.LpVariable('ImportError', 0, 1)\n"
            "    v.lowBound = 7\n    p = pulp.LpProblem('p')\n    p += pulp.LpVariable('y', 1)\n    p.solve()\n"
            "    return {'v': v}",
            SolveVerdict.RUNTIME_ERROR,
            "not usable: ModellingError",
        ),
        ("    return {'x': 'a' * (5 << 20)}", SolveVerdict.RUNTIME_ERROR, "returned too much"),
    ],
)
def test_programs_without_a_model_get_their_verdicts(
    runner: FormulationRunner, body: str, verdict: SolveVerdict, told: str
) -> None:
    bounds = Bounds(program_s=2.0 if verdict is SolveVerdict.TIMEOUT else 60.0, memory_mb=1024)
    ran = FormulationRunner(runner.sandbox, bounds).run_program(HEAD + body + "\n", DEFAULT, {})
    assert (ran.verdict, ran.milp) == (verdict, None)
    assert told in ran.message


def test_a_forged_value_is_replaced_by_that_of_the_model(runner: FormulationRunner) -> None:
    source = HEAD + SMALL + (
        "    problem.solve()\n    x.varValue = 1e6\n    problem.status = 1\n"
        "    return {'status': 'Optimal', 'objective_value': 1e9, 'optimized_vars': {'x': x}}\n"
    )  # fmt: skip
    ran = runner.run_program(source, DEFAULT, {})
    assert (ran.claimed, ran.objective, ran.values) == (1e9, pytest.approx(30.5), {"x": 0.5})


def test_patching_what_runs_beside_it_gains_nothing(runner: FormulationRunner) -> None:
    """It can replace what it solved by another model: then that one is solved, as if it had written it."""
    patch = "    import oragent.formulate.program_call as b\n    b.RECORDER.files['000001.json'] = 'none'\n"
    source = HEAD + SMALL + "    problem.solve()\n" + patch + "    return {'x': x}\n"
    assert runner.run_program(source, DEFAULT, {}).verdict in (SolveVerdict.UNSOLVED, SolveVerdict.RUNTIME_ERROR)
    source = HEAD + SMALL + "    import json\n    json.dumps = lambda *a, **k: 'no json'\n    return {}\n"
    assert runner.run_program(source, DEFAULT, {}).verdict is SolveVerdict.RUNTIME_ERROR


@pytest.mark.slow
def test_what_is_printed_is_capped(runner: FormulationRunner) -> None:
    source = HEAD + SMALL + "    print('a' * (300 << 20))\n    problem.solve()\n    return {'x': x}\n"
    ran = runner.run_program(source, DEFAULT, {})
    assert ran.objective == pytest.approx(30.5)
    assert len(ran.log) < 5000


def test_messages_are_the_same_in_every_run(runner: FormulationRunner) -> None:
    source = HEAD + "    raise ValueError(object())\n"
    assert "0x..." in runner.run_program(source, DEFAULT, {}).message


def test_an_interface_of_ones_own_is_called_with_its_arguments(runner: FormulationRunner) -> None:
    own = ProgramInterface("prob_1", ("limit", "worth"), "def prob_1(limit, worth): ...")
    source = (
        "import pulp\ndef prob_1(limit, worth):\n    p = pulp.LpProblem('p', pulp.LpMaximize)\n"
        "    x = pulp.LpVariable('x', 0, limit)\n    p += worth * x\n    p.solve()\n    return p.objective.value(), x, 0\n"
    )
    ran = runner.run_program(source, own, {"limit": 4, "worth": 2.5, "other": 1})
    assert (ran.objective, ran.values) == (10.0, {"limit": 4.0, "worth": 0})  # named as the arguments are, as published


def test_the_checker_names_the_row_that_the_published_program_misreads(runner: FormulationRunner) -> None:
    ran = runner.run_program(WRONG, DEFAULT, {})
    report = runner.run_checker(CHECKER, ran, {})
    (share,) = [entry for entry in report.entries if entry[0] == "share"]
    assert share[1:4] == (0.0, ">=", 35.0)
    assert report.comparison is not None
    assert report.comparison.ruling is Ruling.ALLOWS
    assert report.comparison.names == ("share",)
    right = runner.run_checker(CHECKER, runner.run_program(RIGHT, DEFAULT, {}), {})
    assert right.comparison is not None
    assert right.comparison.ruling is Ruling.AGREES


def test_a_checker_that_rounds_or_compares_gives_numbers_and_no_rows(runner: FormulationRunner) -> None:
    source = CHECKER.replace('yield ("share"', 'yield ("even", round(p) % 2, "=", 0, "")\n    yield ("share"')
    report = runner.run_checker(source, runner.run_program(RIGHT, DEFAULT, {}), {})
    assert report.comparison is None
    assert "compare or round" in report.note
    assert len(report.entries) == 8


@pytest.mark.parametrize(
    "source", ["def checks(v, d):\n    yield v['none']\n", "def other(): ...", "def checks(v, d):\n  yield 1\n"]
)
def test_a_checker_that_does_not_run_says_so(runner: FormulationRunner, source: str) -> None:
    assert runner.run_checker(source, runner.run_program(RIGHT, DEFAULT, {}), {}).problem


@pytest.mark.parametrize("name", ["values", "data"])
def test_a_checker_with_an_unknown_name_gets_those_that_exist(runner: FormulationRunner, name: str) -> None:
    ran = runner.run_program(RIGHT, DEFAULT, {"unread": 1})
    problem = runner.run_checker(f"def checks(values, data):\n    yield {name}['none']\n", ran, {"unread": 1}).problem
    assert all(repr(text) in problem for text in ("none", *ran.values, "unread"))


HUGE = """
import pulp
def solve(data):
    problem = pulp.LpProblem("m", pulp.LpMaximize)
    x = pulp.LpVariable("x", 0, 5)
    problem += x
    problem.solve()
    return {returned}
"""


@pytest.mark.parametrize(
    "returned",
    ['{"objective_value": 10**400, "optimized_vars": {"x": x, "y": [10**400]}}', "(10**400, x, 10**400)", "10**400"],
)
def test_a_number_that_no_float_holds_ends_nothing(runner: FormulationRunner, returned: str) -> None:
    ran = runner.run_program(HUGE.format(returned=returned), DEFAULT, {})
    assert ran.objective == 5.0
    assert ran.claimed is None
    report = runner.run_checker("def checks(values, data):\n    yield ('a', 10**400, '<=', 1, '')", ran, {})
    assert report.problem


@pytest.mark.parametrize(("returned", "objective"), [("x", 12), ("y", 35)])
def test_the_last_model_with_the_returned_variables_is_taken(runner, returned: str, objective: float) -> None:
    """Two models without a common variable: neither holds the aim of the other."""
    source = f"""{HEAD}
    first = pulp.LpProblem("first", pulp.LpMaximize)
    x = pulp.LpVariable("x", 0, 4)
    first += 3 * x
    first.solve()
    second = pulp.LpProblem("second", pulp.LpMaximize)
    y = pulp.LpVariable("y", 0, 5)
    second += 7 * y
    second.solve()
    return {{"optimized_vars": {{"{returned}": {returned}}}}}
"""
    ran = runner.run_program(source, DEFAULT, {})
    assert (ran.objective, list(ran.values), ran.held) == (objective, [returned], {})


class FixedSandbox:
    """Ends each command as given, and records it."""

    def __init__(self, **end: object) -> None:
        self.end = {"code": 0, "end": "exited", "stdout": "", "stderr": "", **end}
        self.commands: list[Command] = []

    def __call__(self, command: Command, warm_up: object) -> SimpleNamespace:
        self.commands.append(command)
        return SimpleNamespace(**self.end)


@pytest.mark.parametrize(
    ("end", "verdict", "words"),
    [
        ({"end": "deadline", "code": -9}, SolveVerdict.TIMEOUT, ""), ({"end": "signalled", "code": -9}, SolveVerdict.MEMORY, ""),
        ({"end": "lost", "code": 1}, SolveVerdict.MEMORY, ""), ({"code": 1, "stderr": "x\nMemoryError\n"}, SolveVerdict.MEMORY, ""),
        ({"code": 1, "stderr": "first\nlast line\n"}, SolveVerdict.RUNTIME_ERROR, "last line"), ({"code": 1}, SolveVerdict.RUNTIME_ERROR, ""),
        ({"stdout": "no JSON"}, SolveVerdict.RUNTIME_ERROR, "64 MiB"),
        ({"stdout": '{"status": "unsolved", "message": "m", "returned": 5, "log": "l"}'}, SolveVerdict.UNSOLVED, "m"),
        ({"stdout": '{"status": "unsupported", "message": "m"}'}, SolveVerdict.UNSUPPORTED, "m"),
        ({"stdout": '{"status": "rejected", "message": "m"}'}, SolveVerdict.COMPILE_ERROR, "m"),
        ({"stdout": '{"status": "error", "message": "NotImplementedError: nonlinear: x y z"}'}, SolveVerdict.UNSUPPORTED, "nonlinear: x y z"),
        ({"stdout": '{"status": "error", "message": "ValueError: v", "traceback": "line 3"}'}, SolveVerdict.RUNTIME_ERROR, "ValueError: v"),
        ({"stdout": '{"status": "ok", "milp": 5}'}, SolveVerdict.RUNTIME_ERROR, "cannot be used"),
        ({"stdout": '{"status": "ok", "milp": 5, "log": "l"}'}, SolveVerdict.RUNTIME_ERROR, "cannot be used"),
    ],
)  # fmt: skip
def test_each_end_of_a_process_has_its_verdict(end: dict[str, object], verdict: SolveVerdict, words: str) -> None:
    sandbox = FixedSandbox(**end)
    runner = FormulationRunner(sandbox, Bounds(7.0, memory_mb=300, gap=0.25, solver="highs", threads=3))  # type: ignore[arg-type]
    ran = runner.run_program("text", DEFAULT, {"a": 1})
    assert (ran.verdict, ran.milp) == (verdict, None)
    assert words in ran.message
    assert (ran.traceback, ran.log) == ("line 3" if "line 3" in str(end) else "", "l" if '"log"' in str(end) else "")
    (command,) = sandbox.commands
    assert command.limits is not None
    # Three times the seconds of the program: it runs, its model is solved again, and compared.
    assert (command.limits.cpu_s, command.limits.memory_mb, command.limits.file_mb) == (31.0, 300, 64)
    assert command.limits.output_kb == 64 << 10
    request = json.loads(command.files["request.json"])
    assert (request["kind"], request["function"], request["arguments"]) == ("solve", "solve", [{"a": 1}])
    assert (request["limit_s"], request["gap"], request["solver"], request["threads"]) == (7.0, 0.25, "highs", 3)
    assert command.files["program.py"] == "text"


@pytest.mark.parametrize("error", ["ImportError: x", "ModuleNotFoundError: x", "SyntaxError: x"])
def test_an_error_of_the_evaluator_itself_is_no_verdict_on_a_program(error: str) -> None:
    runner = FormulationRunner(FixedSandbox(code=1, stderr=f"trace\n{error}\n"))  # type: ignore[arg-type]
    with pytest.raises(SandboxError):
        runner.run_program("text", DEFAULT, {})


@pytest.mark.parametrize(
    ("value", "limited"),
    [
        ({"a": [10**301, 5, -(10**301)]}, {"a": [None, 5, None]}),
        (10**299, 10**299),
        (int(1e300), int(1e300)),
        ("x", "x"),
        (1.5, 1.5),
    ],
)
def test_integers_that_no_float_holds_become_nothing(value: object, limited: object) -> None:
    assert _limit_numbers(value) == limited


def test_values_of_a_solution_take_the_places_of_columns() -> None:
    columns = {"a": "x", "b": [None, "y"], "c": {"d": "gone"}, "e": None}
    values = {"a": 1, "b": [7, 8], "c": {"d": 9}, "e": "text"}
    assert _fill_values(values, columns, {"x": 2.0, "y": 3.0}) == {
        "a": 2.0,
        "b": [7, 3.0],
        "c": {"d": None},
        "e": "text",
    }
    names = _explain_key("KeyError: 'z'", {"p": 1}, {f"n{at}": 1 for at in range(12)})
    assert "'p'" in names
    assert "'n9'" in names
    assert "'n10'" not in names
    assert _explain_key("ValueError: z", {}, {}) == "ValueError: z"
