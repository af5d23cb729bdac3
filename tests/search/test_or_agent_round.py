"""The course of a research round: where it starts, how its tree grows, and how branches take turns."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.errors import BudgetExhausted, OragentError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import PROBE, Candidate, Elite
from oragent.search.journal import Moment
from oragent.search.selection import cyclic_temperature
from oragent.search.store import RoundNote
from oragent.search.strategies.or_agent import round as research
from oragent.search.strategies.or_agent.experiments import ExperimentSession
from oragent.search.strategies.or_agent.round import Grounds, RoundStart, _Branch
from oragent.search.strategies.or_agent.settings import AgentSettings
from oragent.search.strategies.or_agent.tree import TREE, UNTRIED, Idea, IdeaNode, IdeaTree, TreeNote


def elite(name: str, score: float, source: str = "") -> Elite:
    return Elite(id=name, source=source or f"program {name}", score=score, features=None, metrics={})


def candidate(name: str, score: float | None = None, origin: str = "code", message: str = "") -> Candidate:
    evaluation = Evaluation(Status.ERROR if score is None else Status.OK, score, message=message, wall_s=0.1)
    return Candidate(
        source=f"program {name}",
        fingerprint=name,
        parents=(),
        origin=origin,
        island=0,
        call=0,
        evaluation=evaluation,
    )


def archive(islands: Sequence[Sequence[Elite]]) -> Archive:
    built = Archive(Direction.MINIMIZE, len(islands))
    for island, elites in enumerate(islands):
        for one in elites:
            built.add(one, island)
    return built


class Round(SimpleNamespace):
    """A round without an engine. Branches are the round itself; forks are recorded."""

    def note(self, kind: str, text: str) -> None:
        self.notes.append(RoundNote(self.number, kind, text))

    async def fork(
        self, works: Sequence[Callable[[Any], Any]], islands: Sequence[int] = (), weights: Sequence[int] = ()
    ) -> list[Any]:
        self.forks.append((len(works), [*islands], [*weights]))
        return [await work(self) for work in works]

    def withhold_all_but(self, fingerprints: set[str]) -> None:
        self.withheld.append(fingerprints)


def make_run(built: Archive | None = None, **changes: Any) -> Any:
    """A round of an archive with one program; settings of the strategy may be changed by their names."""
    settings = {name: value for name, value in changes.items() if name in AgentSettings.__dataclass_fields__}
    given: dict[str, Any] = {"number": 1, "turn": 5, "window": 1, "island": 3, "style": "small"}
    given |= {name: value for name, value in changes.items() if name not in settings}
    return Round(
        archive=built or archive([[elite("0.0", 9.0)]]), own=AgentSettings(**settings), rng=np.random.default_rng(0),
        candidates=[], notes=[], written=(), memory=(), moment=Moment(), forks=[], withheld=[],
        case=SimpleNamespace(allowance=Spent(evaluations=100, model_calls=200)), spent=Spent(),
        settings=SimpleNamespace(budget=Budget(evaluations=100)), problem=SimpleNamespace(seed=""), **given,
    )  # fmt: skip


# --- the start -------------------------------------------------------------------------------------------------------


def test_the_opening_starts_from_the_best_program_with_many_ideas() -> None:
    best = elite("1.0", 3.0)
    run = make_run(archive([[elite("0.0", 9.0)], [best]]), turn=1, initial_ideas=7, depth=4)
    assert research.choose_start(run) == RoundStart((best,), 3, True, True, 7, 1)


def test_an_elitist_round_starts_from_the_best_program_with_more_ideas() -> None:
    best = elite("1.0", 3.0)
    islands = [[elite("0.0", 9.0)], [elite("0.1", 8.0), best]]
    options = {"turn": 2, "children": 2, "elitist_enlargement": 2.9, "depth": 4}
    assert research.choose_start(make_run(archive(islands), **options)) == RoundStart((best,), 3, True, False, 5, 4)
    home = research.choose_start(make_run(archive(islands), parents_from="island", **options))
    assert home.island == 1
    lost = archive(islands)
    lost.keep_only(lambda name: name != "1.0")
    assert research.choose_start(make_run(lost, parents_from="island", **options)).island == 3


@pytest.mark.parametrize(
    ("window", "period", "counts", "elitist"),
    [
        (1, 11, False, [2, 13, 24]),
        (1, 11, True, [11, 22]),
        (3, 4, False, [4, 8, 12, 16, 20, 24]),
        (3, 6, True, [6, 12, 18, 24]),
        (2, 25, False, [3]),
    ],
)
def test_every_so_many_rounds_after_the_opening_are_elitist(
    window: int, period: int, counts: bool, elitist: list[int]
) -> None:
    found = [
        turn
        for turn in range(1, 26)
        if research._is_elitist(make_run(turn=turn, window=window, elitist_period=period, opening_counts=counts))
    ]
    assert found == elitist


def test_other_rounds_start_from_drawn_parents_the_best_last() -> None:
    programs = [elite(f"{number}.0", float(number)) for number in range(1, 6)]
    run = make_run(archive([programs, programs]), parents=3, children=4, depth=5)
    start = research.choose_start(run)
    scores = [parent.score for parent in start.programs]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
    assert (start.elitist, start.opening, start.ideas, start.depth, start.blind) == (False, False, 4, 5, False)
    assert research.choose_start(make_run(archive([programs]), crossover_ideas=1)).ideas == 1
    assert research.choose_start(make_run(archive([programs]), fast_crossover=True, depth=5)).depth == 1


@pytest.mark.parametrize(("count", "blind"), [("budget", True), ("settings", False)])
def test_a_round_that_knows_only_the_seed_is_blind_and_flat(count: str, blind: bool) -> None:
    copies = archive([[elite("0.0", 9.0, "seed")], [elite("0.1", 9.0, "seed")]])
    start = research.choose_start(make_run(copies, idea_count=count, depth=4))
    assert (start.blind, start.depth) == (blind, 1 if blind else 4)
    two = archive([[elite("0.0", 9.0, "seed")], [elite("0.1", 9.0, "other")]])
    assert not research.choose_start(make_run(two, idea_count=count)).blind


@pytest.mark.parametrize(("by", "numbers"), [("round", [15, 15]), ("island", [3, 1])])
@pytest.mark.parametrize("together", [False, True])
def test_parents_are_drawn_at_the_temperature_of_the_round_or_of_their_island(
    by: str, numbers: list[int], together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []

    def draw(built: Archive, count: int, rng: Any, temperature: Any, *, together: bool) -> tuple[list[Elite], int]:
        drawn.extend([count, rng, temperature(0), temperature(1), together])
        return [elite("1.0", 1.0)], 2

    monkeypatch.setattr(research, "draw_by_softmax", draw)
    islands = archive([[elite("0.0", 9.0), elite("0.1", 8.0), elite("0.2", 7.0)], [elite("0.3", 9.0)]])
    run = make_run(
        islands, turn=15, temperature_by=by, selection_temperature=0.7, temperature_cycle=8, parents=3,
        parents_from="island" if together else "islands",
    )  # fmt: skip
    start = research.choose_start(run)
    assert drawn == [3, run.rng, *(cyclic_temperature(number, 0.7, 8) for number in numbers), together]
    assert start.island == 2


# --- the round as a whole --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounds", "style", "acts"),
    [("actions", "small", True), ("auto", "strong", True), ("auto", "small", False), ("tree", "strong", False)],
)
def test_a_round_is_a_tree_or_an_action(rounds: str, style: str, acts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    course: list[str] = []
    for name in ("play_action", "_grow_tree", "update_memory", "learn_from"):

        async def note(*_: Any, name: str = name, **__: Any) -> str:
            course.append(name)
            return ""

        monkeypatch.setattr(research, name, note)
    asyncio.run(research.play_round(make_run(rounds=rounds, style=style)))
    assert course == (["play_action"] if acts else ["update_memory", "_grow_tree", "learn_from"])


def grow_by(monkeypatch: pytest.MonkeyPatch, work: Callable[[Any, IdeaTree, RoundStart], None]) -> list[Any]:
    """Replace the parts of a round that ask a model; return what they were called with."""
    told: list[Any] = []

    async def update_memory(run: Any, *, elitist: bool) -> str:
        told.append(("memory", elitist))
        return "known"

    async def learn_from(run: Any, *, elitist: bool) -> None:
        told.append(("learn", elitist))

    async def grow(run: Any, tree: IdeaTree, start: RoundStart, memory: str) -> None:
        told.append(("grow", memory))
        work(run, tree, start)

    monkeypatch.setattr(research, "update_memory", update_memory)
    monkeypatch.setattr(research, "learn_from", learn_from)
    monkeypatch.setattr(research, "_grow_tree", grow)
    return told


def add_leaf(run: Any, tree: IdeaTree, start: RoundStart) -> None:
    found = candidate("print", 2.0)
    run.candidates += [candidate("print", 2.0, PROBE), found, found]
    tree.grow(tree.nodes[0], [IdeaNode(1, 0, Idea("t", "i"), Elite.of(found))])


@pytest.mark.parametrize("turn", [1, 2, 5])
def test_a_round_stores_its_tree_and_then_learns_from_it(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told = grow_by(monkeypatch, add_leaf)
    run = make_run(archive([[elite("0.0", 9.0), elite("0.1", 8.0)], [elite("0.2", 7.0)]]), turn=turn, number=4)
    asyncio.run(research.play_round(run))
    elitist = turn <= 2
    assert told == [("memory", elitist), ("grow", "known"), ("learn", elitist)]
    (stored,) = [TreeNote.load(note.text) for note in run.notes if note.kind == TREE]
    assert stored.elitist is elitist
    # The first solution with the fingerprint; a probe is none.
    assert [node.candidate for node in stored.nodes[1:]] == ["4.1"]
    assert run.withheld == []


@pytest.mark.parametrize(("turn", "withheld"), [(1, []), (5, [{"print"}])])
def test_with_leaves_only_the_inner_programs_of_a_tree_are_withheld(
    turn: int, withheld: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    grow_by(monkeypatch, add_leaf)
    run = make_run(turn=turn, leaves_only=True, idea_count="settings")
    asyncio.run(research.play_round(run))
    assert run.withheld == withheld


def test_a_round_that_fails_stores_its_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run: Any, tree: IdeaTree, start: RoundStart) -> None:
        raise OragentError("the server is gone")

    told = grow_by(monkeypatch, fail)
    run = make_run(turn=1)
    with pytest.raises(OragentError):
        asyncio.run(research.play_round(run))
    (stored,) = run.notes
    assert (stored.kind, TreeNote.load(stored.text).elitist) == (TREE, True)
    assert ("learn", True) not in told


def test_a_round_takes_the_island_of_its_parents_and_a_blind_one_little_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = grow_by(monkeypatch, lambda run, tree, start: None)
    programs = archive([[], [elite("0.0", 9.0), elite("0.1", 8.0)]])
    run = make_run(programs)
    asyncio.run(research.play_round(run))
    assert run.island == 1
    assert run.case.allowance.evaluations == 100
    blind = make_run()
    asyncio.run(research.play_round(blind))
    assert blind.case.allowance.evaluations == 20
    assert len(told) == 6


def test_the_tree_of_a_round_has_the_depth_and_rules_of_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    trees: list[IdeaTree] = []
    grow_by(monkeypatch, lambda run, tree, start: trees.append(tree))
    for children in ("all", "better"):
        run = make_run(archive([[elite("0.0", 9.0), elite("0.1", 8.0)]]), turn=2, depth=2, root_children=children)
        asyncio.run(research.play_round(run))
        tree = trees.pop()
        worse = IdeaNode(1, 0, Idea("t", "i"), elite("1.0", 99.0))
        tree.grow(tree.nodes[0], [worse])
        assert worse.state == ("open" if children == "all" else "worse")
        good = IdeaNode(2, 1, Idea("t", "i"), elite("1.1", 1.0))
        tree.grow(worse, [good])
        assert good.state == "closed"


# --- the growth of the tree ------------------------------------------------------------------------------------------


class Growth:
    """Ideas and their results by the call; counts are those that the budget allows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, results: Sequence[Sequence[float | None]], count: int) -> None:
        self.results, self.count = iter(results), count
        self.counts: list[tuple[int, bool]] = []
        self.grounds: list[Grounds] = []
        self.asked: list[tuple[int, str]] = []
        monkeypatch.setattr(research, "affordable_ideas", self.afford)
        monkeypatch.setattr(research, "propose_ideas", self.propose)
        monkeypatch.setattr(research, "explore_ideas", self.explore)

    def afford(self, run: Any, ideas: int, *, opening: bool = False) -> int:
        self.counts.append((ideas, opening))
        return min(ideas, self.count)

    async def propose(self, run: Any, tree: IdeaTree, leaf: IdeaNode, memory: str, count: int) -> list[Idea]:
        self.asked.append((count, memory))
        self.scores = next(self.results, [])
        return [Idea(f"idea {at}", "text") for at in range(len(self.scores))]

    async def explore(self, run: Any, ideas: Sequence[Idea], grounds: Grounds) -> list[IdeaNode]:
        self.grounds.append(grounds)
        leaf = grounds.leaf
        return [
            IdeaNode(leaf.depth + 1, leaf.number, idea, None if score is None else elite(idea.title, score))
            for idea, score in zip(ideas, self.scores, strict=False)
        ]


def grow(monkeypatch: pytest.MonkeyPatch, results: Sequence[Sequence[float | None]], **changes: Any) -> Any:
    count = changes.pop("count", 9)
    opening = changes.pop("opening", False)
    growth = Growth(monkeypatch, results, count)
    run = make_run(**changes)
    tree = IdeaTree([elite("0.0", 9.0)], run.archive.fitness, 2)
    start = RoundStart(tree.start, 0, True, opening, 5, 2)
    asyncio.run(research._grow_tree(run, tree, start, "known"))
    return tree, growth


def test_the_root_gets_the_ideas_of_the_start_and_other_leaves_those_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, growth = grow(monkeypatch, [[7.0, 8.0], [6.0], []], children=3)
    assert growth.counts == [(5, False), (3, False), (3, False)]
    assert growth.asked == [(5, "known"), (3, "known"), (3, "known")]
    assert [ground.leaf.number for ground in growth.grounds] == [0, 1, 2]
    assert [ground.programs[-1].score for ground in growth.grounds] == [9.0, 7.0, 8.0]
    assert not any(ground.opening for ground in growth.grounds)
    assert all(ground.memory == "known" for ground in growth.grounds)
    _, opening = grow(monkeypatch, [[7.0]], opening=True)
    assert opening.counts[0] == (5, True)
    assert opening.grounds[0].opening


def test_ideas_beyond_the_budget_are_nodes_that_were_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, _ = grow(monkeypatch, [[7.0, 8.0, 6.0], [5.0, 4.0]], count=1)
    found = [(node.number, node.depth, node.parent, node.idea.title, node.state) for node in tree.nodes[1:]]
    assert found == [
        (1, 1, 0, "idea 0", "grown"),
        (2, 1, 0, "idea 1", UNTRIED),
        (3, 1, 0, "idea 2", UNTRIED),
        (4, 2, 1, "idea 0", "closed"),
        (5, 2, 1, "idea 1", UNTRIED),
    ]


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (2, 3)])
def test_a_root_of_which_no_idea_works_is_asked_again(
    retries: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, growth = grow(monkeypatch, [[None], [None, None], [None], [None]], root_retries=retries)
    assert len(growth.asked) == calls
    tree, growth = grow(monkeypatch, [[None], [8.0], [None]], root_retries=4)
    # The failure of a child of another node does not count.
    assert len(growth.asked) == 3
    assert [node.solution is None for node in tree.nodes[1:]] == [True, False, True]
    _, growth = grow(monkeypatch, [[10.0]], root_retries=4)
    assert len(growth.asked) == 1


# --- branches --------------------------------------------------------------------------------------------------------

GROUNDS = Grounds(IdeaNode(1, 0, None, None, number=2), (elite("0.0", 9.0),), "known", opening=False)
OPENING = replace(GROUNDS, opening=True)
IDEAS = [Idea("a", "first"), Idea("b", "second"), Idea("c", "third")]


class Course:
    """Stand-ins for the calls of a branch: programs by idea, and experiments that gain by idea."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, scores: dict[str, float | None]) -> None:
        self.scores = scores
        self.gains: dict[str, float] = {}
        self.experiments: list[tuple[str, int, bool, str]] = []
        self.concluded: list[str] = []
        self.debugged: list[tuple[str, int]] = []
        self.mended: float | None = None
        self.exhausted: set[str] = set()
        self.stopped: set[str] = set()
        for name in ("implement_idea", "run_experiments", "conclude_session", "debug_program"):
            monkeypatch.setattr(research, name, getattr(self, name))
        monkeypatch.setattr(research.prompt_sections, "others_section", self.others_section)
        monkeypatch.setattr(research.prompt_sections, "describe_outcome", lambda latest: latest.evaluation.message)

    async def implement_idea(self, run: Any, idea: Idea, programs: Any, memory: str) -> Candidate:
        assert (programs, memory) == (GROUNDS.programs, GROUNDS.memory)
        if idea.title not in self.scores:
            raise BudgetExhausted("no evaluation is left")
        return candidate(idea.title, self.scores[idea.title], message="failed")

    async def run_experiments(self, run: Any, session: ExperimentSession, number: int) -> None:
        title = session.idea.title
        self.experiments.append((title, number, session.goes_on, session.others))
        if title in self.exhausted:
            raise BudgetExhausted("no evaluation is left")
        session.is_over = title in self.stopped
        if session.best is not None:
            session.best = replace(session.best, score=session.best.score - self.gains.get(title, 0.0))

    async def conclude_session(self, run: Any, session: ExperimentSession) -> None:
        self.concluded.append(session.idea.title)
        session.report = f"report of {session.idea.title}"

    async def debug_program(self, run: Any, latest: Candidate, most: int) -> Candidate:
        self.debugged.append((latest.fingerprint, most))
        return candidate("mended", self.mended)

    def others_section(self, run: Any, nodes: Sequence[IdeaNode]) -> str:
        return " ".join(node.idea.title for node in nodes if node.idea)


def explore(run: Any, ideas: Sequence[Idea], grounds: Grounds = GROUNDS) -> list[IdeaNode]:
    return asyncio.run(research.explore_ideas(run, ideas, grounds))


def test_even_branches_have_all_their_experiments_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, {"a": 5.0, "b": None})
    run = make_run(archive([[elite("0.0", 9.0)], []]), allocation="even", experiments=4, from_failure="never")
    nodes = explore(run, IDEAS)
    assert course.experiments == [("a", 4, False, ""), ("b", 0, False, "")]
    assert course.concluded == ["a", "b"]
    assert run.forks == [(3, [], [])]
    assert [(node.depth, node.parent, node.idea.title, node.state) for node in nodes] == [
        (2, 2, "a", "open"), (2, 2, "b", "open"), (2, 2, "c", UNTRIED),
    ]  # fmt: skip
    assert [node.solution and node.solution.score for node in nodes] == [5.0, None, None]
    assert [node.failure for node in nodes] == ["", "failed", ""]
    assert [node.report for node in nodes] == ["report of a", "report of b", ""]


def test_a_failure_is_experimented_on_if_the_settings_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, {"b": None})
    explore(make_run(allocation="even", experiments=4, from_failure="always"), IDEAS[1:2])
    assert course.experiments == [("b", 4, False, "")]


def test_the_opening_has_no_experiments_and_fills_the_islands(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, {"a": 5.0, "b": 4.0, "c": 3.0})
    run = make_run(archive([[elite("0.0", 9.0)], []]), experiments=4)
    nodes = explore(run, IDEAS, OPENING)
    assert (course.experiments, course.concluded) == ([], [])
    assert run.forks == [(3, [0, 1, 0], [])]
    assert [node.solution and node.solution.score for node in nodes] == [5.0, 4.0, 3.0]


def test_titles_and_accounts_are_stored_for_programs_with_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    Course(monkeypatch, {"a": 5.0, "b": None})
    run = make_run(allocation="even", experiments=0)
    explore(run, IDEAS)
    kinds = [note.kind for note in run.notes]
    assert sorted(kinds) == ["account", "title"]
    assert run.notes[kinds.index("title")].text.partition(" ")[2] == "a"
    account = json.loads(run.notes[kinds.index("account")].text.partition(" ")[2])
    assert account["idea"] == IDEAS[0].account


@pytest.mark.parametrize(("depth", "mended"), [(0, True), (1, False)])
def test_a_child_of_the_root_that_still_fails_is_repaired_further(
    depth: int, mended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = Course(monkeypatch, {"a": None, "b": 5.0})
    course.mended = 7.0
    grounds = replace(GROUNDS, leaf=IdeaNode(depth, 0, None, None, number=2))
    nodes = explore(make_run(allocation="even", experiments=1, root_debugging=3), IDEAS[:2], grounds)
    assert course.debugged == [("a", 3)] * mended
    assert [node.solution and node.solution.score for node in nodes] == [7.0 if mended else None, 5.0]
    assert nodes[0].failure == ("" if mended else "failed")


def test_a_branch_whose_budget_ends_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, {"a": 5.0})
    course.exhausted = {"a"}
    (node,) = explore(make_run(allocation="even", experiments=2), IDEAS[:1])
    assert course.concluded == []
    assert node.solution is not None


@pytest.mark.parametrize(
    ("changes", "ideas", "grounds"),
    [({"allocation": "even"}, 2, GROUNDS), ({"experiments": 0}, 2, GROUNDS), ({}, 2, OPENING), ({}, 1, GROUNDS)],
)
def test_an_idea_alone_or_without_experiments_takes_no_turns(
    changes: dict[str, Any], ideas: int, grounds: Grounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = Course(monkeypatch, {"a": 5.0, "b": None})
    run = make_run(**({"experiments": 8, "from_failure": "always", "root_debugging": 2} | changes))
    explore(run, IDEAS[:ideas], grounds)
    assert len(run.forks) == 1
    assert bool(course.concluded) == (grounds is GROUNDS)


def test_branches_take_turns_and_those_that_gain_have_more(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, {"a": 5.0, "b": 5.0})
    course.gains = {"a": 1.0}
    run = make_run(experiments=8, experiments_most=9)
    nodes = explore(run, IDEAS[:2])
    # Two each at first; the one that gains gets the rest of each turn, up to its limit.
    assert course.experiments == [
        ("a", 2, True, "b"), ("b", 2, True, "a"), ("a", 3, True, "b"), ("b", 1, True, "a"),
        ("a", 3, True, "b"), ("b", 1, True, "a"), ("a", 1, False, "b"), ("b", 1, False, "a"),
    ]  # fmt: skip
    assert [weights for _, _, weights in run.forks] == [[], [2, 2], [3, 1], [3, 1], [1, 1]]
    assert course.concluded == ["a", "b"]
    assert [node.solution and node.solution.score for node in nodes] == [1.0, 5.0]


def test_a_branch_at_its_limit_or_that_is_over_leaves_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(monkeypatch, {"a": 5.0, "b": 5.0})
    course.gains = {"a": 1.0}
    single = make_run(experiments=1)
    explore(single, IDEAS[:2])
    assert [weights for _, _, weights in single.forks] == [[], [1, 1]]
    course.experiments.clear()
    explore(make_run(experiments=4, experiments_most=3), IDEAS[:2])
    # The limit is never below the mean number of experiments.
    assert [(title, number, goes_on) for title, number, goes_on, _ in course.experiments] == [
        ("a", 1, True), ("b", 1, True), ("a", 3, False), ("b", 1, True), ("b", 1, False)
    ]  # fmt: skip
    stopping = Course(monkeypatch, {"a": 5.0, "b": 5.0, "c": None})
    stopping.stopped = {"b"}
    run = make_run(experiments=8, from_failure="never")
    explore(run, IDEAS)
    assert [title for title, *_ in stopping.experiments] == ["c", "a", "b", "a", "a", "a"]
    assert [number for title, number, *_ in stopping.experiments if title == "a"] == [2, 2, 2, 2]
    # The failing one and the one that stopped ended before.
    assert stopping.concluded == ["c", "b", "a"]
    assert [goes_on for title, _, goes_on, _ in stopping.experiments if title == "c"] == [False]


def test_the_gain_of_a_branch_is_relative_to_the_best_of_all_before() -> None:
    run = make_run()
    branches = [_Branch(IdeaNode(1, 0, None, None)) for _ in range(3)]
    for branch, score in zip(branches, (4.0, 5.0, None), strict=True):
        latest = candidate("p", score)
        best = None if score is None else Elite.of(latest)
        branch.session = ExperimentSession(IDEAS[0], (), latest, best)
    assert research._best_of(run, branches) == -4.0
    assert research._best_of(run, branches[2:]) is None
    assert research._best_of(run, [_Branch(IdeaNode(1, 0, None, None))]) is None
    gains = [[research._branch_gain(run, branch, bar) for branch in branches] for bar in (-8.0, -4.5, None, 0.0)]
    assert gains == [[0.5, 0.375, 0.0], [pytest.approx(1 / 9), 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    negative = _Branch(branches[0].node)
    negative.session = ExperimentSession(IDEAS[0], (), candidate("p", -3.0), elite("p", -3.0))
    assert research._branch_gain(run, negative, 0.0) == research.MAX_GAIN
    assert research._branch_gain(run, negative, 1.0) == 2.0
