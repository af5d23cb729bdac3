"""Figures that ``run`` and ``eval`` print, against the best program executed again outside of oragent."""

import os
import re
from pathlib import Path

import pytest

from tests.conftest import EVALUATOR, write_toy
from tests.forked import command

NUMBER = r"-?\d+\.?\d*"
# Score of a guess, by direction.
SCORES = {"minimize": lambda guess: abs(100 - guess), "maximize": lambda guess: 50 - abs(100 - guess)}


def oragent(folder: Path, *words: object) -> tuple[int, str]:
    """Exit code and output of a command."""
    done = command([*map(str, words)], folder, {**os.environ, "COLUMNS": "120"})
    return done.returncode, done.stdout


def execute(path: Path) -> float:
    """What the function of a program returns for 3."""
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["guess"](3)


def figures(text: str, name: str) -> list[float]:
    """The numbers of the line that begins with a name."""
    (line,) = [line.strip() for line in text.splitlines() if re.match(rf"\s*{name}\s", line)]
    return [float(word) for word in re.findall(rf"(?<![\w/-]){NUMBER}", line.partition(" ")[2])]


@pytest.mark.parametrize("evaluations", [1, 6])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_run_prints_the_scores_of_its_seed_and_of_its_best_program(
    direction: str, evaluations: int, tmp_path: Path
) -> None:
    folder = write_toy(tmp_path)
    description = folder / "problem.yaml"
    description.write_text(description.read_text().replace("direction: minimize", f"direction: {direction}"))
    if direction == "maximize":
        (folder / "eval.py").write_text(EVALUATOR.replace("abs(100 - value)", "50 - abs(100 - value)"))
    score = SCORES[direction]
    code, text = oragent(tmp_path, "run", "toy", "--evaluations", evaluations)
    assert code == 0
    (run,) = (tmp_path / "outputs" / "toy").iterdir()
    seed, best = score(execute(folder / "heuristic.py")), score(execute(run / "best.py"))
    assert figures(text, "seed")[0] == pytest.approx(seed, rel=1e-3)
    printed = figures(text, "best")
    assert printed[0] == pytest.approx(best, rel=1e-3)
    assert best <= seed if direction == "minimize" else best >= seed
    if best != seed:
        assert printed[1:3] == pytest.approx([abs(best - seed), 100 * abs(best - seed) / abs(seed)], rel=5e-3)
        assert ("lower" if best < seed else "higher") in next(
            line for line in text.splitlines() if line.startswith("best")
        )
    assert figures(text, "spent")[0] == evaluations
    code, text = oragent(tmp_path, "eval", "toy", "--candidate", run / "best.py")
    assert code == 0
    assert figures(text, "score")[0] == pytest.approx(best, rel=1e-3)
