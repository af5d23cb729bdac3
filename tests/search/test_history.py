"""What a round gained, and an archive replayed over its rounds."""

import asyncio
from dataclasses import replace

import pytest

from oragent.evaluation.pool import JobPool
from oragent.report.run import load_run
from oragent.search.archive import replay_archive, success_rate
from oragent.search.candidate import Committed
from oragent.search.config import archive_policy
from oragent.search.engine import Engine
from oragent.search.store import Store
from tests.search.test_engine import climb, scored
from tests.search.test_funsearch import record


def child(name: str, score: float, *parents: str) -> Committed:
    made = record(name, score)
    return replace(made, candidate=replace(made.candidate, parents=parents))


SEED = [record("0.0", 9.0)]


def test_a_step_beyond_all_parents_counts_and_others_do_not() -> None:
    first = [child("1.0", 5.0, "0.0"), child("1.1", 9.5, "0.0"), child("1.2", 8.0)]
    assert success_rate([SEED, first], lambda score: -score) == 2 / 3  # without parents, the seed is to beat
    second = [child("2.0", 6.0, "0.0", "1.0"), child("2.1", 4.0, "1.1", "1.0")]
    assert success_rate([SEED, first, second], lambda score: -score) == 1 / 2
    assert success_rate([SEED, first, second], lambda score: score) == 0


def test_a_round_without_candidates_and_the_seed_gain_nothing() -> None:
    assert success_rate([SEED, []], lambda score: -score) == 0
    assert success_rate([SEED], lambda score: -score) == 0


def test_parents_of_the_same_round_are_found() -> None:
    latest = [child("1.0", 5.0, "0.0"), child("1.1", 4.0, "1.0")]
    assert success_rate([SEED, latest], lambda score: -score) == 1


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), ("archive.reset_period=5",), ("archive.reset_period=4", "archive.islands=3")])
def test_the_archive_replayed_from_what_was_committed_is_the_one_that_the_engine_held(begun, settings: tuple) -> None:
    folder, engines = begun("budget.evaluations=60", "archive.migration_period=3", *settings), []
    pool = JobPool(2, scored)
    with Store(folder.database) as store:
        engines.append(Engine(folder, store, pool, climb))
        asyncio.run(engines[0].run())
        held = engines[0]._archive
        again = replay_archive(archive_policy(folder.config, held.direction), store.records(), len(store.rounds()))
    pool.close()
    assert again.best == held.best
    for island in range(held.islands):
        assert again.ranked(island) == held.ranked(island)
    assert load_run(folder.path).islands == tuple(
        tuple(
            record for elite in held.ranked(island) for record in load_run(folder.path).records if record.id == elite.id
        )
        for island in range(held.islands)
    )
