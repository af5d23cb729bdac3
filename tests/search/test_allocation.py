"""Budgets of ideas, of rounds beside the opening, and of rounds beside tuning."""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget, Spent
from oragent.search.strategies import tide, tuning
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
