"""The first failure of a candidate decides, whatever the evaluator or native code makes of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.protocol import Failure, Result, Status, parse
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.problem import LimitSettings, evaluation_root, load_problem

ABOUT = """
title: Rank
description: Rank numbers.
function: rank
direction: minimize
timeout_s: 60
"""
START = """
from oragent import harness
import ctypes, os, sys, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import numpy as np

LINES = []

"""
END = """
if __name__ == "__main__":
    harness.run(evaluate, function="rank", sizes={"train": (4,), "val": (4,)})
"""
# Each evaluator calls the candidate with 0, 1, 2, ... and computes a score also without its answers.
CTYPES = """
KIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))

def evaluate(arguments, rank):
    numbers = (ctypes.c_int * 6)(3, 1, 4, 2, 5, 0)
    def compare(first, second):
        return int(rank(first[0])) - int(rank(second[0]))
    ctypes.CDLL(None).qsort(numbers, 6, 4, KIND(compare))
    return harness.Result({}, None, float(sum(index * number for index, number in enumerate(numbers))))
"""
CHECKED = CTYPES.replace("int(rank(first[0]))", "int(harness.matrix(rank(first[0]), ()))")
CP_SAT = """
from ortools.sat.python import cp_model

def evaluate(arguments, rank):
    model = cp_model.CpModel()
    numbers = [model.new_int_var(0, 3, str(index)) for index in range(2)]
    model.maximize(sum(numbers))
    class Callback(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self):
            try:
                harness.matrix(rank(self.value(numbers[0])), ())
            except Exception:
                pass
    solver = cp_model.CpSolver()
    solver.solve(model, Callback())
    return harness.Result({}, None, solver.objective_value)
"""
HIGHS = """
import highspy

def evaluate(arguments, rank):
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")
    picks = [solver.addBinary(-index - 1) for index in range(20)]
    solver.addConstr(sum((index * 7 % 13 + 1) * pick for index, pick in enumerate(picks)) <= 40)
    calls = []
    def ask(event):
        calls.append(0)
        harness.matrix(rank(3), ())
    solver.cbMipImprovingSolution += ask
    solver.run()
    assert calls
    return harness.Result({}, None, 1.0)
"""
SCIP = """
from pyscipopt import Eventhdlr, Model, SCIP_EVENTTYPE

class Events(Eventhdlr):
    def eventinit(self):
        self.model.catchEvent(SCIP_EVENTTYPE.BESTSOLFOUND, self)
    def eventexec(self, event):
        harness.matrix(self.rank(3), ())

def evaluate(arguments, rank):
    model, events = Model(), Events()
    model.hideOutput()
    picks = [model.addVar(vtype="B") for _ in range(20)]
    model.addCons(sum((index * 7 % 13 + 1) * pick for index, pick in enumerate(picks)) <= 40)
    model.setObjective(sum((index + 1) * pick for index, pick in enumerate(picks)), "maximize")
    events.rank = rank
    model.includeEventhdlr(events, "ask", "ask")
    model.optimize()
    return harness.Result({}, None, model.getObjVal())
"""
PYVRP = """
from pyvrp import Model
from pyvrp.stop import MaxIterations

def evaluate(arguments, rank):
    model = Model()
    model.add_depot(model.add_location(0, 0))
    model.add_vehicle_type(2)
    for index in range(6):
        model.add_client(model.add_location(index * 3 % 7, index * 5 % 7))
    for first in model.locations:
        for second in model.locations:
            model.add_edge(first, second, abs(first.x - second.x) + abs(first.y - second.y))
    iterations = MaxIterations(20)
    def stop(cost):
        try:
            harness.matrix(rank(3), ())
        except Exception:
            pass
        return iterations(cost)
    return harness.Result({}, None, float(model.solve(stop=stop, display=False).cost()))
"""
POOL = """
def evaluate(arguments, rank):
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(rank, number) for number in range(8)]
    values = [float(harness.matrix(one.result(), ())) for one in answers if not one.exception()]
    return harness.Result({"answers": len(values)}, None, float(sum(values)))
"""
THREAD = """
def evaluate(arguments, rank):
    threads = [threading.Thread(target=lambda number=number: int(rank(number))) for number in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return harness.Result({}, None, 1.0)
"""
CATCHING = """
def evaluate(arguments, rank):
    costs = []
    for number in range(5):
        try:
            costs.append(float(harness.matrix(rank(number), ())))
        except Exception:
            costs.append(-1e9)
    return harness.Result({}, None, float(sum(costs)))
"""
CATCHING_ALL = CATCHING.replace("except Exception", "except BaseException")
EXITING = CATCHING.replace("    return harness", "    sys.exit(0)\n    return harness")
LEAVING = CATCHING.replace("    return harness", "    os._exit(0)\n    return harness")
RAISING = CATCHING.replace("    return harness", "    raise ValueError('of the evaluator')\n    return harness")
PRINTING = CATCHING.replace(
    "    return harness",
    "    from oragent._base.protocol import format_result\n"
    "    print(format_result(harness.Result({}, None, -1e9)), flush=True)\n    os._exit(0)\n    return harness",
)
SILENCED = CATCHING.replace("    costs = []", "    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n    costs = []", 1)
EVALUATORS = {
    "ctypes": (CTYPES, ""),
    "ctypes checked": (CHECKED, ""),
    "CP-SAT": (CP_SAT, "ortools"),
    "HiGHS": (HIGHS, "highspy"),
    "SCIP": (SCIP, "pyscipopt"),
    "PyVRP": (PYVRP, "pyvrp"),
    "pool": (POOL, ""),
    "thread": (THREAD, ""),
    "catching": (CATCHING, ""),
    "catching all": (CATCHING_ALL, ""),
    "exiting": (EXITING, ""),
    "leaving": (LEAVING, ""),
    "raising": (RAISING, ""),
    "printing": (PRINTING, ""),
    "silenced": (SILENCED, ""),
}
RAISES = "def rank(x):\n    if x == 3:\n        raise KeyError('of the candidate')\n    return float(x)\n"
ANSWERS = {
    "nan": "def rank(x):\n    return float('nan') if x == 3 else float(x)\n",
    "inf": "def rank(x):\n    return float('inf') if x == 3 else float(x)\n",
    "shape": "def rank(x):\n    return [1.0, 2.0] if x == 3 else float(x)\n",
}
GOOD = "def rank(x):\n    return float(x)\n"


def write_problem(folder: Path, evaluator: str, seed: str = GOOD) -> Path:
    (folder / "problem.yaml").write_text(ABOUT)
    (folder / "eval.py").write_text(START + evaluator + END)
    (folder / "heuristic.py").write_text(seed)
    return folder


def evaluate(folder: Path, source: str) -> Evaluation:
    problem = load_problem(folder)
    with EvaluationRunner(warm=False) as run:
        return run(problem.make_job(source, evaluation_root(problem), problem.make_limits(LimitSettings())))


def run_by_hand(folder: Path, source: str) -> Result | Failure:
    (folder / "heuristic.py").write_text(source)
    command = [sys.executable, "eval.py"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return parse(ended.stdout)


@pytest.mark.parametrize("name", EVALUATORS)
def test_a_candidate_that_raises_is_named_and_not_scored(tmp_path: Path, name: str) -> None:
    evaluator, package = EVALUATORS[name]
    if package:
        pytest.importorskip(package)
    write_problem(tmp_path, evaluator)
    result = evaluate(tmp_path, RAISES)
    assert (result.status, result.score) == (Status.ERROR, None), result
    assert result.message.startswith("KeyError: 'of the candidate'")
    assert "line 3" in result.traceback
    if name in ("ctypes", "leaving", "printing", "silenced"):
        by_hand = run_by_hand(tmp_path, RAISES)
        assert isinstance(by_hand, Failure)
        assert (by_hand.status, by_hand.message) == (Status.ERROR, result.message)
    else:
        assert name in ("exiting", "raising") or evaluate(tmp_path, GOOD).score is not None


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", ["ctypes", "ctypes checked", "CP-SAT", "HiGHS", "thread", "catching", "leaving"])
def test_a_wrong_answer_is_named_and_not_scored(tmp_path: Path, name: str, answer: str) -> None:
    evaluator, package = EVALUATORS[name]
    if package:
        pytest.importorskip(package)
    write_problem(tmp_path, evaluator)
    result = evaluate(tmp_path, ANSWERS[answer])
    assert result.score is None
    if answer == "shape" and name in ("ctypes", "thread"):
        # The evaluator does not check the answer, and its conversion fails.
        assert result.status is Status.CRASHED
        assert "TypeError" in result.message
    else:
        assert result.status is Status.INVALID
        assert f"returned {answer}" in result.message


def test_calls_from_threads_are_answered_one_after_the_other(tmp_path: Path) -> None:
    write_problem(tmp_path, POOL.replace("range(8)", "range(200)"))
    result = evaluate(tmp_path, GOOD)
    assert (result.metrics["answers"], result.score) == (200, sum(range(200)))
    assert result.metrics["heuristic_calls"] == 200


def test_calls_from_another_process_are_refused(tmp_path: Path) -> None:
    forking = """
def evaluate(arguments, rank):
    reader, writer = os.pipe()
    if not os.fork():
        try:
            rank(3)
        except Exception as problem:
            os.write(writer, f"{type(problem).__name__}: {problem}".encode())
        os._exit(0)
    os.close(writer)
    raise ValueError(os.read(reader, 1000).decode())
"""
    write_problem(tmp_path, forking)
    result = evaluate(tmp_path, GOOD)
    assert (result.status, result.score) == (Status.CRASHED, None)
    assert "threads" in result.message


def test_a_solver_that_goes_on_is_ended(tmp_path: Path) -> None:
    going_on = CATCHING.replace("    return harness", "    ctypes.CDLL(None).sleep(50)\n    return harness")
    write_problem(tmp_path, "from oragent.harness import ending\nending.MAX_REST_S = 0.1\n" + going_on)
    result = evaluate(tmp_path, RAISES)
    assert result.status is Status.ERROR
    assert result.wall_s < 40


def test_an_exception_of_the_evaluator_in_a_callback_ends_the_evaluation(tmp_path: Path) -> None:
    write_problem(tmp_path, CTYPES.replace("        return int", "        LINES[7]\n        return int"))
    result = evaluate(tmp_path, GOOD)
    assert (result.status, result.score) == (Status.CRASHED, None)
    assert "IndexError" in result.message
    assert "candidate" not in result.message


def test_an_exception_in_a_finalizer_does_not_count(tmp_path: Path) -> None:
    finalizer = "class Last:\n    def __del__(self):\n        raise ValueError('late')\n"
    write_problem(tmp_path, finalizer + CATCHING.replace("    costs = []", "    Last()\n    costs = []", 1))
    assert evaluate(tmp_path, GOOD).score == 10


def test_a_lost_race_stays_lost_if_the_evaluator_catches_it(tmp_path: Path) -> None:
    racing = """
def evaluate(arguments, rank):
    values = {4: []}
    try:
        for size, index, number in harness.each(rank, {4: list(range(3, 43))}, values):
            values[size].append(float(rank(number)))
    except Exception:
        values = {4: [-1e9]}
    return harness.Result({}, None, sum(values[4]) / len(values[4]))
"""
    write_problem(tmp_path, racing)
    text = (tmp_path / "eval.py").read_text()
    (tmp_path / "eval.py").write_text(text.replace('"val": (4,)}', '"val": (4,)}, race=True'))
    terms = '{"direction": "minimize", "bar": {"4": ' + str([1] * 40) + '}, "probes": 2, "twins": []}'
    command = [sys.executable, "eval.py", f"--race={terms}"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    outcome = parse(ended.stdout)
    assert isinstance(outcome, Failure), ended
    assert outcome.status is Status.SCREENED
    assert outcome.metrics["raced"]["done"] < 40
