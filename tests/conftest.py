"""What all tests share: a toy problem that scores in milliseconds (return 100 when called with 3), and patience."""

import fcntl
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from oragent.evaluation.problem import load_problem
from oragent.search.config import build_config
from oragent.search.folder import RunFolder, make_folder

# Machines may be slow and shared: no example has a deadline, and where many depend on it, all runs draw the same.
# ORAGENT_EXAMPLES asks for another number of examples of each test.
settings.register_profile(
    "oragent",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    max_examples=int(os.environ.get("ORAGENT_EXAMPLES", "40")),
)
settings.load_profile("oragent")

# The tests begin a thousand processes: what they import is compiled once, whatever the environment says of it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

EVALUATOR = """
import sys, traceback
sys.path.insert(0, ".")
from oragent._base.protocol import *
import heuristic
try:
    value = heuristic.guess(3)
except Exception as problem:
    print(format_failure(Failure(Status.ERROR, str(problem), traceback.format_exc())))
    sys.exit(1)
print(format_result(Result({"value": value}, (int(value) % 7,), abs(100 - value))))
"""
TREE = ("or_agent.rounds=tree",)  # most tests of or_agent are of its trees
DESCRIPTION = """
title: Guess a number
description: Write guess(x), called with 3, such that it returns 100.
function: guess
direction: minimize
timeout_s: 20
features: [{name: remainder, bins: 7, meaning: of the guess by seven}]
primitives: [x * x]
"""


def pytest_configure(config: pytest.Config) -> None:
    """Where several processes share the tests of a fresh clone, let each compile some kernels, and load the others'."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        files = sorted((Path(__file__).parents[1] / "oragent" / "solvers").glob("*.py"))
        kernels = [file for file in files if "\n@kernel([" in file.read_text()]
        first = int(worker.removeprefix("gw")) * len(kernels) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for file in kernels[first:] + kernels[:first]:
            with file.open() as one:
                fcntl.flock(one, fcntl.LOCK_EX)  # of two that want the same kernel the second waits for the first
                import_module(f"oragent.solvers.{file.stem}")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run of the tests share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def write_toy(root: Path) -> Path:
    """Write the toy problem into a project, and return its folder."""
    folder = root / "problems" / "toy"
    folder.mkdir(parents=True)
    (folder / "problem.yaml").write_text(DESCRIPTION)
    (folder / "eval.py").write_text(EVALUATOR)
    (folder / "heuristic.py").write_text("def guess(x):\n    return x * 2.0\n")
    return folder


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return write_toy(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a user trusts is kept apart from what the tests do."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture
def begun(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Scripted models answer by the prompt, which names this version: one course on every Python.
    monkeypatch.setattr("oragent.search.prompting.prompt_templates._python_version", lambda: "3.11")

    def make(*settings: str) -> RunFolder:
        return make_folder(
            tmp_path, tmp_path / "outputs", load_problem(toy), build_config({}, (*TREE, *settings), "test")
        )

    return make
