"""Tuning between rounds: within its share, of programs that were not tuned, beside any strategy."""

import pytest

from oragent.search.genetics.breeding import breed
from oragent.search.store import Store
from oragent.search.strategies.scripted import player
from oragent.search.strategies.tuned import COST, TUNED, period
from tests.search.players import search


def read(folder) -> tuple[list, list[str]]:
    with Store(folder.database, readonly=True) as store:
        return store.records(), [note.text for note in store.notes() if note.kind == TUNED]


@pytest.mark.parametrize("strategy", ["gp", "eoh"])
def test_constants_of_the_best_are_tuned_within_the_share(begun, strategy: str) -> None:
    settings = (f"strategy.name={strategy}", "model.name=m", "budget.evaluations=90", "strategy.tuning=0.3")
    folder = begun(*settings, "archive.population=6")
    search(folder, player(1, breed))
    records, tuned = read(folder)
    made = [one for one in records if one.candidate.origin == "tune"]
    assert tuned
    assert len(tuned) == len(set(tuned))  # none has two turns
    assert COST - 2 <= len(made) <= 0.3 * 90 + COST
    assert all(one.round % period(0.3) == 0 for one in made)
    assert {one.round for one in records if one.candidate.origin != "tune"} >= {1, 2, 3}


def test_a_stopped_run_tunes_nothing_twice(begun) -> None:
    settings = ("strategy.name=gp", "budget.evaluations=60", "strategy.tuning=0.3")
    whole, parts = begun(*settings), begun(*settings)
    search(whole, None)
    told: list[int] = []

    def built(engine) -> None:
        engine._observer = lambda progress: told.append(1) or (len(told) == period(0.3) + 1 and engine.stop("test"))

    search(parts, None, built=built)
    search(parts, None)
    assert [one.source for one in read(parts)[0]] == [one.source for one in read(whole)[0]]
    assert read(parts)[1] == read(whole)[1]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
def test_the_period_keeps_to_the_share(share: float) -> None:
    assert COST / (COST + period(share) - 1) <= share
