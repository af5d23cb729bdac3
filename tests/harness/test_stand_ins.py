"""A stand-in has the interface of the seed and no line of the candidate, wherever an evaluator runs it."""

import multiprocessing
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.harness import Guest
from oragent._base.errors import CandidateError, ProblemError
from oragent.harness.stand_ins import CallServer, make_stand_in

SEED = '''"""Fixed text."""
import math

# EVOLVE-BLOCK-START
import json
LIMIT = 3
NAMES: tuple = ("a", "b")
START = compute()

def f(a, /, b, c=1, *rest, d, e=5, **more):
    return 0

def helper(x):
    return x

class Other:
    pass
# EVOLVE-BLOCK-END


def area(radius):
    return math.pi * f(radius, 0, d=0)
'''
PROGRAM = """
import math
def f(a, /, b, c=10, *rest, d, e=50, **more):
    return [a, b, c, rest, d, e, more]
def g(x):
    return x + 1
def loop():
    while True:
        pass
def draw(generator):
    return generator.random()
def apply(function, x):
    return function(x)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CallServer]:
    path = tmp_path / "heuristic.py"
    path.write_text(PROGRAM)
    with Guest(path, "f", functions=("g", "loop", "draw", "apply")) as guest, CallServer(guest) as server:
        guest.callbacks = ("g", "abs")
        yield server


def execute(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"compute": lambda: 1}
    exec(text, space)
    return space


def test_a_stand_in_has_fixed_text_imports_constants_and_called_functions() -> None:
    text = make_stand_in(SEED, ("f",), "/nowhere")
    space = execute(text)
    assert (space["LIMIT"], space["NAMES"], space["__doc__"]) == (3, ("a", "b"), "Fixed text.")
    assert space["json"].__name__ == "json"
    assert not {"helper", "Other", "START"} & space.keys()
    assert "return 0" not in text


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1, 2), {"d": 4}), ((1, 2, 3), {"d": 4, "e": 6}), ((1,), {"b": 2, "d": 4}), ((1, 2, 3, 7, 8), {"d": 4}),
        ((1, 2), {"d": 4, "z": 9}), ((1, 2), {"d": 4, "c": np.float32(3)}),
    ],
)  # fmt: skip
def test_arguments_arrive_as_in_a_direct_call(server: CallServer, args: tuple, kwargs: dict) -> None:
    space: dict[str, Any] = {}
    exec(PROGRAM, space)
    stand_in = execute(make_stand_in(SEED, ("f",), server.address))
    assert stand_in["f"](*args, **kwargs) == space["f"](*args, **kwargs)


def test_the_fixed_text_calls_the_candidate(server: CallServer) -> None:
    with pytest.raises(TypeError):
        # The candidate's function returns a list.
        execute(make_stand_in(SEED, ("f",), server.address))["area"](2.0)


def test_a_text_may_be_executed_in_two_spaces(server: CallServer) -> None:
    local: dict[str, Any] = {}
    exec(make_stand_in("def g(x):\n    return x\n", ("g",), server.address), {}, local)
    assert local["g"](1) == 2


def test_a_function_that_the_seed_lacks_is_refused() -> None:
    with pytest.raises(ProblemError):
        make_stand_in(SEED, ("area",), "/nowhere")
    with pytest.raises(ProblemError):
        make_stand_in(
            "class A:\n    # EVOLVE-BLOCK-START\n    def f(self):\n        pass\n    # EVOLVE-BLOCK-END\n", ("f",), "/"
        )


def test_a_process_of_the_evaluator_reaches_the_candidate(server: CallServer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(make_stand_in("def g(x):\n    return x\n", ("g",), server.address) + "print(g(41), g(g(1)))\n")
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert ended.stdout == "42 3\n"


def test_processes_of_a_pool_reach_the_candidate(server: CallServer) -> None:
    space = execute(make_stand_in("def g(x):\n    return x\n", ("g",), server.address))
    reader, writer = multiprocessing.get_context("fork").Pipe(duplex=False)

    def work() -> None:
        writer.send([space["g"](number) for number in range(3)])

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    assert reader.recv() == [1, 2, 3]
    process.join()


def test_a_process_of_the_evaluator_passes_its_generator(server: CallServer) -> None:
    space = execute(make_stand_in("def draw(generator):\n    return 0\n", ("draw",), server.address))
    reader, writer = multiprocessing.get_context("fork").Pipe(duplex=False)

    def work() -> None:
        generator = np.random.default_rng(5)
        try:
            writer.send([space["draw"](generator), space["draw"](generator)])
        except RuntimeError as problem:
            writer.send(str(problem))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    assert reader.recv() == np.random.default_rng(5).random(2).tolist()
    process.join()


def test_threads_of_the_evaluator_reach_the_candidate(server: CallServer) -> None:
    space = execute(make_stand_in("def g(x):\n    return x\n", ("g",), server.address))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(space["g"], range(20))) == list(range(1, 21))


def test_an_argument_that_cannot_be_sent_is_a_fault_of_the_task(server: CallServer) -> None:
    space = execute(make_stand_in("def g(x):\n    return x\n", ("g",), server.address))
    with pytest.raises(ProblemError, match="generator"):
        space["g"](number for number in range(3))
    with pytest.raises(CandidateError):
        space["g"]("text")


@pytest.mark.parametrize(("function", "answer"), [(abs, 3), (hex, None)])
def test_a_process_of_the_evaluator_passes_no_other_functions(server: CallServer, function: Any, answer: Any) -> None:
    space = execute(make_stand_in("def apply(function, x):\n    return x\n", ("apply",), server.address))
    reader, writer = multiprocessing.get_context("fork").Pipe(duplex=False)

    def work() -> None:
        try:
            writer.send(space["apply"](function, -3))
        except RuntimeError:
            writer.send(None)

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    assert reader.recv() == answer
    process.join()


def test_arguments_that_do_not_fit_are_an_error_of_the_evaluator(server: CallServer) -> None:
    space = execute(make_stand_in(SEED, ("f",), server.address))
    with pytest.raises(TypeError):
        space["f"](1, 2)
    assert space["f"](1, 2, d=3)[0] == 1


def test_a_callback_that_calls_the_candidate_is_a_fault_of_the_task(
    server: CallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def g(x):\n    return x\ndef apply(function, x):\n    return x\n"
    space = execute(make_stand_in(text, ("g", "apply"), server.address))
    causes: list[Exception] = []
    monkeypatch.setattr(server._guest, "settle", causes.append)
    with pytest.raises(CandidateError):
        space["apply"](space["g"], 1)
    assert [type(cause) for cause in causes] == [ProblemError]
    assert space["apply"](abs, -1) == 1


def test_an_interrupted_call_ends_the_evaluation(server: CallServer, monkeypatch: pytest.MonkeyPatch) -> None:
    space = execute(make_stand_in("def loop():\n    pass\n", ("loop",), server.address))
    causes = []
    monkeypatch.setattr(CandidateError, "on_creation", causes.append)

    def interrupt(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(TimeoutError):
            space["loop"]()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [str(cause.status) for cause in causes] == ["timeout"]
