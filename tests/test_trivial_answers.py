"""Answers without any idea beat the seed heuristic of no problem: neither ours nor one made by ``oragent new``."""

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
import yaml

from oragent._base.protocol import Result, parse
from oragent._base.racing import read_instance_values
from oragent._base.statistics import Alternative, sign_flip_test
from oragent.authoring import scaffold

PROJECT = Path(__file__).parents[1]
# expressions of the shape of an answer
SHAPES = {
    "tsp_constructive": "()",
    "tsp_aco": "args[0].shape",
    "tsp_gls": "args[0].shape",
    "cvrp_aco": "args[0].shape",
    "cvrp_solver": "args[0].shape",
    "milp_branching": "args[0].shape",
    "op_aco": "args[1].shape",
    "mkp_aco": "args[0].shape",
    "bpp_offline_aco": "(len(args[0]), len(args[0]))",
    "bpp_online": "args[1].shape",
    "bpp_online_informed": "(101,)",
    "dpp_ga": "(args[1], args[0].shape[1])",
    "tsp_pomo": "tuple(args[0].shape)",
    "cvrp_pomo": "tuple(args[0].shape)",
    "tsp_lehd": "tuple(args[0].shape)",
    "cvrp_lehd": "tuple(args[0].shape)",
    "driving": "()",
    "driving_long": "()",
    "driving_stateful": "()",
}
ANSWERS = {
    "zeros": "np.zeros(SHAPE)",
    "ones": "np.ones(SHAPE)",
    "empty": "np.empty(0)",
    "none": "None",
    "random": "np.random.random(SHAPE)",
    "random numbers": "np.random.randint(0, 100, SHAPE)",
    "another random answer in each call": "np.random.default_rng(abs(hash(repr(args))) % 2**32).random(SHAPE)",
    "first argument": "args[0]",
    "first argument in shape": "np.resize(args[0], SHAPE)",
}
# actions of a vehicle, for the driving problems
ACTIONS = {
    "keep speed": ("0.0", "0"),
    "accelerate": ("99.0", "0"),
    "brake": ("-99.0", "0"),
    "accelerate and change to the left": ("99.0", "1"),
    "random acceleration": ("np.random.uniform(-5, 5)", "0"),
    "random actions": ("np.random.uniform(-5, 5)", "int(np.random.randint(-1, 2))"),
}
DRIVING = {
    "empty": "[]",
    "none": "None",
    "first argument": "args[0]",
    "second argument": "args[1]",
    **{
        name: f"[dict(veh_id=one['veh_id'], acceleration={acceleration}, lane_changing={step}) for one in args[1]]"
        for name, (acceleration, step) in ACTIONS.items()
    },
}
# answers of the default pass, which takes seconds
FEW = "zeros", "random", "first argument in shape"
# The seeds of these problems change nothing in a network, so any other answer moves the score a little, to either side:
# an answer beats a seed if the difference by instance, for these problems, is no chance at this level, shared by all answers.
CHANCE = 0.01
NETWORKS = "tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd"
TRAIN = ("--mode=train",)
# Ten instances, whose values are reported; those of train are not.
BY_INSTANCE = "--mode=val", "--problem_size=200"


def evaluate(folder: Path, candidate: Path | None, instances: tuple[str, ...] = TRAIN) -> Result | None:
    """Score a program; None if it has no score."""
    words = [sys.executable, folder / "eval.py", *instances, f"--root_dir={PROJECT}", "--heuristic_s=none"]
    words += [f"--candidate={candidate}"] if candidate else []
    ended = parse(subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder).stdout)
    return ended if isinstance(ended, Result) else None


@cache
def score_seed(folder: Path, instances: tuple[str, ...] = TRAIN) -> Result:
    seed = evaluate(folder, None, instances)
    assert seed is not None
    return seed


def is_chance(folder: Path, program: Path, sign: int, answers: int) -> bool:
    """Return True if a score that is better by chance is as likely as this one, by the signs of paired differences."""
    answer = evaluate(folder, program, BY_INSTANCE)
    assert answer is not None
    seed = score_seed(folder, BY_INSTANCE)
    first, second = (
        [value for values in (read_instance_values(result.metrics) or {}).values() for value in values]
        for result in (answer, seed)
    )
    differences = [sign * (one - other) for one, other in zip(first, second, strict=True)]
    assert 2.0 ** -len(differences) < CHANCE / answers, "too few instances to tell"
    found = sign_flip_test(differences, Alternative.GREATER)
    return found is None or found > CHANCE / answers


def expressions(folder: Path, shape: str) -> dict[str, str]:
    """Return the answers of a problem as expressions, by name."""
    name = folder.name
    if name.startswith("driving"):
        return {key: f"({text}, {{}})" if name == "driving_stateful" else text for key, text in DRIVING.items()}
    answers = {key: text.replace("SHAPE", shape) for key, text in ANSWERS.items()}
    if name.endswith(("_pomo", "_lehd")):
        return {key: f"torch.as_tensor(np.asarray({text}, dtype=np.float32))" for key, text in answers.items()}
    return answers


def check_answers(folder: Path, shape: str, tmp_path: Path, names: Iterable[str] = ()) -> None:
    about = yaml.safe_load((folder / "problem.yaml").read_text())
    for module in about.get("requires", ()):
        if module != "sumo":
            pytest.importorskip(module.partition(">")[0])
    sign = -1 if about["direction"] == "minimize" else 1
    answers = expressions(folder, shape)
    imports = "import numpy as np\n" + "import torch\n" * ("torch" in about.get("requires", ()))
    # Further functions stay those of the seed.
    for node in ast.parse((folder / "heuristic.py").read_text()).body:
        if getattr(node, "name", "") in about.get("functions", ()):
            imports += f"{ast.unparse(node)}\n"
    better, seed = {}, score_seed(folder)
    names = tuple(names or answers)
    for name in names:
        program = tmp_path / f"{name}.py"
        arguments = "args = (*args, *kwargs.values())"
        program.write_text(
            f"{imports}def {about['function']}(*args, **kwargs):\n    {arguments}\n    return {answers[name]}\n"
        )
        ended = evaluate(folder, program)
        if ended is None or sign * (ended.score - seed.score) <= 0:
            continue
        if folder.name not in NETWORKS or not is_chance(folder, program, sign, len(names)):
            better[name] = ended.score
    assert better == {}, seed.score


@pytest.mark.slow
def test_few_trivial_answers_do_not_beat_the_seed_of_tsp_constructive(tmp_path: Path) -> None:
    check_answers(PROJECT / "problems" / "tsp_constructive", SHAPES["tsp_constructive"], tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_no_trivial_answer_beats_a_seed(name: str, tmp_path: Path) -> None:
    check_answers(PROJECT / "problems" / name, SHAPES[name], tmp_path)


def test_all_problems_are_tried() -> None:
    assert {path.parent.name for path in (PROJECT / "problems").glob("*/problem.yaml")} == SHAPES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("template", ["full", "minimal"])
def test_no_trivial_answer_beats_the_seed_of_a_new_problem(template: str, tmp_path: Path) -> None:
    folder = scaffold.new("sack", tmp_path, template)
    check_answers(folder, "np.shape(args[0])", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["zeros", "ones"])
def test_crossovers_whose_children_are_repaired_have_no_score(answer: str, tmp_path: Path) -> None:
    program = tmp_path / "heuristic.py"
    program.write_text(
        f"import numpy as np\ndef crossover(parents, n_pop): return np.{answer}((n_pop, parents.shape[1]))\n"
    )
    assert evaluate(PROJECT / "problems" / "dpp_ga", program) is None
