"""The view of a run that a round has: its candidates, notes, names and branches."""

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Spent
from oragent._base.errors import BudgetExhausted
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search import round_context
from oragent.search.archive import Archive
from oragent.search.candidate import NOWHERE, PROBE, Candidate, Committed
from oragent.search.config import Blocks
from oragent.search.evaluation_key import ended_race_text, screened_text
from oragent.search.journal import Moment
from oragent.search.round_context import SOME, RoundContext, count_probes
from oragent.search.run_context import RunContext
from oragent.search.scoring import ScoredProgram
from oragent.search.store import RoundNote


def candidate(name: str, score: float | None = 1.0, *parents: str, **changes: Any) -> Candidate:
    evaluation = Evaluation(Status.ERROR if score is None else Status.OK, score, wall_s=0.1)
    given: dict[str, Any] = {
        "source": f"def guess(x):\n    return {score}\n", "fingerprint": name, "parents": parents, "origin": "code",
        "island": 0, "call": 0, "evaluation": evaluation,
    }  # fmt: skip
    return Candidate(**(given | changes))


def committed(name: str, fingerprint: str, score: float | None = 1.0) -> Committed:
    placed = "" if score is None else "NEW"
    return Committed(id=name, candidate=candidate(fingerprint, score), placed=placed, elapsed_s=0.0)


class Scorer:
    """Scores programs by a function of their text."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.results: dict[str, ScoredProgram] = {}
        self.keeps_arrays = False

    def fingerprint(self, source: str) -> str:
        return f"print of {source.strip()[-1]}"

    async def score(self, source: str, seen: Any, gate: Any) -> ScoredProgram:
        self.asked.append((source, seen, gate))
        return self.results.get(source, ScoredProgram(self.fingerprint(source), Evaluation(Status.OK, 1.0, wall_s=0.1)))

    def reject(self, text: str, why: str) -> ScoredProgram:
        return ScoredProgram("rejected", Evaluation(Status.REJECTED, message=why))

    def store_impure(self, fingerprint: str, rejected: Evaluation) -> str:
        return f"impure {fingerprint}"


@pytest.fixture
def make(begun) -> Any:
    def make_run(*settings: str, number: int = 2, horizon: int = 1, **options: Any) -> RoundContext:
        folder = begun("strategy.experiment_s=30", *settings)
        context = RunContext(folder.problem, folder.config, None, None, Scorer(), None, lambda: 0.0)  # store and model
        given = {"allowance": Spent(evaluations=9, model_calls=9, work=99.0), "island": 1} | options
        return RoundContext.opened(
            context, number, archive=Archive("minimize", 3), rng=np.random.default_rng(0), horizon=horizon, **given
        )

    return make_run


def test_history_ends_with_the_horizon(make) -> None:
    run = make(horizon=1)
    run.past.extend(
        [
            [committed("0.0", "a")],
            [committed("1.0", "b"), committed("1.1", "c", None), committed("1.2", "a")],
            [committed("2.0", "d")],
        ]
    )
    assert [record.id for record in run.history] == ["0.0", "1.0", "1.1", "1.2"]
    # Each program once, the oldest record of it, and none without a score.
    assert [record.id for record in run.scored] == ["0.0", "1.0"]
    assert len(run.rounds) == 2
    assert run.fitness(run.past[0][0]) == -1.0
    with pytest.raises(ValueError, match=r"1\.1"):
        run.fitness(run.past[1][1])


def test_a_program_was_seen_in_the_round_or_before_it(make) -> None:
    run = make(horizon=1)
    for name, number in (("print of 1", 1), ("print of 2", 2), (screened_text("print of 3"), 0)):
        run.context.committed[name] = number
    run.context.committed[ended_race_text("print of 4")] = 0
    source = "def guess(x):\n    return {}\n"
    assert [run.seen(source.format(number)) for number in (1, 2, 3, 4, 5)] == [True, False, True, True, False]
    asyncio.run(run.evaluate(source.format(5), [], "code"))
    assert run.seen(source.format(5))
    assert not run.seen('def guess(x):\n    return load_array("table")\n')


def test_a_candidate_repeats_an_earlier_one_of_the_round_or_of_the_run(make) -> None:
    run = make(horizon=1)
    run.context.committed.update(old=1, beside=2)
    first, second, third = candidate("a"), candidate("b"), candidate("b")
    run.candidates += [first, second]
    assert not run.repeats(second)
    run.candidates.append(third)
    assert run.repeats(third)
    assert not run.repeats(first)
    assert run.repeats(candidate("old"))
    assert not run.repeats(candidate("beside"))
    run.earlier = (candidate("a"),)
    assert run.repeats(first)


def test_parents_of_the_same_round_get_their_ids(make) -> None:
    run = make(number=4)
    run.candidates += [
        candidate("a", 1.0, "3.0"),
        candidate("p", 1.0, "a", origin=PROBE),
        candidate("b", 1.0, "3.1", "a", "unknown"),
        candidate("a", 1.0, "b", origin=PROBE),
        candidate("c", 1.0, "a", "p"),
        candidate("a", 1.0, "b"),
        candidate("d", 1.0, "a"),
    ]
    assert [named.parents for named in run.named_candidates()] == [
        ("3.0",), ("4.0",), ("3.1", "4.0", "unknown"), ("4.2",), ("4.0", "4.1"), ("4.2",), ("4.5",),
    ]  # fmt: skip


def test_a_program_that_failed_its_check_is_rejected_with_its_new_name(make) -> None:
    run = make()
    run.candidates += [candidate("a"), candidate("b", 1.0, "a", "3.0"), candidate("a", 1.0, origin=PROBE)]
    rejected = Evaluation(Status.REJECTED, message="no function")
    run.reject_impure("a", rejected)
    assert [(one.fingerprint, one.parents, one.score) for one in run.candidates] == [
        ("impure a", (), None), ("b", ("impure a", "3.0"), 1.0), ("a", (), 1.0),
    ]  # fmt: skip
    assert run.candidates[0].evaluation is rejected


def test_withheld_programs_are_parents_of_none(make) -> None:
    run = make()
    run.candidates += [candidate("a"), candidate("b"), candidate("c")]
    run.withhold_all_but({"b"})
    assert [one.island for one in run.candidates] == [NOWHERE, 0, NOWHERE]


def test_only_probes_that_ran_are_counted(make) -> None:
    ran, rejected = candidate("a", origin=PROBE), candidate("r", origin=PROBE)
    rejected = replace(rejected, evaluation=Evaluation(Status.REJECTED))
    assert count_probes([candidate("b"), ran, rejected, ran]) == 2
    run = make()
    run.candidates += [ran, rejected]
    run.earlier_probes = 3
    assert run.probe_count == 4
    assert run.solutions == ()


@pytest.mark.parametrize(("choice", "count"), [(Blocks.NONE, 0), (Blocks.SOME, SOME), (Blocks.ALL, 6)])
def test_building_blocks_are_shown_by_the_settings(make, choice: Blocks, count: int) -> None:
    run = make()
    names = tuple(f"x + {number}" for number in range(6))
    about = replace(run.problem.about, primitives=names)
    run.context.problem = replace(run.problem, about=about)
    run.context.settings = replace(run.settings, strategy=replace(run.settings.strategy, blocks=choice))
    shown = [run.blocks() for _ in range(20)]
    assert all(len(set(blocks)) == count for blocks in shown)
    assert all(set(blocks) <= set(names) for blocks in shown)
    assert (len(set(shown)) > 1) == (choice is Blocks.SOME)
    run.context.problem = replace(run.problem, about=replace(about, primitives=()))
    assert run.blocks() == ()


@pytest.mark.parametrize(
    ("number", "parents", "words"),
    [
        (0, ["3.0"], "code"),
        (4, [], "code, round 4"),
        (4, ["print", "3.1", "3.2"], "code of 3.1, round 4"),
    ],
)
def test_running_work_names_its_origin_first_parent_and_round(
    make, number: int, parents: list[str], words: str
) -> None:
    run = make(number=number)
    seen = run.make_view("code", parents)
    assert (seen.what, seen.order) == (words, number)
    assert seen.archive is run.archive


def test_an_evaluation_costs_once_for_each_new_program_that_ran(make) -> None:
    run = make()
    source = "def guess(x):\n    return {}\n"
    noticed: list[Any] = []
    run.context.noticed = lambda number, found: noticed.append((number, found.fingerprint))
    for number, call in ((5, 3), (5, 4), (6, None)):
        asyncio.run(run.evaluate(source.format(number), ["1.0"], "code", call))
    assert run.used == Spent(evaluations=2)
    assert run.context.paid == {2: Spent(evaluations=2)}
    assert [(one.origin, one.parents, one.call, one.island) for one in run.candidates] == [
        ("code", ("1.0",), 3, 1), ("code", ("1.0",), 4, 1), ("code", ("1.0",), None, 1),
    ]  # fmt: skip
    rejected = ScoredProgram("no", Evaluation(Status.REJECTED, message="no program"))
    run.context.scoring.results[source.format(7)] = rejected
    asyncio.run(run.evaluate(source.format(7), [], "code"))
    asyncio.run(run.evaluate('def guess(x):\n    return load_array("table")\n', [], "code"))
    assert run.used == Spent(evaluations=2)
    assert len(noticed) == 5
    gate = object()
    asyncio.run(run.evaluate(source.format(8), [], "code", gate=gate))
    assert run.context.scoring.asked[-1][2] is gate


@pytest.mark.parametrize(("allowance", "fits"), [(Spent(evaluations=1), 1), (Spent(evaluations=9, work=0.0), 0)])
def test_no_evaluation_begins_beyond_the_share_of_the_round(make, allowance: Spent, fits: int) -> None:
    run = make(allowance=allowance)
    if allowance.evaluations == 1:
        run.case.allowance = replace(allowance, work=9.0)
    for number in range(fits):
        asyncio.run(run.evaluate(f"def guess(x):\n    return {number}\n", [], "code"))
    with pytest.raises(BudgetExhausted):
        asyncio.run(run.evaluate("def guess(x):\n    return 9\n", [], "code"))


def test_a_screened_program_ends_the_race_of_its_twins(make) -> None:
    run = make()
    run.add_candidate("source", ScoredProgram("screened abc", Evaluation(Status.SCREENED)), [], "code", None)
    assert run._met == {"screened abc", ended_race_text("abc")}
    run.add_candidate("source", ScoredProgram("abc", Evaluation(Status.OK, 1.0)), [], "code", None)
    assert "abc" in run._met
    assert len(run._met) == 3


def test_branches_see_what_was_before_them_and_are_merged_in_order(make) -> None:
    run = make(allowance=Spent(evaluations=8, work=99.0))
    run.candidates.append(candidate("before"))
    run.candidates.append(candidate("probe", origin=PROBE))
    run.note("kind", "written")
    run.reply_problems.append("first")
    seen: list[Any] = []

    async def work(branch: RoundContext, at: int) -> int:
        await asyncio.sleep(0.01 * (2 - at))
        seen.append(
            (at, branch.island, branch.solutions, branch.written, branch.earlier_probes, branch.experiment_share)
        )
        branch.note("kind", f"of {at}")
        branch.reply_problems.append(f"problem {at}")
        await branch.evaluate(f"def guess(x):\n    return {at}\n", [], "code")
        assert len(branch.candidates) == 1
        return 10 * at

    async def first(branch: RoundContext) -> int:
        return await work(branch, 0)

    async def second(branch: RoundContext) -> int:
        return await work(branch, 1)

    left = run.experiments.cpu_s_left
    assert asyncio.run(run.fork([first, second], islands=[2])) == [0, 10]
    by_branch = {at: rest for at, *rest in seen}
    assert [by_branch[at][0] for at in (0, 1)] == [2, 1]
    for at in (0, 1):
        _, solutions, written, probes, share = by_branch[at]
        assert [one.fingerprint for one in solutions] == ["before"]
        assert [note.text for note in written] == ["written"]
        assert (probes, share) == (1, left / 2)
    assert [one.fingerprint for one in run.candidates[2:]] == ["print of 0", "print of 1"]
    assert [note.text for note in run.notes] == ["written", "of 0", "of 1"]
    assert run.reply_problems == ["first", "problem 0", "problem 1"]
    assert run.used.evaluations == 2
    assert run.seen("def guess(x):\n    return 1\n")


def test_notes_and_temperatures_of_a_round(make) -> None:
    memory = [RoundNote(0, "a", "1"), RoundNote(1, "b", "2"), RoundNote(1, "a", "3")]
    run = make(memory=memory, spent=Spent(evaluations=4))
    assert [note.text for note in run.recall("a")] == ["1", "3"]
    assert run.temperature("code") is None
    assert run.moment == Moment(spent=Spent(evaluations=4))
    assert (run.turn, run.window) == (2, run.settings.strategy.window or 1)
    run.turns = lambda number: number * 10
    assert (run.turn, run.turn_of(3)) == (20, 30)


def test_a_rejected_reply_keeps_the_first_line_of_its_reason(make) -> None:
    run = make()
    found = run.reject("text", "no match. \nThe nearest lines", ["1.0"], "code", 3)
    assert (found.evaluation.message, found.source, found.parents, found.origin, found.call) == (
        "no match", "text", ("1.0",), "code", 3,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("horizon", "counted"), [(-1, "none"), (0, "seed"), (1, "first"), (2, "second"), (5, "second")]
)
def test_the_style_follows_from_the_replies_before_the_horizon(
    make, monkeypatch: pytest.MonkeyPatch, horizon: int, counted: str
) -> None:
    run = make(horizon=horizon)
    marks: Any = run.context.marks
    marks[:] = ["none", "seed", "first", "second"]
    monkeypatch.setattr(round_context, "choose_style", lambda model, mark: (model, mark))
    assert run.style == (run.settings.model, counted)
