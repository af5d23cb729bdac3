"""On fresh sets of online packing, programs that try to know later items are never better than their honest part."""

import os
import secrets
from collections.abc import Iterator

import pytest

from oragent.evaluation import EvaluationRunner
from tests.channels.fresh_attacks import NAMES, SEARCHES, Attacks, best_rule

RUNS = int(os.environ.get("ORAGENT_TEST_FRESH_RUNS", "5"))
# level of a test, of which there is one for each channel
LEVEL = 0.05 / len(NAMES)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def attacks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacks]:
    with EvaluationRunner() as runner:
        yield Attacks(tmp_path_factory.mktemp("attacks"), runner)


@pytest.fixture(scope="module")
def seeds() -> list[int]:
    return [secrets.randbits(64) for _ in range(RUNS)]


def test_a_search_that_is_given_the_items_wins(attacks: Attacks) -> None:
    assert min(attacks.search_given(RUNS).gains) > 0


def test_a_search_for_small_seeds_finds_one_that_was_given(attacks: Attacks) -> None:
    assert min(attacks.search("seeds", 1, seed=1234).gains) > 0


@pytest.mark.parametrize("name", SEARCHES)
def test_no_search_finds_an_item_that_is_still_to_come(attacks: Attacks, name: str) -> None:
    assert attacks.search(name, RUNS).gains == (0,) * RUNS


def test_a_true_word_is_worth_something(seeds: list[int]) -> None:
    assert sum(best_rule(seeds).gains) > 0


@pytest.mark.parametrize("name", NAMES)
def test_no_channel_from_the_evaluation_before_is_worth_anything(attacks: Attacks, name: str, seeds: list[int]) -> None:
    assert attacks.send(name, seeds).probability > LEVEL
