"""Wrong answers made from those of the seed: they fit its type, and one that scores better is shown."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent._base.protocol import Status
from oragent.authoring import Level
from oragent.authoring.bench import ScoringBench, Seed
from oragent.authoring.wrong_answers import NO_ITEMS, SPOILING, check_wrong_answers
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.problem import load_problem
from oragent.search.genetics.variation import child_of_seed

WORTH = [5.0, 9.0, 2.0]


def spoil(value: Any, kind: str) -> Any:
    names: dict[str, Any] = {}
    exec(SPOILING, names)
    return names["_spoil"](value, kind)


@pytest.mark.parametrize(
    ("value", "twice", "missing", "swapped"),
    [
        ([4, 5, 6], [4, 5, 4], [4, 5], [6, 5, 4]),
        ((4, 5, 6), (4, 5, 4), (4, 5), (6, 5, 4)),
        ([[0], [1, 2, 3]], [[0], [1, 2, 1]], [[0], [1, 2]], [[0], [3, 2, 1]]),
        ({"a": [1, 2], "b": 3}, {"a": [1, 1], "b": 3}, {"b": 3}, {"a": [2, 1], "b": 3}),
    ],
)
def test_answers_keep_their_type(value: Any, twice: Any, missing: Any, swapped: Any) -> None:
    before = repr(value)
    assert [spoil(value, kind) for kind in ("twice", "missing", "swapped")] == [twice, missing, swapped]
    assert repr(value) == before


def test_arrays_stay_arrays_and_numbers_have_no_items() -> None:
    array = np.array([3, 1, 2])
    assert spoil(array, "twice").tolist() == [3, 1, 3]
    assert spoil(array, "missing").tolist() == [3, 1]
    assert np.isnan(spoil(array, "nan")).all()
    assert spoil(np.zeros((2, 2)), "shape").shape == (5,)
    assert spoil(2.0, "shape") == [2.0, 2.0]
    assert np.isnan(spoil([[1.0], 2.0], "nan")[0]).all()
    for value in (3.5, [7], {}, np.array(4.0)):
        with pytest.raises(LookupError, match=NO_ITEMS):
            spoil(value, "twice")


def lenient(job: Job) -> Evaluation:
    """Add up what the answer names, without a check that items differ."""
    names: dict[str, Any] = {}
    try:
        exec(job.source, names)
        answer = names["choose"](WORTH)
        return Evaluation(Status.OK, sum(WORTH[item] for item in answer))
    except Exception as problem:
        return Evaluation(Status.ERROR, message=f"{type(problem).__name__}: {problem}")


@pytest.mark.parametrize(
    ("answer", "levels"),
    [
        ("[1, 0]", [Level.WARNING, Level.OK, Level.OK]),
        ("[0, 1]", [Level.OK, Level.OK, Level.OK]),
        ("7", [Level.OK] * 3),
    ],
)
def test_only_an_answer_that_scores_better_than_the_seed_is_shown(
    tmp_path: Path, answer: str, levels: list[Level]
) -> None:
    texts = {
        "problem.yaml": "title: t\ndescription: d\nfunction: choose\n",
        "heuristic.py": f"def choose(worth):\n    return {answer}\n",
        "eval.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    bench = ScoringBench(load_problem(tmp_path), tmp_path, 10.0, child_of_seed, lenient)
    seed = Seed(Evaluation(Status.OK, 14.0), Evaluation(Status.OK, 14.0))
    findings = list(check_wrong_answers(bench, seed))
    assert [finding.level for finding in findings] == levels
    if answer == "[1, 0]":
        assert "18" in findings[0].detail
