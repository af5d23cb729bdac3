"""Tasks whose candidate solves whole instances: CO-Bench and HeuriGym."""

import json
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from oragent._base.errors import CandidateError, OragentError, ProblemError
from oragent._base.protocol import Status
from oragent._base.racing import BY_INSTANCE
from oragent._base.text_format import one_line
from oragent.harness.framework_modules import load_module

# Folders of CO-Bench and HeuriGym with the data, and the sets of HeuriGym.
DATA, DATASET, DEMO, EVAL = "data", "dataset", "demo", "eval"
BASELINE = Path("baseline", "baseline.json")
MAX_MESSAGE = 200
Scores = dict[str, tuple[list[Any], str | None]]
# Function that runs the candidate: paths of inputs and output as the candidate sees them, and contents of the inputs.
RunOnFiles = Callable[[Sequence[str], Mapping[str, bytes]], bytes]


def score_cases(config: ModuleType, data: Path, solve: Callable[..., Any], mode: str) -> dict[str, Any]:
    """Return the mean score over the cases of a task of CO-Bench, as its framework computes it, and that of each case.

    Args:
        config: Module of the task.
        data: Folder with its cases.
        solve: The candidate.
        mode: ``test`` for the instances that are not in the development set, else the development set.

    Raises:
        ProblemError: There are no cases.
        CandidateError: The candidate failed.
    """
    names = sorted(path.name for path in data.iterdir() if path.suffix != ".py" and path.name != "__pycache__")
    development = getattr(config, "get_dev", lambda: None)()
    results: Scores = {}
    for name in names:
        instances = config.load_data(str(data / name))
        chosen = _choose(development, name, len(instances), is_test=mode == "test")
        results[name] = (
            [
                _score_instance(config, instance, solve) if number in chosen else "not chosen"
                for number, instance in enumerate(instances)
            ],
            None,
        )
    normed: Scores = getattr(config, "norm_score", lambda values: values)(results)
    by_file: dict[str, list[float]] = {}
    errors = []
    for name, (scores, error) in normed.items():
        chosen = _choose(development, name, len(scores or ()), is_test=mode == "test")
        if not chosen:
            continue
        own = [scores[number] for number in sorted(chosen)]
        by_file[name] = [0.0 if error or isinstance(value, str) else float(value) for value in own]
        errors += [value for value in own if isinstance(value, str)]
    if not by_file:
        raise ProblemError(f"{data} has no instances for mode {mode}")
    count = sum(map(len, by_file.values()))
    if errors:
        print(f"instances without a score: {len(errors)} of {count}; the first: {errors[0]}")
    means = [sum(values) / len(values) for values in by_file.values()]
    score = sum(means) / len(means)
    return {"combined_score": score, "instances": count, "without_score": len(errors), BY_INSTANCE: by_file}


def _choose(development: Any, name: str, count: int, *, is_test: bool) -> Collection[int]:
    """Return the numbers of a case's instances that are in the set."""
    if development is None:
        return range(count)
    own = set(development[name] or [0]) if name in development else set()
    return {number for number in range(count) if (number in own) != is_test}


def _score_instance(config: ModuleType, instance: Mapping[str, Any], solve: Callable[..., Any]) -> Any:
    """Return the score of an instance, or a text if the solution is not valid."""
    try:
        solution = {str(key): value for key, value in solve(**instance).items()}
        return config.eval_func(**instance, **solution)
    except OragentError:
        raise
    except Exception as problem:
        return one_line(f"Exception: {problem}", MAX_MESSAGE)


def score_files(evaluator: ModuleType, task: Path, run: RunOnFiles, mode: str) -> dict[str, Any]:
    """Return the quality-yield index of a task of HeuriGym, or the mean cost without the costs of experts.

    Args:
        evaluator: Module with ``evaluate``; ``verifier.py`` is in the same folder.
        task: Folder of the task.
        run: The candidate.
        mode: ``test`` for the set ``eval``, else the set ``demo``, or all instances if there are no sets.

    Raises:
        ProblemError: There are no instances.
        CandidateError: The candidate failed, or no solution is valid.
    """
    folder = Path(str(evaluator.__file__)).parent
    verify = load_module("verifier", folder / "verifier.py").verify
    metric = load_module("metric", folder / "metric.py") if (folder / "metric.py").is_file() else None
    normalise = getattr(metric, "normalize_score", _normalise_score)
    experts: Mapping[str, float] = {}
    has_experts = (task / BASELINE).is_file()
    if has_experts:
        experts = json.loads((task / BASELINE).read_text(encoding="utf-8")) or {}
    costs, problem = {}, ""
    groups = find_instances(task, mode)
    if has_experts and (unknown := [name for name in groups if name not in experts]):
        # Without it the score would be a cost, which is minimised.
        raise ProblemError(f"{BASELINE} has no cost of {unknown[0]}: add it, or import the task without that file")
    for name, paths in groups.items():
        is_valid, reason, cost = _score_output(evaluator, verify, paths, name, run)
        if is_valid:
            costs[name] = float(cost)
        else:
            problem = problem or f"{name}: {reason}"
    if not costs or (len(costs) < len(groups) and not has_experts):
        raise CandidateError(one_line(f"the solution is not valid: {problem}", MAX_MESSAGE), Status.INVALID)
    mean = sum(costs.values()) / len(costs)
    if not has_experts:
        return {"combined_score": mean, "instances": len(groups), BY_INSTANCE: {"all": list(costs.values())}}
    values = [normalise(cost, experts[name]) for name, cost in costs.items()]
    quality = math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0
    share = len(costs) / len(groups)
    index = 2 * quality * share / (quality + share)
    return {"combined_score": index, "quality": quality, "yield": share, "mean_cost": mean, "instances": len(groups)}


def find_instances(task: Path, mode: str) -> dict[str, list[Path]]:
    """Return the files of each instance of a task of HeuriGym, by their common name.

    Raises:
        ProblemError: There are none.
    """
    base = task / DATASET
    folder = base / (EVAL if mode == "test" else DEMO)
    if not folder.is_dir():
        folder = base
    groups: dict[str, list[Path]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"):
        groups.setdefault(path.stem, []).append(path)
    if not groups:
        raise ProblemError(f"{folder} has no instances")
    return groups


def _score_output(
    evaluator: ModuleType, verify: Callable[..., Any], paths: Sequence[Path], name: str, run: RunOnFiles
) -> tuple[bool, str, float]:
    contents = {f"input/{path.name}": path.read_bytes() for path in paths}
    content = run((*contents, f"output/{name}.output"), contents)
    output = Path.cwd() / f"{name}.output"
    output.write_bytes(content)
    inputs = [str(path) for path in paths]
    try:
        is_valid, reason = verify(*inputs, str(output))
        cost = evaluator.evaluate(*inputs, str(output)) if is_valid else math.inf
    except OragentError:
        raise
    except (Exception, SystemExit) as problem:
        is_valid, reason, cost = False, f"{type(problem).__name__}: {problem}", math.inf
    print(f"{name}: {cost} {reason}", file=sys.stderr)
    return bool(is_valid) and math.isfinite(cost), str(reason), cost


def _normalise_score(score: float, baseline: float) -> float:
    """Return the cost of the expert as a share of the cost, at most 1."""
    if baseline == 0:
        baseline = 1e-6
    elif score == 0:
        score = 1e-6
    return min(1.0, baseline / score)
