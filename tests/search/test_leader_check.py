"""Checks of a new best program: which program is checked, in which order, and what remains of a rejected one."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.errors import BudgetExhausted
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Elite
from oragent.search.leader_check import LeaderCheck
from oragent.search.practice_check import PRACTICE_NOTE, PracticeScore
from tests.search.test_round_ends import PROBE, candidate

CHECKS = ("check", "harden", "check_more_work", "check_protected")
NOISY = {"by_instance": {"a": [float(number % 3) for number in range(9)]}}
BETTER = {"by_instance": {"a": [float(number % 3) - 5 for number in range(9)]}}


class Scoring:
    """Checks of programs, which reject the ones that are named, and their course."""

    practice: Any = "practice"
    draws_practice = True

    def __init__(self, **rejected: str) -> None:
        self.rejected, self.course = rejected, list[tuple[str, str]]()
        self.measured: Evaluation = Evaluation(Status.OK, 7.0)

    def __getattr__(self, name: str) -> Any:
        if name not in CHECKS:
            raise AttributeError(name)

        async def check(candidate: Candidate, seen: Any, **more: Any) -> Evaluation | None:
            assert (name == "check_more_work") == ("best" in more)
            self.course.append((name, candidate.fingerprint))
            if candidate.fingerprint in self.rejected.get(name, ""):
                return Evaluation(Status.REJECTED, message=name)
            return None

        return check

    async def measure(self, seen: Any, source: str, size: Any, subset: Any, cpu_s: float, observer: str) -> Evaluation:
        self.course.append(("measure", source))
        return self.measured


def archive(*scores: float, direction: Direction = Direction.MINIMIZE, metrics: Any = None) -> Archive:
    made = Archive(direction)
    for number, score in enumerate(scores):
        source = f"best {number}"
        made.add(Elite(id=f"{number}.0", source=source, score=score, features=None, metrics=metrics or {}), 0)
    return made


def checker(scoring: Scoring, leaders: Archive, *, rounds: int = 0, measures: bool = True, **context: Any) -> Any:
    async def in_time(work: Any) -> Any:
        return await work

    given: dict[str, Any] = {
        "scoring": scoring, "in_time": in_time, "check_may_continue": None, "spent": Spent(), "seed_work": 0.0,
        "problem": SimpleNamespace(about=SimpleNamespace(direction=leaders.direction)),
        "settings": SimpleNamespace(
            strategy=SimpleNamespace(leader_rounds=rounds), budget=context.pop("budget", Budget()), problem_size=None
        ),
    } | context  # fmt: skip
    best = SimpleNamespace(withdrawn=0)
    best.withdraw = lambda: setattr(best, "withdrawn", best.withdrawn + 1)
    plain: Any = (SimpleNamespace(**given), SimpleNamespace(archive=leaders), best)
    made: Any = LeaderCheck(*plain, measures=measures)
    return made


def round_of(*candidates: Candidate, used: Spent | None = None) -> Any:
    run: Any = SimpleNamespace(
        number=3, candidates=[*candidates], notes=[], used=used or Spent(), rejected=[],
        experiments=SimpleNamespace(instances="few"),
    )  # fmt: skip

    def reject(fingerprint: str, evaluation: Evaluation) -> None:
        run.rejected.append((fingerprint, evaluation.message))
        run.candidates = [one for one in run.candidates if one.fingerprint != fingerprint]

    run.reject_impure = reject
    return run


@pytest.mark.parametrize(
    ("direction", "best", "scores", "leader"),
    [
        (Direction.MINIMIZE, (5.0,), (6.0, 4.0, 3.0, 3.5), 2),
        (Direction.MAXIMIZE, (5.0,), (6.0, 4.0, 9.0, 8.0), 2),
        (Direction.MINIMIZE, (5.0,), (6.0, None, 5.0), None),
        (Direction.MINIMIZE, (), (None, 6.0, 7.0), 1),
        (Direction.MINIMIZE, (5.0,), (), None),
        (Direction.MINIMIZE, (5.0,), (4.0, 4.0), 0),
    ],
)
def test_the_best_program_of_a_round_leads_if_it_beats_the_best_so_far(
    direction: Direction, best: tuple[float, ...], scores: tuple[float | None, ...], leader: int | None
) -> None:
    candidates = [candidate(f"{number}", score) for number, score in enumerate(scores)]
    probe = candidate("probe", 0.0 if direction is Direction.MINIMIZE else 99.0, origin=PROBE)
    found = checker(Scoring(), archive(*best, direction=direction))._find_leader(round_of(probe, *candidates))
    assert found is (None if leader is None else candidates[leader])


def test_a_leader_that_fails_a_check_is_rejected_and_the_next_one_is_checked() -> None:
    scoring = Scoring(check="a", check_protected="b")
    leaders = archive(5.0)
    check, run = checker(scoring, leaders), round_of(candidate("c", 3.0), candidate("b", 2.0), candidate("a", 1.0))
    asyncio.run(check.check_round(run))
    assert scoring.course == [
        ("check", "a"), *((name, "b") for name in CHECKS), *((name, "c") for name in CHECKS), ("measure", "x = 'c'")
    ]  # fmt: skip
    assert run.rejected == [("a", "check"), ("b", "check_protected")]
    assert check._best.withdrawn == 2
    assert [note.kind for note in run.notes] == [PRACTICE_NOTE]
    assert run.notes == [PracticeScore("3.0", 3.0, 7.0).to_note(3)]
    idle = Scoring()
    asyncio.run(checker(idle, archive(1.0)).check_round(run))
    assert idle.course == []


@pytest.mark.parametrize(
    ("measures", "practice", "measured", "noted"),
    [(True, "p", 7.0, True), (False, "p", 7.0, False), (True, None, 7.0, False), (True, "p", None, False)],
)
def test_a_leader_is_measured_on_practice_if_the_evaluator_has_it(
    measures: bool, practice: str | None, measured: float | None, noted: bool
) -> None:
    scoring = Scoring()
    scoring.practice = practice
    scoring.measured = Evaluation(Status.ERROR if measured is None else Status.OK, measured)
    run = round_of(candidate("a", 9.0), candidate("b", 3.0))
    asyncio.run(checker(scoring, archive(5.0), measures=measures).check_round(run))
    assert run.notes == [PracticeScore("3.1", 3.0, 7.0).to_note(3)] * noted
    assert (("measure", "x = 'b'") in scoring.course) == (measures and practice is not None)


@pytest.mark.parametrize(
    ("rounds", "best", "metrics", "draws", "needs"),
    [
        (4, NOISY, NOISY, True, True),
        (0, NOISY, NOISY, True, False),
        (4, NOISY, NOISY, False, False),
        (4, NOISY, BETTER, True, False),
        (4, {}, {}, True, False),
        (4, None, NOISY, True, False),
    ],
)
def test_a_leader_within_the_noise_needs_a_race(
    rounds: int, best: Any, metrics: dict[str, Any], draws: bool, needs: bool
) -> None:
    scoring = Scoring()
    scoring.draws_practice = draws
    leaders = archive() if best is None else archive(5.0, metrics=best)
    evaluation = Evaluation(Status.OK, 3.0, metrics=metrics)
    leader = SimpleNamespace(evaluation=evaluation, fingerprint="a")
    assert checker(scoring, leaders, rounds=rounds)._needs_race(round_of(), leader) is needs


@pytest.mark.parametrize(
    ("rounds", "budget", "seed_work", "number"),
    [
        (8, Budget(), 0.0, 8),
        # 100 - 10 - 5 evaluations are left, two for each round.
        (99, Budget(evaluations=100), 0.0, 42),
        (8, Budget(evaluations=100), 0.0, 8),
        (8, Budget(evaluations=20), 0.0, 2),
        # 100 - 20 - 10 units of work.
        (99, Budget(work=100.0), 5.0, 7),
        (99, Budget(work=100.0), 5.1, 6),
        (4, Budget(work=100.0), 5.0, 4),
        (9, Budget(work=100.0), 0.0, 9),
    ],
)
def test_a_race_has_rounds_within_the_remaining_budget(
    rounds: int, budget: Budget, seed_work: float, number: int
) -> None:
    check = checker(
        Scoring(), archive(5.0), rounds=rounds, budget=budget, seed_work=seed_work, spent=Spent(evaluations=10, work=20.0)
    )  # fmt: skip
    assert check._count_rounds(round_of(used=Spent(evaluations=5, work=10.0))) == number


@pytest.mark.parametrize("needs", [True, False])
def test_a_leader_that_the_budget_allows_no_race_is_rejected(needs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    check = checker(Scoring(), archive(5.0))

    async def exhaust(run: Any, leader: Candidate) -> None:
        raise BudgetExhausted("spent")

    monkeypatch.setattr(check, "_check", exhaust)
    monkeypatch.setattr(check, "_needs_race", lambda run, leader: needs)
    run = round_of(candidate("a", 3.0))
    if needs:
        asyncio.run(check.check_round(run))
        assert [fingerprint for fingerprint, _ in run.rejected] == ["a"]
        assert check._best.withdrawn == 1
    else:
        with pytest.raises(BudgetExhausted):
            asyncio.run(check.check_round(run))
        assert run.rejected == []
