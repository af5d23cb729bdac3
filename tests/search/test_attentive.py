"""A writer that reads its prompts is served best by those of ``or_agent``, at as many calls."""

import random
from pathlib import Path
from statistics import median

import pytest

from oragent.search.store import Store
from tests.search.attentive import LANDSCAPES, PROGRAM, SIZE, Attentive, name_numbers, played, read_place

CALLS, SEEDS = 200, 3
LEAST = 2.0  # that anybody can come to: twenty over the most effort
NEAR = 0.05  # share of the way from the seed that chance may make
SHOWN = "The program to improve, score {score}, {time}:\n```python\n{program}```\nWrite a Python block."


def written(text: str) -> str:
    return Attentive(1)._written(text, random.Random(1))


def test_the_writer_begins_from_the_best_that_it_is_shown_and_uses_the_time_that_is_left() -> None:
    program = PROGRAM.format(effort=2.0, vector=[1.0] * SIZE)
    told = SHOWN.format(score=30.0, time="CPU time of the function about 2 s", program=program)
    assert "effort = 4.0" in written(told)
    near = written(f"Where the search stands: the best score is 30 (lower is better).\n{told}")
    far = written(f"Where the search stands: the best score is 3 (lower is better).\n{told}")
    assert near != far
    assert written("Write a Python block.") != near


@pytest.mark.slow
@pytest.mark.parametrize("landscape", LANDSCAPES)
def test_or_agent_ends_no_worse_than_funsearch_and_random_at_the_same_calls(tmp_path: Path, landscape: str) -> None:
    def gone(strategy: str) -> float:
        """Share of the way from the seed to the least score, the median over seeds."""
        ended = [played(tmp_path, landscape, strategy, CALLS, seed)[1].progress for seed in range(SEEDS)]
        return median((one.seed.score - one.best.score) / (one.seed.score - LEAST) for one in ended)

    ways = {strategy: gone(strategy) for strategy in ("or_agent", "funsearch", "random")}
    assert ways["or_agent"] >= max(ways["funsearch"], ways["random"]) - NEAR, ways


@pytest.mark.slow
def test_a_writer_that_names_its_numbers_has_them_swept(tmp_path: Path) -> None:
    program = PROGRAM.format(effort=2.0, vector=[1.0, -2.5, 0.0, 3.0, 4.0, 5.0])
    assert read_place(name_numbers(program)) == read_place(program)
    folder, _ = played(tmp_path, "bowl", "or_agent", 12, 1, "or_agent.rounds=actions", sweeps=True)
    with Store(folder.database, readonly=True) as store:
        assert store.experiments()[0] > 20
        assert any(record.candidate.origin == "tune" for record in store.records())
