"""Wrong answers that a check makes from answers of the seed of any type."""

from collections.abc import Iterator

from oragent._base.protocol import Status
from oragent.authoring.bench import ContractFinding, Level, ScoringBench, Seed
from oragent.evaluation import Evaluation
from oragent.programs.multi_file import with_main

# Changes of an answer that leave it plausible, by name.
PLAUSIBLE = {
    "twice": "returns an item twice",
    "missing": "leaves an item out",
    "swapped": "swaps two items",
}
# Message of an answer without items.
NO_ITEMS = "an answer without items"
# Text added to the seed for a candidate. `_spoil` changes an answer of the seed according to its type.
SPOILING = """
import copy as _copy

import numpy as _np


def _spoil(value, kind):
    if isinstance(value, _np.ndarray):
        return _spoil_array(value, kind)
    if type(value).__module__ == "torch":
        return type(value)(_spoil_array(value.detach().cpu().numpy(), kind))
    if isinstance(value, dict):
        return _spoil_dict(dict(value), kind)
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value)(_spoil_list(list(value), kind))
    if kind == "nan":
        return float("nan")
    if kind == "shape":
        return [value, value]
    raise LookupError("{no_items}")


def _spoil_array(value, kind):
    if kind == "nan":
        return value.astype(float) * float("nan")
    if kind == "shape":
        return _np.append(_np.ravel(value), 0)
    rows = list(value) if value.ndim else []
    return _np.array(_spoil_list(rows, kind))


def _spoil_dict(value, kind):
    if not value:
        raise LookupError("{no_items}")
    first = next(iter(value))
    if kind in ("shape", "missing"):
        del value[first]
    else:
        value[first] = _spoil(value[first], kind)
    return value


def _spoil_list(value, kind):
    if kind == "nan":
        return [_spoil(part, kind) for part in value] or [float("nan")]
    if kind == "shape":
        return [*value, value[-1]] if value else [0]
    inner = next((at for at, part in enumerate(value) if isinstance(part, (list, tuple)) and len(part) > 1), None)
    if inner is not None:
        value[inner] = type(value[inner])(_spoil_list(list(value[inner]), kind))
        return value
    if len(value) < 2:
        raise LookupError("{no_items}")
    if kind == "missing":
        return value[:-1]
    value = [_copy.deepcopy(part) for part in value]
    if kind == "twice":
        value[-1] = _copy.deepcopy(value[0])
    else:
        value[0], value[-1] = value[-1], value[0]
    return value
""".replace("{no_items}", NO_ITEMS)
WRAPPED = """{seed}
{spoiling}

_wrapped = {function}


def {function}(*args, **kwargs):
    return _spoil(_wrapped(*args, **kwargs), "{kind}")
"""


def spoil_seed(bench: ScoringBench, kind: str) -> str:
    """Return a candidate whose answers are those of the seed with one change."""
    problem = bench.problem
    return with_main(
        problem.seed,
        problem.about.candidate.names,
        lambda text: WRAPPED.format(seed=text, spoiling=SPOILING, function=problem.about.function, kind=kind),
    )


def check_wrong_answers(bench: ScoringBench, seed: Seed) -> Iterator[ContractFinding]:
    """Score plausible wrong answers in mode train. Those that score better than the seed are warnings."""
    for kind, name in PLAUSIBLE.items():
        ended = bench.run(spoil_seed(bench, kind), mode="train", cpu_s=seed.patience_s)
        yield _judge_answer(bench, seed, f"candidate that {name}", ended)


def _judge_answer(bench: ScoringBench, seed: Seed, title: str, ended: Evaluation) -> ContractFinding:
    direction = bench.problem.about.direction
    if ended.score is None:
        if ended.status is Status.ERROR and NO_ITEMS in ended.message:
            return ContractFinding(Level.OK, title, "does not apply: the seed's answers have no items")
        return ContractFinding(Level.OK, title, f"no score, {ended.status}: {ended.message}")
    reference = seed.train.score or 0.0
    scores = f"score {ended.score:.6g}, the seed {reference:.6g}"
    if direction.fitness(ended.score) > direction.fitness(reference):
        advice = "if this answer is wrong, the evaluator must refuse it: check the solution before it is measured"
        return ContractFinding(Level.WARNING, title, f"better than the seed: {scores}; {advice}")
    return ContractFinding(Level.OK, title, f"no better than the seed: {scores}")
