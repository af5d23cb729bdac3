"""What a round gained."""

from dataclasses import replace

from oragent.search.candidate import Committed
from oragent.search.history import credit
from tests.search.test_funsearch import record


def child(name: str, score: float, *parents: str) -> Committed:
    made = record(name, score)
    return replace(made, candidate=replace(made.candidate, parents=parents))


SEED = [record("0.0", 9.0)]


def test_a_step_beyond_all_parents_counts_and_others_do_not() -> None:
    first = [child("1.0", 5.0, "0.0"), child("1.1", 9.5, "0.0"), child("1.2", 8.0)]
    assert credit([SEED, first], lambda score: -score) == 2 / 3  # without parents, the seed is to beat
    second = [child("2.0", 6.0, "0.0", "1.0"), child("2.1", 4.0, "1.1", "1.0")]
    assert credit([SEED, first, second], lambda score: -score) == 1 / 2
    assert credit([SEED, first, second], lambda score: score) == 0


def test_a_round_without_candidates_and_the_seed_gain_nothing() -> None:
    assert credit([SEED, []], lambda score: -score) == 0
    assert credit([SEED], lambda score: -score) == 0


def test_parents_of_the_same_round_are_found() -> None:
    latest = [child("1.0", 5.0, "0.0"), child("1.1", 4.0, "1.0")]
    assert credit([SEED, latest], lambda score: -score) == 1
