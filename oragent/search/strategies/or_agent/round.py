"""One research round, conducted by the *lead*."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from oragent.errors import BudgetExhausted
from oragent.search.candidate import Elite
from oragent.search.prompting import entitle
from oragent.search.run import Run
from oragent.search.selection import cyclic, drawn
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.coding import implement
from oragent.search.strategies.or_agent.experiments import Session, experiment
from oragent.search.strategies.or_agent.ideas import propose
from oragent.search.strategies.or_agent.notes import TREE, UNTRIED
from oragent.search.strategies.or_agent.reflection import recalled, rewrite
from oragent.search.strategies.or_agent.tree import Idea, Node, Tree

__all__ = ["affordable", "round"]

CALLS_AN_IDEA = 2  # model calls that it takes at least, now and then with a repair
OPENING_PART = 5  # one part in so many of the budget may go to the round that fills the archive


@dataclass(frozen=True)
class Start:
    """Where a round starts.

    Attributes:
        programs: Programs at the root, the one to work on last.
        island: Number of the island where its candidates belong.
        elitist: Whether the root is the best program ever, alone.
        opening: Whether it is the first round, which fills the archive.
        ideas: Number of ideas for the root.
        depth: Depth of the tree.
    """

    programs: tuple[Elite, ...]
    island: int
    elitist: bool
    opening: bool
    ideas: int
    depth: int


async def round(run: Run) -> None:
    """Choose a root, grow a tree of ideas from it with the best leaf first, experiment on each, and learn."""
    agent = run.own
    start = choose_start(run)
    run.island = start.island
    tree = Tree(start.programs, run.archive.fitness, start.depth)
    try:
        memory = await _learn(run, start.elitist)
        while leaf := tree.best_open() if agent.tree == "best-first" else tree.puct_open(agent.exploration):
            wanted = start.ideas if leaf.parent is None else agent.children
            count = affordable(run, wanted, opening=start.opening)
            ideas = await propose(run, tree, leaf, memory, count)
            explore = _opened if start.opening else _explored
            islands = [place % run.archive.islands for place in range(len(ideas))] if start.opening else []
            works = [partial(explore, idea=idea, leaf=leaf, start=tree.programs(leaf)) for idea in ideas]
            tree.grow(leaf, await run.fork(works, islands))
    finally:
        run.note(TREE, tree.note(start.elitist, _names(run)).dump())


def affordable(run: Run, wanted: int, *, opening: bool = False) -> int:
    """Number of ideas to ask for: no more than what is left can code, so that none is dropped.

    Args:
        run: Round that asks.
        wanted: Number that the settings want.
        opening: Whether it is for the round that fills the archive, which leaves most of a small budget to rounds that
            learn from each other.
    """
    if run.own.ideas == "settings":
        return wanted
    left, whole = run.case.allowance - run.used, run.settings.budget.room(run.spent)
    bounds = [left.evaluations, (left.model_calls - 1) // CALLS_AN_IDEA]
    if opening:
        bounds += [whole.evaluations // OPENING_PART, whole.model_calls // (CALLS_AN_IDEA * OPENING_PART)]
    return max(1, min(wanted, *bounds))


def choose_start(run: Run) -> Start:
    """The elitist alone in the first round and every so many rounds; else parents drawn from the archive."""
    agent, elitist = run.own, run.archive.best
    if elitist is not None and (run.turn == 1 or run.turn % agent.elitist_period == 0):
        opening = run.turn == 1
        ideas = agent.initial_ideas if opening else agent.children * agent.elitist_enlargement
        return Start((elitist,), run.island, True, opening, ideas, 1 if opening else agent.depth)
    temperature = cyclic(run.turn, agent.selection_temperature, agent.temperature_cycle)
    parents, island = drawn(run.archive, agent.parents, run.rng, temperature)
    ranked = sorted(parents, key=lambda elite: run.archive.fitness(elite.score))
    return Start(tuple(ranked), island, False, False, agent.children, 1 if agent.fast_crossover else agent.depth)


async def _learn(run: Run, elitist: bool) -> str:
    """Recall the long-term memory, and have it rewritten when enough has come together.

    Of the rounds in flight at once, only one does so, or all of them would.
    """
    memory = recalled(run)
    full = len(memory.pending) >= run.own.reflection_period and run.turn % run.window == 0
    return await rewrite(run, memory) if memory.pending and (elitist or full) else memory.text


async def _opened(run: Run, idea: Idea, leaf: Node, start: Sequence[Elite]) -> Node:
    """Implement an idea and leave it at that."""
    return await _explored(run, idea, leaf, start, experiments=False)


async def _explored(run: Run, idea: Idea, leaf: Node, start: Sequence[Elite], experiments: bool = True) -> Node:
    """Implement an idea and experiment on it; what was found before the branch's share was used up is kept."""
    node = Node(0, leaf.depth + 1, leaf.number, idea, None)
    session = None
    try:
        candidate = await implement(run, idea, start)
        solution = telling.scored(candidate)
        if solution is None:
            node.failure = telling.outcome(candidate)
            return node
        entitle(run, solution.source, idea.title)
        session = Session(idea, solution, solution)
        if experiments:
            await experiment(run, session)
    except BudgetExhausted:
        node.state = "open" if session else UNTRIED  # at least not to its end, which is no fault of the idea
    if session:
        node.solution, node.steps, node.report = session.best, session.steps, session.report
    return node


def _names(run: Run) -> dict[str, str]:
    """The ids of this round's candidates by their fingerprints, the first of equal ones; a probe is none of them."""
    solutions = [(place, one) for place, one in enumerate(run.candidates) if not one.is_probe]
    return {candidate.fingerprint: f"{run.number}.{place}" for place, candidate in reversed(solutions)}
