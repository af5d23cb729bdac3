"""The tree of MCTS-AHD: values and visits, UCT, widening, and the decay of exploration."""

import asyncio
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Spent
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Committed
from oragent.search.prompting.programs import Told
from oragent.search.round_context import RoundContext
from oragent.search.run_context import RunContext
from oragent.search.store import RoundNote
from oragent.search.strategies import mcts_ahd
from oragent.search.strategies.mcts_ahd import (
    EXPLORATION,
    ROOT,
    MCTSSettings,
    ProgramNode,
    _draw_strangers,
    build_tree,
    exploration_weight,
    take_turn,
    update_values,
)
from tests.search.test_engine import scored
from tests.search.test_rivals import records, search, settings
from tests.search.writer import Writer


def grown(parent: ProgramNode, value: float) -> ProgramNode:
    """Add a child, and let the whole tree know."""
    child = ProgramNode(None, parent, value)
    parent.children.append(child)
    root = parent
    while root.parent:
        root = root.parent
    below = sorted(root.below(), key=lambda node: len(node.line()))
    update_values(root, below[1:])
    return child


def leaf(root: ProgramNode, weight: float) -> ProgramNode:
    return take_turn(root, weight, 0)[1]


def widened(root: ProgramNode) -> list[ProgramNode]:
    return take_turn(root, 0.0, 0)[0]


def test_a_node_is_worth_its_best_child_and_was_visited_once_for_each_program_below() -> None:
    root = ProgramNode()
    first, second = grown(root, 1.0), grown(root, 5.0)
    grown(first, 2.0)
    best = grown(first, 9.0)
    assert (first.value, first.visits) == (9.0, 3)
    assert (root.value, root.visits) == (9.0, 4)
    assert (second.value, second.visits) == (5.0, 1)
    grown(best, 4.0)  # a worse child takes its parent's value down, as in the paper
    assert (best.value, first.value, root.value) == (4.0, 4.0, 5.0)
    assert best.line() == [first, best]


def test_without_exploration_the_best_line_is_followed_and_with_much_the_one_that_was_neglected() -> None:
    root = ProgramNode()
    good, bad = grown(root, 1.0), grown(root, 0.0)
    best = grown(good, 0.9)
    grown(good, 0.2)
    assert leaf(root, 0.0) is best
    assert leaf(root, 10.0) is bad


def test_the_bound_is_the_one_of_the_paper() -> None:
    root = ProgramNode()
    often, seldom = grown(root, 1.0), grown(root, 0.7)
    for _ in range(3):
        grown(often, 1.0)
    grown(root, 0.0)
    spread = math.sqrt(math.log(root.visits + 1))
    tie = 0.3 / (spread * (1 - 1 / math.sqrt(often.visits)))  # the weight at which both bounds are equal
    assert leaf(root, tie * 0.99).parent is often
    assert leaf(root, tie * 1.01) is seldom


def test_a_node_is_widened_once_its_visits_have_outgrown_its_children() -> None:
    root = ProgramNode()
    only = grown(root, 1.0)
    last = grown(only, 1.0)
    assert widened(root) == []
    for _ in range(2):
        last = grown(last, 1.0)
    assert (root.visits, only.visits) == (4, 4)  # two times two, and one child
    assert widened(root) == [root, only]


def test_a_descent_ends_at_depth_ten() -> None:
    root = node = ProgramNode()
    for _ in range(14):
        node = grown(node, 1.0)
    assert len(leaf(root, 0.0).line()) == 10


def round_of(begun, history: list[Committed], notes: list[RoundNote], spent: int, *overrides: str) -> RoundContext:
    folder = begun(*overrides)
    context = RunContext(folder.problem, folder.config, None, None, None, None, lambda: 0.0)
    context.history.extend([record] for record in history)
    archive, rng = Archive("minimize"), np.random.default_rng(0)
    return RoundContext.opened(
        context, len(history), archive=archive, rng=rng, allowance=Spent(), horizon=len(history) - 1, island=0,
        memory=notes, spent=Spent(spent, seconds=4.0),
    )  # fmt: skip


def record(name: str, score: float | None, *parents: str) -> Committed:
    status = Status.ERROR if score is None else Status.OK
    candidate = Candidate(
        source=f"def guess(x):\n    return {score}\n",
        fingerprint=f"print of {name}",
        parents=parents,
        origin="m1",
        island=0,
        call=0,
        evaluation=Evaluation(status, score),
    )
    return Committed(id=name, candidate=candidate, placed="" if score is None else "NEW", elapsed_s=0.0)


def test_the_tree_follows_from_the_history_and_leaves_out_what_failed(begun) -> None:
    history = [
        record("0.0", 9.0),
        record("1.0", 5.0, "0.0"),
        record("2.0", None, "1.0"),
        record("3.0", 4.0, "0.0", "1.0"),
    ]
    root = build_tree(round_of(begun, history, [RoundNote(1, ROOT, "print of 1.0")], 0))
    assert [child.record.id for child in root.children] == ["0.0", "1.0"]
    assert [child.record.id for child in root.children[1].children] == ["3.0"]  # the last parent is the node
    assert (root.value, root.visits) == (-4.0, 3)


def test_exploration_falls_to_nothing_with_the_budget(begun) -> None:
    for spent, share in ((0, 1.0), (50, 0.5), (100, 0.0), (120, 0.0)):
        run = round_of(begun, [record("0.0", 1.0)], [], spent, "budget.evaluations=100")
        assert exploration_weight(run) == pytest.approx(EXPLORATION * share)
    unbounded = ("budget.evaluations=null", "budget.seconds=5")
    run = round_of(begun, [record("0.0", 1.0)], [], 7, *unbounded)
    assert exploration_weight(run) == EXPLORATION


@pytest.mark.slow
def test_s1_shows_a_whole_line_of_descent_worst_first_and_m1_its_end(begun) -> None:
    folder, model = begun(*settings("mcts_ahd", evaluations=120)), Writer()
    search(folder, model)
    for prompt in model.prompts("s1"):
        scores = [float(line.split("score ")[1].split(",")[0]) for line in prompt.split("\n") if ", score " in line]
        assert scores == sorted(scores, reverse=True)  # less is better
    known = {one.id: one for one in records(folder)}
    lines = [one.candidate.parents for one in known.values() if one.candidate.origin == "s1"]
    assert any(len(line) > 2 for line in lines)
    for line in lines:
        for parent, child in pairwise(line):
            assert known[child].candidate.parents[-1] == parent or known[child].candidate.origin in ("e1", "repair")
    assert all(len(one.candidate.parents) == 1 for one in known.values() if one.candidate.origin in ("m1", "m2"))


def test_rounds_in_flight_take_turns_at_the_most_promising_leaves() -> None:
    def leaf_of(turn: int) -> float:
        root = ProgramNode()
        family = grown(root, 0.1)
        for value in (0.9, 0.8, 0.7):
            grown(family, value)
        grown(root, 0.75)
        grown(root, 0.0)
        return {id(node): name for node, name in zip(family.children, (0.9, 0.8, 0.7), strict=True)}.get(
            id(take_turn(root, 0.0, turn)[1]), 0.75
        )

    assert [leaf_of(turn) for turn in range(4)] == [0.9, 0.8, 0.75, 0.7]


@pytest.mark.slow
def test_the_best_programs_are_expanded_before_long(begun) -> None:
    folder = begun(*settings("mcts_ahd", "strategy.window=4", evaluations=150))
    search(folder)
    known = records(folder)
    last = int(known[-1].id.split(".")[0])
    expanded = {one.candidate.parents[-1] for one in known if one.candidate.origin in ("m1", "m2")}
    best: float = math.inf
    for one in known:
        score = one.candidate.evaluation.score
        if score is not None and score < best:
            best = score
            overtaken = [other for other in known if other.placed and other.candidate.evaluation.score < score]
            soon = overtaken and int(overtaken[0].id.split(".")[0]) - int(one.id.split(".")[0]) < 9
            assert soon or one.id in expanded or int(one.id.split(".")[0]) > last - 9


def test_a_thought_is_asked_for_each_program_that_has_a_score(begun) -> None:
    model = Writer()
    folder = begun(*settings("mcts_ahd"))
    search(folder, model)
    scored_ones = [one for one in records(folder)[1:] if one.placed]
    # The rounds in flight at the end were cut short.
    numbers = sorted({int(one.id.split(".")[0]) for one in records(folder)})
    settled = [one for one in scored_ones if int(one.id.split(".")[0]) <= numbers[-1] - folder.config.strategy.window]
    assert len(settled) > len(scored_ones) / 2
    assert len(settled) <= len(model.prompts("describe")) <= len(scored_ones)
    assert any("Idea: Add " in prompt for prompt in model.prompts("m1"))


def test_an_e1_child_whose_score_a_child_of_the_root_has_already_is_no_node(begun) -> None:
    history = [record("0.0", 9.0), record("1.0", 5.0), record("2.0", 5.0, "0.0", "1.0"), record("3.0", 4.0, "0.0")]
    notes = [RoundNote(number, ROOT, f"print of {number}.0") for number in (1, 2, 3)]
    root = build_tree(round_of(begun, history, notes, 0))
    assert [child.record.id for child in root.children] == ["0.0", "1.0", "3.0"]


def test_e1_draws_two_to_five_times_among_one_member_of_each_family(begun) -> None:
    history = [record(f"{number}.0", 20.0 - number) for number in range(9)]
    history += [record(f"{9 + number}.0", 10.0 - number, f"{number}.0") for number in range(9)]
    run = round_of(begun, history, [], 0)
    root, sizes = build_tree(run), set()
    for _ in range(200):
        drawn = _draw_strangers(run, root)
        families = {int(one.id.split(".")[0]) % 9 for one in drawn}
        assert len(families) == len(drawn)
        sizes.add(len(drawn))
    assert sizes == {1, 2, 3, 4, 5}  # two draws may give one


class Failing(Writer):
    """Writes programs of one kind."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.body = body

    def _answer(self, text: str, rng) -> str:
        if "Python block" not in text:
            return "It fails."
        return f"{{Fail.}}\n```python\ndef guess(x):\n    return {self.body} + {rng.random()}\n```"


def test_a_failure_is_tried_three_times_and_what_runs_out_of_time_once(begun) -> None:
    def slow(job: Job) -> Evaluation:
        return Evaluation(Status.TIMEOUT, message="late", wall_s=1.0) if "1 / 0" in job.source else scored(job)

    for run, tries in ((scored, 3), (slow, 1)):
        model = Failing("1 / 0")
        search(begun(*settings("mcts_ahd", "strategy.window=1", evaluations=13)), model, run=run)
        rounds = Counter(request.key.split(".")[0] for request in model.asked)
        assert [rounds[str(number)] for number in (1, 2, 3)] == [tries] * 3


def test_thoughts_are_asked_for_at_temperature_zero(begun) -> None:
    model = Writer()
    search(begun(*settings("mcts_ahd", evaluations=20)), model)
    assert {one.temperature for one in model.asked if one.role == "describe"} == {0.0}
    assert {one.temperature for one in model.asked if one.role == "m1"} == {None}


# --- a round -----------------------------------------------------------------------------------------------------------


class Grown:
    """Stand-in for the models of a round: programs get scores in turn, and each call is recorded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, run: RoundContext, scores: list[float | str | None]) -> None:
        self.run, self.scores = run, iter(scores)
        self.course: list[tuple[str, list[str], Told, list[str]]] = []
        self.thoughts = 0
        monkeypatch.setattr(mcts_ahd, "apply_operator", self.apply)
        monkeypatch.setattr(mcts_ahd, "_ask_thought", self.ask)

    async def apply(self, run: RoundContext, operator: str, shown: Any, *, paper: Told, descent: Any) -> Candidate:
        self.course.append((operator, [one.id for one in shown], paper, [one.id for one in descent]))
        score = next(self.scores, 1.0)
        made = record("9.9", None if isinstance(score, str) else score).candidate
        if score == "late":
            made = replace(made, evaluation=Evaluation(Status.TIMEOUT))
        return made

    async def ask(self, run: RoundContext, candidate: Candidate) -> None:
        self.thoughts += 1

    @property
    def operators(self) -> list[str]:
        return [operator for operator, *_ in self.course]


HISTORY = [record("0.0", 9.0), record("1.0", 5.0, "0.0"), record("2.0", 7.0, "1.0"), record("3.0", 6.0, "0.0")]


def play(begun, monkeypatch, number: int, scores: list[float | str | None] = (), **changes: Any) -> Grown:
    settings = changes.pop("settings", ())
    run = round_of(begun, HISTORY, [RoundNote(1, ROOT, "print of 1.0")], 0, *settings)
    run.number = number
    run.acting = MCTSSettings(**changes)
    grown_by = Grown(monkeypatch, run, list(scores))
    asyncio.run(mcts_ahd.play_round(run))
    return grown_by


def test_the_first_rounds_make_children_of_the_root(begun, monkeypatch) -> None:
    for number, operator in ((1, "i1"), (2, "e1"), (4, "e1")):
        made = play(begun, monkeypatch, number)
        assert made.operators == [operator]
        assert made.thoughts == 1
        assert [note.text for note in made.run.notes if note.kind == ROOT] == ["print of 9.9"]
        assert (made.course[0][1] == []) == (operator == "i1")
        assert made.course[0][2] is Told.SCORE
    assert play(begun, monkeypatch, 5).operators != ["e1"]
    assert play(begun, monkeypatch, 2, first=1).operators != ["e1"]


def test_other_rounds_widen_the_path_and_expand_its_leaf(begun, monkeypatch) -> None:
    made = play(begun, monkeypatch, 5, settings=("strategy.window=1",))
    # Of the children of the root, that of score 9 has one of score 6, and that of score 5 one of score 7.
    assert made.operators == ["e2", "m1", "m1", "m2", "m2", "s1"]
    assert [shown[-1] for _, shown, *_ in made.course[:5]] == ["3.0"] * 5
    assert [paper for _, _, paper, _ in made.course] == [Told.SCORE, *[Told.NONE] * 4, Told.SCORE]
    last = made.course[-1]
    assert (last[1], last[3]) == (["0.0", "3.0"], ["0.0", "3.0"])
    assert made.thoughts == 6
    assert not made.run.notes
    second = play(begun, monkeypatch, 5, settings=("strategy.window=2",))
    # The second of two rounds takes the other leaf; its line is shown worst first and stored in its order.
    assert second.course[-1][1] == ["2.0", "1.0"]
    assert second.course[-1][3] == ["1.0", "2.0"]


def test_a_leaf_below_the_root_has_no_line_to_show(begun, monkeypatch) -> None:
    run = round_of(begun, HISTORY[:1], [], 0)
    run.number = 5
    run.acting = MCTSSettings()
    made = Grown(monkeypatch, run, [])
    asyncio.run(mcts_ahd.play_round(run))
    assert made.operators == ["e2", "m1", "m1", "m2", "m2"]
    # There is no other program to combine it with.
    assert made.course[0][1] == ["0.0"]


def test_a_program_without_use_is_asked_for_again(begun, monkeypatch) -> None:
    first = {"settings": ("strategy.window=1",)}
    assert play(begun, monkeypatch, 1, [None, 3.0], **first).operators == ["i1"] * 2
    assert play(begun, monkeypatch, 1, [None] * 9, **first).operators == ["i1"] * 3
    assert play(begun, monkeypatch, 1, [None] * 9, tries=2, **first).operators == ["i1"] * 2
    late = play(begun, monkeypatch, 1, ["late", 3.0], **first)
    assert (late.operators, late.thoughts) == (["i1"], 0)
    # The score of a child of the root is met already: 9 and 5, but not 7.
    assert play(begun, monkeypatch, 2, [9.0, 5.0, 4.0], **first).operators == ["e1"] * 3
    assert play(begun, monkeypatch, 2, [7.0], **first).operators == ["e1"]
    assert play(begun, monkeypatch, 1, [9.0], **first).operators == ["i1"]
    assert play(begun, monkeypatch, 2, [9.0, 4.0], **first).thoughts == 2
    assert len(play(begun, monkeypatch, 5, [9.0] * 9, **first).operators) == 6


def test_e2_combines_the_node_with_one_of_the_best_other_programs(begun) -> None:
    history = [record(f"{number}.0", float(number)) for number in range(1, 15)]
    run = round_of(begun, history, [], 0)
    root = build_tree(run)
    node = root.children[2]
    drawn = {tuple(one.id for one in mcts_ahd._shown_programs(run, root, node, "e2")) for _ in range(500)}
    assert {pair[1] for pair in drawn} == {"3.0"}
    # Ten of the eleven best, without the node itself.
    assert {pair[0] for pair in drawn} == {f"{number}.0" for number in range(1, 12) if number != 3}


def test_values_and_visits_of_a_tree_follow_from_its_programs() -> None:
    root = ProgramNode()
    assert (root.visits, root.value, root.fitness) == (0, -math.inf, -math.inf)
    update_values(root, [])
    assert (root.visits, root.value) == (0, -math.inf)
    child = grown(root, 3.0)
    below = grown(child, 2.0)
    assert (root.visits, child.visits, below.visits) == (2, 2, 1)
    assert (child.value, child.fitness) == (2.0, 3.0)
    below.mark_bad(-5.0)
    assert (below.value, child.value, root.value) == (-5.0, -5.0, -5.0)
    assert (below.visits, child.visits, root.visits) == (1, 3, 3)
    assert [*root.below()] == [root, child, below]
