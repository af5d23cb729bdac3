"""What all tests share: a toy problem that scores in milliseconds (return 100 when called with 3), and patience."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from oragent.evaluation.problem import load
from oragent.search.config import build
from oragent.search.folder import RunFolder, begin

# Machines may be slow and shared: no example has a deadline, and where many depend on it, all runs draw the same.
settings.register_profile(
    "oragent", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("oragent")

EVALUATOR = """
import sys, traceback
sys.path.insert(0, ".")
from oragent.protocol import *
import heuristic
try:
    value = heuristic.guess(3)
except Exception as problem:
    print(format_failure(Failure(Status.ERROR, str(problem), traceback.format_exc())))
    sys.exit(1)
print(format_result(Result({"value": value}, (int(value) % 7,), abs(100 - value))))
"""
DESCRIPTION = """
title: Guess a number
description: Write guess(x), called with 3, such that it returns 100.
function: guess
direction: minimize
timeout_s: 20
features: [{name: remainder, bins: 7, meaning: of the guess by seven}]
primitives: [x * x]
"""


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run of the tests share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = tmp_path / "problems" / "toy"
    folder.mkdir(parents=True)
    (folder / "problem.yaml").write_text(DESCRIPTION)
    (folder / "eval.py").write_text(EVALUATOR)
    (folder / "heuristic.py").write_text("def guess(x):\n    return x * 2.0\n")
    return folder


@pytest.fixture
def begun(toy: Path, tmp_path: Path):
    def make(*settings: str) -> RunFolder:
        return begin(tmp_path, tmp_path / "outputs", load(toy), build({}, settings, "test"))

    return make
