"""Budgets of ideas, of rounds beside the opening or tuning, and of members of a portfolio; prompts of TIDE."""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.errors import BudgetExhausted
from oragent.ledger.case import Interrupted
from oragent.search.run_context import RunContext
from oragent.search.strategies import portfolio, tide, tuning
from oragent.search.strategies.constants import Constant, Range
from oragent.search.strategies.or_agent.allocation import affordable_ideas, small_allowance
from tests.search.test_levi_rounds import opened, record


def budgeted(allowance: Spent, used: Spent, spent: Spent, budget: Budget, **more: Any) -> Any:
    return SimpleNamespace(
        case=SimpleNamespace(allowance=allowance), used=used, spent=spent, settings=SimpleNamespace(budget=budget), **more
    )  # fmt: skip


@pytest.mark.parametrize(
    ("evaluations", "calls", "ideas", "opening", "expected"),
    [
        (100, 100, 9, False, 9),
        (12, 100, 9, False, 8),
        (100, 14, 9, False, 5),
        (100, 100, 9, True, 9),
        (44, 100, 99, True, 8),
        (100, 44, 99, True, 4),
        (9, 9, 9, True, 1),
        (5, 5, 9, False, 1),
    ],
)
def test_ideas_are_as_many_as_the_budget_implements(
    evaluations: int, calls: int, ideas: int, opening: bool, expected: int
) -> None:
    whole = Budget(evaluations=evaluations, model_calls=calls)
    allowance, used = Spent(evaluations=evaluations, model_calls=calls), Spent(evaluations=4, model_calls=3)
    own = SimpleNamespace(idea_count="budget")
    run = budgeted(allowance, used, Spent(), whole, own=own)
    assert affordable_ideas(run, ideas, opening=opening) == expected
    run.own = SimpleNamespace(idea_count="settings")
    assert affordable_ideas(run, ideas, opening=opening) == ideas


@pytest.mark.parametrize(
    ("window", "allowance", "left", "expected"),
    [
        # A fifth of the remaining budget, divided among the other rounds of the window.
        (1, (90, 90), (100, 200), (20, 40)),
        (2, (90, 90), (100, 200), (20, 40)),
        (3, (90, 90), (100, 200), (10, 20)),
        (5, (90, 90), (100, 200), (5, 10)),
        # No more than the round may use.
        (2, (15, 30), (100, 200), (15, 30)),
        # At least one program with its idea.
        (9, (90, 90), (30, 30), (1, 3)),
    ],
)
def test_rounds_beside_the_opening_share_its_budget(
    window: int, allowance: tuple[int, int], left: tuple[int, int], expected: tuple[int, int]
) -> None:
    spent = Spent(evaluations=50, model_calls=70)
    budget = Budget(evaluations=50 + left[0], model_calls=70 + left[1])
    allowed = Spent(evaluations=allowance[0], model_calls=allowance[1], tokens=7)
    reduced = small_allowance(budgeted(allowed, Spent(), spent, budget, window=window))
    assert reduced == Spent(evaluations=expected[0], model_calls=expected[1], tokens=7)


@dataclass
class Numbered:
    """A round with its number and the turns of its strategy."""

    number: int
    turns: Any = None


def test_every_few_rounds_tune_and_the_others_are_numbered_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    course: list[tuple[str, Any]] = []

    async def tune(run: Any, share: float) -> None:
        assert share == 0.25
        course.append(("tune", None))

    async def play(run: Any) -> None:
        course.append(("play", [run.turns(number) for number in range(10)]))

    monkeypatch.setattr(tuning, "_tune_best", tune)
    take = tuning.with_tuning(play, 0.25, 3)
    for number in range(1, 7):
        run: Any = Numbered(number)
        asyncio.run(take(run))
    # Rounds that tune, and the seed, are no turns.
    turns = [0, 1, 2, 0, 3, 4, 0, 5, 6, 0]
    play_step, tune_step = ("play", turns), ("tune", None)
    assert course == [play_step, play_step, tune_step, play_step, play_step, tune_step]


@pytest.mark.parametrize("show", ["paper", "all"])
def test_an_insight_of_tide_compares_the_worst_with_the_best(begun, monkeypatch: pytest.MonkeyPatch, show: str) -> None:
    asked: list[Any] = []

    async def ask(run: Any, template: str, parts: Any, preface: str = "", longest: int = 0) -> str:
        asked.extend([template, parts, longest])
        return "words"

    monkeypatch.setattr(tide, "ask_reflector", ask)
    members = [record(f"{score}", float(score), f"def guess(x):\n    return {score}\n") for score in (3, 5, 8)]
    run = opened(begun, members, f"strategy.show={show}" if show == "paper" else "archive.population=9")
    island: Any = SimpleNamespace(members=members)
    assert asyncio.run(tide._ask_insight(run, island)) == "words"
    template, (part,), longest = asked
    assert (template, longest, part.keep) == ("tide_insight", tide.WORDS, 2)
    worst, best = part.pieces
    for text, score in ((worst, 8), (best, 3)):
        assert f"return {score}" in text
        assert f"score {score}" in text
        assert ("moves 77" in text) == (show == "all")


@pytest.mark.parametrize(("best", "shown"), [("3", ["3"]), ("2", ["3", "2"])])
def test_an_island_of_tide_starts_anew_from_its_best_and_the_best_of_all(
    begun, monkeypatch: pytest.MonkeyPatch, best: str, shown: list[str]
) -> None:
    asked: list[Any] = []

    async def apply(run: Any, operator: str, parents: Any, *, paper: Any) -> None:
        asked.append((operator, [parent.id for parent in parents], paper))

    monkeypatch.setattr(tide, "apply_operator", apply)
    stuck, other = record("3", 3.0), record(best, float(best))
    islands: Any = [SimpleNamespace(members=members) for members in ([stuck, record("9", 9.0)], [], [other])]
    run = opened(begun, [stuck, other])
    asyncio.run(tide._start_anew(run, islands, islands[0]))
    assert asked == [("tide_reset", shown, tide.Told.SCORE)]
    (note,) = run.notes
    assert note.kind == tide.EVENT
    assert tide.IslandEvent(**tide.json.loads(note.text)) == tide.IslandEvent(run.island, reset=True)


MARKS = len(portfolio.MARKS)


@pytest.mark.parametrize("stage", range(MARKS + 1))
@pytest.mark.parametrize("alive", [1, 3])
def test_a_round_of_a_portfolio_has_its_members_share_of_a_phase(stage: int, alive: int) -> None:
    allowance = Spent(evaluations=90, model_calls=70, tokens=5)
    parts = (MARKS + 1) * alive
    run = budgeted(allowance, Spent(), Spent(), Budget(evaluations=60 * parts, model_calls=50 * parts + 1))
    last = stage == MARKS
    expected = Spent(evaluations=90 if last else 60, model_calls=70 if last else 50, tokens=5)
    assert portfolio._cap_allowance(run, stage, alive) == expected
    # Without a limit nothing is capped; with a small one, a round has one evaluation.
    run.settings = SimpleNamespace(budget=Budget(evaluations=1))
    assert portfolio._cap_allowance(run, stage, alive) == Spent(evaluations=90 if last else 1, model_calls=70, tokens=5)
    run.settings = SimpleNamespace(budget=Budget(evaluations=200 * parts, model_calls=200 * parts))
    assert portfolio._cap_allowance(run, stage, alive) == allowance


def test_the_member_with_the_fewest_programs_plays_and_rounds_at_once_have_different_ones() -> None:
    def choose(number: int, window: int, played: list[str], alive: list[str]) -> str:
        notes = [SimpleNamespace(round=at, text=name) for at, name in enumerate(played)]
        history = [SimpleNamespace(round=at) for at in range(len(played)) for _ in range(1 + (at == 0))]
        run: Any = SimpleNamespace(recall=lambda kind: notes, history=history, number=number, window=window)
        return portfolio._choose_member(run, alive)

    # The first round made two programs, the others one.
    played = ["a", "b", "c", "c", "gone"]
    assert [choose(number, 1, played, ["a", "b", "c"]) for number in range(4)] == ["b"] * 4
    assert [choose(number, 2, played, ["a", "b", "c"]) for number in range(4)] == ["b", "a", "b", "a"]
    assert [choose(number, 9, played, ["a", "b", "c"]) for number in range(4)] == ["b", "a", "c", "b"]
    assert [choose(number, 9, [], ["c", "a"]) for number in range(2)] == ["c", "a"]


@pytest.mark.parametrize(("limit", "ends"), [(None, False), (5.0, True), (5.1, False), (4.9, True)])
def test_no_work_begins_when_the_time_is_used_up(limit: float | None, ends: bool) -> None:
    context: Any = SimpleNamespace(
        stopped=False, clock=lambda: 5.0, settings=SimpleNamespace(budget=Budget(seconds=limit))
    )
    if ends:
        with pytest.raises(BudgetExhausted):
            RunContext.check_may_continue(context)
    else:
        RunContext.check_may_continue(context)
    context.stopped = True
    with pytest.raises(Interrupted):
        RunContext.check_may_continue(context)


@pytest.mark.parametrize(
    ("low", "high", "logarithmic"),
    [
        (0.0, 5.0, False),
        (-1.0, 50.0, False),
        (1.0, 10.0, True),
        (1.0, 9.9, False),
        (0.1, 50.0, True),
        (-9.0, -1.0, False),
    ],
)
def test_a_range_over_orders_of_magnitude_is_logarithmic(low: float, high: float, logarithmic: bool) -> None:
    assert Range(Constant(0, 1.0, False, "x = 1"), low, high).logarithmic is logarithmic


def test_gains_of_members_are_shares_of_the_way_from_the_seed_to_the_best() -> None:
    def made(number: int, score: float | None, *, started: bool = True, probe: bool = False) -> Any:
        program = SimpleNamespace(evaluation=SimpleNamespace(was_started=started), is_probe=probe)
        return SimpleNamespace(round=number, score=score, candidate=program, placed="NEW" if score is not None else "")

    played = {1: "a", 2: "b", 3: "a", 4: "a", 5: "b"}
    history = [
        made(0, 10.0), made(1, 8.0), made(1, 9.0), made(2, None), made(2, 7.0), made(3, 7.0), made(3, 5.0),
        made(4, None, started=False), made(4, None, probe=True), made(5, 4.0), made(5, 2.0),
        # Rounds of tuning belong to no member.
        made(6, 2.0),
    ]  # fmt: skip
    run: Any = SimpleNamespace(
        recall=lambda kind: [SimpleNamespace(round=number, text=name) for number, name in played.items()],
        own=SimpleNamespace(members=("a", "b", "c")), history=history, fitness=lambda record: -record.score,
    )  # fmt: skip
    gains = portfolio.member_gains(run)
    # The way is 8: of it, a brought 2, 2 and 0 in 4 evaluations, and b 1 and 3 in 4.
    assert [gains[name].mean for name in "abc"] == pytest.approx([4 / 8 / 4, 4 / 8 / 4, 0.0])
    for name, rounds in (("a", [2.0, 2.0, 0.0]), ("b", [1.0, 3.0]), ("c", [])):
        if len(rounds) >= portfolio.MIN_NOISE_ROUNDS:
            assert gains[name].error == pytest.approx(np.std(rounds, ddof=1) * len(rounds) ** 0.5 / 8 / 4)
        else:
            assert gains[name].error == np.inf
    rounds = [3.0, 1.0, 0.0, 2.0, 5.0]
    gain = portfolio._gain_with_noise(rounds, 2.0, 10)
    assert gain == pytest.approx((11 / 20, np.std(rounds, ddof=1) * 5**0.5 / 20))
    assert portfolio._gain_with_noise([], 2.0, 0).mean == 0.0
