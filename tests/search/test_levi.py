"""LEVI: which tests are faithful, which cells there are, who writes what, and what a proxy spares."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.search.store import Store
from oragent.search.strategies.levi import (
    ADVICE,
    SEED,
    Cells,
    count_syntax,
    find_centroids,
    rank_agreement,
    rank_faithful,
)
from tests.search.test_engine import scored
from tests.search.test_rivals import records, search, settings
from tests.search.writer import Writer

TABLES = arrays(float, st.tuples(st.integers(2, 5), st.integers(1, 5)), elements=st.integers(-9, 9))
SMALL = ("seeds=2", "variants=3", "shift=4", "advice=9")


def options(*own: str) -> tuple[str, ...]:
    return tuple(f"strategy.options.{one}" for one in (*SMALL, *own))


@given(arrays(float, st.tuples(st.just(2), st.integers(2, 6)), elements=st.integers(-99, 99), unique=True))
def test_without_ties_agreement_is_kendalls_tau_on_another_scale(pair: np.ndarray) -> None:
    tau = kendalltau(pair[0], pair[1]).statistic
    assert rank_agreement(*pair.tolist()) == pytest.approx((tau + 1) / 2)


def test_ties_count_half_where_one_ranking_has_them_and_whole_where_both_do() -> None:
    assert rank_agreement([1, 1], [2, 2]) == 1.0
    assert rank_agreement([1, 1], [2, 3]) == rank_agreement([2, 3], [1, 1]) == 0.5
    assert rank_agreement([1], [2]) == 1.0


def worth(table: np.ndarray, columns: tuple[int, ...]) -> float:
    """The published objective, written down from its formula."""
    spread = table.std(axis=0)
    apart = spread[list(columns)].mean() / spread.max() if spread.max() > 0 else 0.0
    ranks = rank_agreement(table.mean(axis=1).tolist(), table[:, list(columns)].mean(axis=1).tolist())
    similar = []
    for other in columns[:-1]:
        one, two = table[:, columns[-1]], table[:, other]
        flat = min(one.std(), two.std()) == 0
        similar.append(float(np.array_equal(one, two)) if flat else abs(np.corrcoef(one, two)[0, 1]))
    return 0.5 * ranks + 0.5 * apart - 0.15 * (np.mean(similar) if similar else 0.0)


@given(TABLES, st.integers(1, 4))
def test_each_test_that_is_chosen_is_worth_most_beside_those_before(table: np.ndarray, count: int) -> None:
    chosen = rank_faithful(table, count)
    assert len(chosen) == len(set(chosen)) == min(count, table.shape[1])
    for place, column in enumerate(chosen):
        before = tuple(chosen[:place])
        most = max(worth(table, (*before, other)) for other in range(table.shape[1]) if other not in before)
        assert worth(table, (*before, column)) == pytest.approx(most)


def test_counts_are_those_of_the_syntax_or_of_words() -> None:
    source = (
        "def f(x):\n    for i in range(3):\n        while x > 1:\n            x = x / 2 + i\n    return x if x else 0\n"
    )
    assert count_syntax(source) == (2.0, 1.0, 2.0, 2.0)
    assert count_syntax("int f(int x) { for (;;) if (x) x = x * 2; }") == (1.0, 1.0, 1.0, 0.0)


POINTS = arrays(float, st.tuples(st.integers(1, 12), st.just(2)), elements=st.sampled_from([0.0, 0.2, 0.7, 1.0]))


@given(POINTS, st.integers(1, 5))
def test_clusters_are_no_more_than_wanted_and_no_worse_than_one(points: np.ndarray, most: int) -> None:
    found = find_centroids(points, most)
    assert len(found) == min(most, len(np.unique(points, axis=0)))
    cost = ((points[:, None] - found[None]) ** 2).sum(axis=2).min(axis=1).sum()
    assert cost <= ((points - points.mean(axis=0)) ** 2).sum() + 1e-9


def test_every_program_has_a_cell_and_equal_counts_the_same() -> None:
    sources = [f"def f(x):\n    return {' + '.join(['x'] * number)}\n" for number in range(1, 9)]
    cells = Cells.of(sources, 3)
    assert len(cells.centroids) == 3
    assert {cells.cell(source) for source in sources} == {0, 1, 2}
    assert cells.cell(sources[0]) == cells.cell("def f(y):\n    return y\n")


class Varied(Writer):
    """As a large model it writes programs of several shapes."""

    def _answer(self, text: str, rng: random.Random) -> str:
        number = rng.randrange(200)
        shapes = (f"return {number} + x", f"for i in range(2):\n        x = x + {number}\n    return x")
        shape = shapes["```python" in text]
        if "another algorithm than every" in text or "paradigm that none" in text:
            return f"```python\ndef guess(x):\n    {shape}\n```"
        return super()._answer(text, rng)


@pytest.mark.slow
def test_the_large_model_writes_seeds_and_new_paradigms_and_the_small_one_the_rest(begun) -> None:
    model, folder = Varied(), begun(*settings("levi", *options(), "strategy.window=1", evaluations=60))
    search(folder, model)
    known = records(folder)
    origins = Counter(one.candidate.origin for one in known)
    assert origins["code"] > 2 * origins["idea"] > 4
    with Store(folder.database, readonly=True) as store:
        notes = store.notes()
    assert len([note for note in notes if note.kind == SEED]) == 2
    first = 1 + 6
    turns = {one.round for one in known if one.candidate.origin == "idea" and one.round > first}
    assert all((number - first) % 4 == 0 for number in turns)
    refined = [one for one in known if one.round in turns and one.candidate.origin == "code"]
    assert 0 < max(Counter(one.round for one in refined).values()) <= 3
    advice = [note.text for note in notes if note.kind == ADVICE]
    assert advice
    assert any(words in prompt for words in advice for prompt in model.prompts("code"))
    seeds = [prompt for prompt in model.prompts("idea") if "another algorithm than every program" in prompt]
    assert seeds[0].count("```python") == 0
    assert seeds[-1].count("```python") == 1


def test_a_seed_that_fails_is_asked_for_again_with_its_error(begun) -> None:
    class Clumsy(Writer):
        def _answer(self, text: str, rng: random.Random) -> str:
            body = "x + 1" if "last attempt failed" in text else "1 / 0"
            return f"```python\ndef guess(x):\n    return {body} + {rng.random()}\n```"

    model = Clumsy()
    search(begun(*settings("levi", *options(), "strategy.window=1", evaluations=12)), model)
    prompts = model.prompts("idea")[:4]
    assert ["division by zero" in prompt for prompt in prompts] == [False, True, False, True]


def sized(job: Job) -> Evaluation:
    """An evaluator of two sizes; the larger one decides."""
    found = scored(job)
    if found.score is None:
        return found
    figures = {"length_5": 1 + found.score / 10, "length_9": 1 + found.score}
    asked = {f"length_{job.problem_size}": figures[f"length_{job.problem_size}"]} if job.problem_size else figures
    return Evaluation(Status.OK, float(np.mean(list(asked.values()))), metrics=asked, wall_s=0.001)


@pytest.mark.slow
def test_a_proxy_spares_the_other_sizes_for_what_is_far_behind_its_cell(begun, toy: Path) -> None:
    about = (toy / "problem.yaml").read_text().replace("features:", "sizes: {val: [5, 9]}\nunused:").split("unused:")[0]
    (toy / "problem.yaml").write_text(about)
    jobs: list[tuple[int | None, str]] = []

    def noted(job: Job) -> Evaluation:
        jobs.append((job.problem_size, job.source))
        return sized(job)

    folder = begun(*settings("levi", *options("proxy=true", "slack=0.3"), "strategy.window=1", evaluations=50))
    search(folder, run=noted, workers=1)
    quick = {source for size, source in jobs if size == 9 and "1 / 0" not in source}  # a failure is one anywhere
    full = {source for size, source in jobs if size is None}
    assert not [size for size, _ in jobs if size == 5]  # the size that orders the first programs as both do
    assert quick
    assert quick - full
    screened = [one for one in records(folder) if one.candidate.evaluation.status is Status.SCREENED]
    assert {one.source for one in screened} == quick - full
    assert all("at size 9" in one.candidate.evaluation.message for one in screened)
    plain = begun(*settings("levi", *options(), evaluations=20))
    jobs.clear()
    search(plain, run=noted)
    assert {size for size, _ in jobs} == {None}
