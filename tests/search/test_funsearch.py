"""Islands, clusters and resets of FunSearch."""

from collections import Counter

import numpy as np
import pytest

from oragent._base.budget import Spent
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Committed
from oragent.search.round_context import RoundContext
from oragent.search.run_context import RunContext
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.funsearch import draw_programs, living_programs
from tests.search.test_engine import history as committed
from tests.search.test_rivals import search, settings
from tests.search.writer import Writer

PLAYED = ("strategy.name=funsearch", "model.name=m")


def record(name: str, score: float, island: int = 0, source: str = "short") -> Committed:
    candidate = Candidate(
        source=source,
        fingerprint=f"print of {name}",
        parents=(),
        origin="code",
        island=island,
        call=0,
        evaluation=Evaluation(Status.OK, score),
    )
    return Committed(id=name, candidate=candidate, placed="NEW", elapsed_s=0.0)


def opened(begun, history: list[Committed], *settings: str) -> RoundContext:
    folder = begun(*settings)
    own = STRATEGIES["funsearch"].own(folder.config)
    context = RunContext(folder.problem, folder.config, own, None, None, None, lambda: 0.0)
    context.history.extend([one] for one in history)
    archive = Archive("minimize", folder.config.archive.islands)
    rng, horizon = np.random.default_rng(1), len(history) - 1
    return RoundContext.opened(
        context, len(history), archive=archive, rng=rng, allowance=Spent(), horizon=horizon, island=0
    )


def names(living: list[list[Committed]]) -> list[list[str]]:
    return [[record.id for record in home] for home in living]


def test_the_seed_lives_on_all_islands_and_every_program_on_its_own(begun) -> None:
    history = [record("0.0", 9.0), record("1.0", 5.0, 1), record("2.0", 4.0, 0), record("3.0", 6.0, 1)]
    run = opened(begun, history, "archive.islands=2")
    assert names(living_programs(run)) == [["0.0", "2.0"], ["0.0", "1.0", "3.0"]]


def test_what_was_committed_after_a_round_began_is_not_there_yet(begun) -> None:
    run = opened(begun, [record("0.0", 9.0), record("1.0", 5.0, 0)], "archive.islands=1")
    run.context.history.append([record("2.0", 1.0)])
    assert names(living_programs(run)) == [["0.0", "1.0"]]


def test_a_reset_leaves_the_better_half_and_founds_the_others_anew(begun) -> None:
    scores = [9.0, 5.0, 3.0, 8.0, 7.0]  # round k is on island k modulo 4
    history = [record(f"{number}.0", score, number % 4) for number, score in enumerate(scores)]
    run = opened(begun, history, "archive.islands=4", "archive.reset_period=4")
    first, second, third, fourth = names(living_programs(run))
    assert (second, third) == (["0.0", "1.0"], ["0.0", "2.0"])  # best scores 5 and 3
    assert first[0] in ("1.0", "2.0")
    assert fourth[0] in ("1.0", "2.0")
    assert len(first) == len(fourth) == 1


def test_two_programs_are_drawn_of_different_scores_the_best_most_often(begun) -> None:
    run = opened(begun, [record("0.0", 9.0)])
    living = [record("a", 5.0), record("b", 5.0), record("c", 1.0), record("d", 1.2), record("e", 40.0)]
    counted: Counter[float] = Counter()
    for _ in range(300):
        pair = draw_programs(run, living)
        assert len({one.candidate.evaluation.score for one in pair}) == 2
        counted.update([pair[0].candidate.evaluation.score])
    assert counted[1.0] > counted[1.2] > counted[5.0] + counted[40.0]


def test_of_equal_programs_the_shorter_one_is_drawn_more_often(begun) -> None:
    run = opened(begun, [record("0.0", 9.0)])
    living = [record("short", 1.0, 0, "x" * 10), record("long", 1.0, 0, "x" * 400)]
    counted = Counter(draw_programs(run, living)[0].id for _ in range(400))
    assert 1.5 < counted["short"] / counted["long"] < 5.0  # e ** (390 / 400) is 2.65


def test_with_replacement_one_cluster_may_be_drawn_twice_and_raw_scores_are_those_of_the_paper(begun) -> None:
    """Of two clusters one temperature apart, the better one is drawn e times as often, and with replacement twice."""
    published = ("replacement=true", "scores=raw", "temperature=2.0", "period=1000000")
    run = opened(begun, [record("0.0", 9.0)], *PLAYED, *(f"strategy.options.{one}" for one in published))
    living = [record("good", 1.0), record("bad", 3.0)]
    pairs = Counter(tuple(sorted(one.id for one in draw_programs(run, living))) for _ in range(2000))
    share = np.e / (1 + np.e)
    assert pairs["good", "good"] / 2000 == pytest.approx(share**2, abs=0.04)
    assert pairs["bad", "bad"] / 2000 == pytest.approx((1 - share) ** 2, abs=0.04)


def test_islands_start_anew_where_the_engine_found_that_their_time_had_come(begun) -> None:
    scores = [9.0, 5.0, 3.0, 8.0, 7.0, 6.0]
    known = [record(f"{number}.0", score, number % 2) for number, score in enumerate(scores)]
    run = opened(begun, known, "archive.islands=2")
    run.context.resets.add(3)
    assert names(living_programs(run)) == [["0.0", "2.0", "4.0"], ["2.0", "5.0"]]


def test_a_prompt_is_answered_as_often_as_there_are_samples(begun) -> None:
    model = Writer()
    folder = begun(*settings("funsearch", "strategy.options.samples=4", evaluations=25))
    assert search(folder, model).complete
    rounds: dict[str, list[str]] = {}
    for request in model.asked:
        if request.role == "code":
            rounds.setdefault(request.key.split(".")[0], []).append(request.messages[-1].content)
    assert all(len(set(prompts)) == 1 for prompts in rounds.values())
    assert Counter(map(len, rounds.values())).most_common(1)[0][0] == 4
    again = begun(*settings("funsearch", "strategy.options.samples=4", evaluations=25))
    search(again, workers=4)
    assert committed(again) == committed(folder)
