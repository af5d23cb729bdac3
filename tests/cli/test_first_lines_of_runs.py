"""Figures that ``run`` and ``eval`` print, against the best program executed again outside of oragent."""

import os
import re
import statistics
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


@pytest.mark.parametrize("direction", ["minimize", pytest.param("maximize", marks=pytest.mark.slow)])
def test_a_comparison_has_the_means_and_the_difference_of_the_best_programs(direction: str, tmp_path: Path) -> None:
    """Executed again: the mean and the deviation of each strategy, and which of both is better."""
    folder = write_toy(tmp_path)
    description = folder / "problem.yaml"
    description.write_text(description.read_text().replace("direction: minimize", f"direction: {direction}"))
    if direction == "maximize":
        (folder / "eval.py").write_text(EVALUATOR.replace("abs(100 - value)", "50 - abs(100 - value)"))
    words = ("--strategies", "gp,hill_climb", "--model", "scripted", "--seeds", 2, "--evaluations", 4, "--outputs", "c")
    code, text = oragent(tmp_path, "compare", "toy", *words, "--yes")
    assert code == 0
    scores = {
        strategy: [
            SCORES[direction](execute(path)) for path in sorted((tmp_path / "c").glob(f"*/*/*-{strategy}/best.py"))
        ]
        for strategy in ("gp", "hill_climb")
    }
    lines = [line.strip() for line in text.splitlines()]
    for strategy, values in scores.items():
        assert len(values) == 2
        row = next(line for line in lines if re.match(rf"{strategy} +2 ", line))
        runs, mean, deviation = (float(word) for word in re.findall(NUMBER, row)[:3])
        assert (runs, mean) == (2, pytest.approx(statistics.mean(values), rel=1e-4))
        assert deviation == pytest.approx(statistics.stdev(values), abs=0.01)
    row = next(line for line in lines if re.match(r"hill_climb [−-] gp +val ", line))
    difference = statistics.mean(scores["hill_climb"]) - statistics.mean(scores["gp"])
    assert float(re.findall(rf"val +([+-]?{NUMBER})", row)[0]) == pytest.approx(difference, rel=2e-3)
    is_better = difference < 0 if direction == "minimize" else difference > 0
    assert ("(better)" in row) is is_better
    # Two pairs of runs cannot show a difference.
    assert "no difference shown" in row
    # The held-out set of this problem is the same call, so that both sets have one figure for seed and best program.
    (run,) = (tmp_path / "c/seed0/toy").glob("*-hill_climb")
    code, text = oragent(tmp_path, "report", run, "--test")
    assert code == 0
    seed, best = SCORES[direction](execute(folder / "heuristic.py")), SCORES[direction](execute(run / "best.py"))
    for name in ("val", "test"):
        row = re.search(rf"^{name} +({NUMBER}) +({NUMBER})$", text, re.MULTILINE)
        assert row is not None
        assert [float(row[1]), float(row[2])] == pytest.approx([seed, best], rel=1e-4)
    held_out = next(line for line in text.splitlines() if line.startswith("held out"))
    gain, percent = (
        float(number) for number in re.findall(rf"is ({NUMBER}) \w+ than the seed \(({NUMBER}) %\)", held_out)[0]
    )
    assert (gain, percent) == pytest.approx((abs(best - seed), 100 * abs(best - seed) / abs(seed)), rel=2e-2)
    assert ("lower" in held_out) is (best < seed)
