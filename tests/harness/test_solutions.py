"""Solutions are drawn only on request, the first of each size, and only once all checks have passed."""

import subprocess
import sys
from pathlib import Path

import pytest

from oragent.harness.solutions import MAX_OF_SIZE, MAX_SOLUTIONS, SolutionAlbum

EVALUATOR = """
from oragent.harness import CandidateError, Result, each, figures, run

def evaluate(arguments, guess):
    values = {10: []}
    for size, index, target in each(guess, {10: [1, 2, 3, 4]}, values):
        answer = float(guess(target))
        if answer < 0:
            raise CandidateError("negative", "invalid")
        values[size].append(answer)
        guess.show(target, answer, answer)
    metrics, score = figures("value", values)
    return Result(metrics, None, score)

run(evaluate, function="guess", sizes={"train": (10,), "val": (10,)}, draw=lambda target, answer: f"{target} {answer}")
"""


def evaluated(folder: Path, program: str, *options: str) -> tuple[str, list[str]]:
    """Output of the evaluator, and the names of the pictures that it wrote."""
    (folder / "eval.py").write_text(EVALUATOR)
    (folder / "heuristic.py").write_text(program)
    command = [sys.executable, "eval.py", f"--file_output_prefix={folder}/out_", *options]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return ended.stdout, sorted(path.name for path in folder.glob("*.svg"))


@pytest.mark.slow
def test_the_first_of_each_size_are_drawn_on_request(tmp_path: Path) -> None:
    program = "def guess(x):\n    return x * 2\n"
    assert evaluated(tmp_path, program)[1] == []
    output, names = evaluated(tmp_path, program, "--draw_solutions")
    assert names == [f"out_size_10_instance_{index}.svg" for index in range(3)]
    assert (tmp_path / names[1]).read_text() == "2 4.0"
    assert "'size_10_instance_2': 6.0" in output


def test_nothing_is_drawn_of_a_program_that_fails_later(tmp_path: Path) -> None:
    output, names = evaluated(tmp_path, "def guess(x):\n    return 3 - x\n", "--draw_solutions")
    assert '"status": "invalid"' in output
    assert names == []


@pytest.mark.parametrize(("sizes", "each_size"), [(1, MAX_OF_SIZE), (2, 3), (3, 2), (6, 1), (9, 1)])
def test_there_are_at_most_six(tmp_path: Path, sizes: int, each_size: int) -> None:
    album = SolutionAlbum(lambda instance, solution: "", sizes)
    for size in range(sizes):
        for index in range(9):
            album.add(f"size {size}, instance {index}", None, None, index)
    assert len(album.write(f"{tmp_path}/")) == min(MAX_SOLUTIONS, sizes * each_size)


def test_instances_without_a_name_are_numbered(tmp_path: Path) -> None:
    album = SolutionAlbum(lambda instance, solution: "", 1)
    album.add("", None, None, 1)
    album.add("../x", None, None, 2)
    album.add("", None, None, 3)
    assert album.write(f"{tmp_path}/") == {"instance_0": 1.0, "x": 2.0, "instance_2": 3.0}
