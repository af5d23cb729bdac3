"""Chance and memory of a candidate are found, told apart, and not blamed on the evaluator."""

from pathlib import Path

import pytest

from oragent.authoring import ContractFinding, Level, check_problem
from oragent.search.genetics.variation import child_of_seed

from .folders import Checked, about

TITLE = "function of its arguments"
DESCRIPTION = """
title: adds
description: Add numbers up.
function: worth
direction: maximize
timeout_s: 20
sizes: {train: [8], val: [8]}
"""
EVALUATOR = """
from oragent import harness

def evaluate(arguments, worth):
    values = [float(worth(index)) for index in range(8)]
    metrics, score = harness.figures("value", {8: values})
    return harness.Result(metrics, None, score)

if __name__ == "__main__":
    harness.run(evaluate, function="worth", sizes={"train": (8,), "val": (8,)})
"""
SEEDS = {
    "honest": "def worth(x):\n    return x * 1.5\n",
    "counts its calls": "calls = [0]\n\ndef worth(x):\n    calls[0] += 1\n    return x + calls[0]\n",
    "draws numbers": "import numpy as np\n\ndef worth(x):\n    return x + np.random.default_rng().random()\n",
    "hides what it draws": (
        "import numpy as np\n\nname = 'default_' + 'rng'\n\ndef worth(x):\n"
        "    return x + getattr(np.random, name)().random()\n"
    ),
    "draws seeded numbers": "import numpy as np\n\ndef worth(x):\n    return x + np.random.default_rng(0).random()\n",
}


def checked_with(seed: str, folder: Path, **options: object) -> list[ContractFinding]:
    for name, text in {"problem.yaml": DESCRIPTION, "heuristic.py": seed, "eval.py": EVALUATOR}.items():
        (folder / name).write_text(text)
    found = []
    for finding in check_problem(folder, folder, child_of_seed, **options):
        found.append(finding)
        if finding.title == TITLE:
            break
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["honest", "draws seeded numbers"])
def test_a_function_passes(name: str, tmp_path: Path) -> None:
    *_, found = checked_with(SEEDS[name], tmp_path)
    assert (found.level, found.title) == (Level.OK, TITLE)
    assert "8 calls" in found.detail


@pytest.mark.slow
def test_memory_of_calls_is_found_and_called_so(tmp_path: Path) -> None:
    *_, found = checked_with(SEEDS["counts its calls"], tmp_path)
    assert (found.level, found.title) == (Level.FAILURE, TITLE)
    assert "it remembers: calls in another order get other answers" in found.detail
    assert "random: evaluated twice" not in found.detail


@pytest.mark.slow
def test_chance_is_found_by_the_text_and_called_the_candidates(tmp_path: Path) -> None:
    found = {one.title: one for one in checked_with(SEEDS["draws numbers"], tmp_path)}
    words = (
        "the candidate itself is random, and not the evaluator: np.random.default_rng() in line 4 has no seed: write"
    )
    assert found["same score twice"].level is Level.FAILURE
    assert words in found["same score twice"].detail
    assert "of the evaluator with mode" not in found["same score twice"].detail
    assert words in found[TITLE].detail


@pytest.mark.slow
def test_chance_that_no_text_shows_is_found_by_evaluating_twice(tmp_path: Path) -> None:
    *_, found = checked_with(SEEDS["hides what it draws"], tmp_path, quick=True)
    assert (found.level, found.title) == (Level.FAILURE, TITLE)
    assert "it is random: evaluated twice, it is scored otherwise" in found.detail
    assert "np.random.default_rng(0)" in found.detail


@pytest.mark.slow
def test_chance_of_the_evaluator_is_not_blamed_on_the_heuristic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = EVALUATOR.replace(
        "    metrics, score", "    import os\n    values[0] += os.urandom(1)[0]\n    metrics, score"
    )
    monkeypatch.setitem(globals(), "EVALUATOR", noisy)
    found = {one.title: one for one in checked_with(SEEDS["honest"], tmp_path, quick=True)}
    assert found["same score twice"].level is Level.FAILURE
    assert "says whether it is the heuristic" in found["same score twice"].detail
    assert found[TITLE].level is Level.OK
    assert "what differs from one evaluation to the next comes from the evaluator" in found[TITLE].detail


def test_an_evaluator_without_checks_is_said_to_have_none(checked: Checked) -> None:
    found = about(TITLE, checked())
    assert found.level is Level.OK
    assert "this evaluator has no --check" in found.detail
