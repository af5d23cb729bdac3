"""One research round, conducted by the *lead*."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from oragent.errors import BudgetExhausted
from oragent.search.candidate import Elite
from oragent.search.run import Run
from oragent.search.selection import cyclic, drawn
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.coding import implement
from oragent.search.strategies.or_agent.experiments import Session, experiment
from oragent.search.strategies.or_agent.ideas import propose
from oragent.search.strategies.or_agent.notes import TREE, UNTRIED
from oragent.search.strategies.or_agent.reflection import recalled, rewrite
from oragent.search.strategies.or_agent.tree import Idea, Node, Tree

__all__ = ["round"]


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
            count = start.ideas if leaf.parent is None else agent.children
            ideas = await propose(run, tree, leaf, memory, count)
            explore = _opened if start.opening else _explored
            islands = [place % run.archive.islands for place in range(len(ideas))] if start.opening else []
            works = [partial(explore, idea=idea, leaf=leaf, start=tree.programs(leaf)) for idea in ideas]
            tree.grow(leaf, await run.fork(works, islands))
    finally:
        run.note(TREE, tree.note(start.elitist, _names(run)).dump())


def choose_start(run: Run) -> Start:
    """The elitist alone in the first round and every so many rounds; else parents drawn from the archive."""
    agent, elitist = run.own, run.archive.best
    if elitist is not None and (run.number == 1 or run.number % agent.elitist_period == 0):
        opening = run.number == 1
        ideas = agent.initial_ideas if opening else agent.children * agent.elitist_enlargement
        return Start((elitist,), run.island, True, opening, ideas, 1 if opening else agent.depth)
    temperature = cyclic(run.number, agent.selection_temperature, agent.temperature_cycle)
    parents, island = drawn(run.archive, agent.parents, run.rng, temperature)
    ranked = sorted(parents, key=lambda elite: run.archive.fitness(elite.score))
    return Start(tuple(ranked), island, False, False, agent.children, 1 if agent.fast_crossover else agent.depth)


async def _learn(run: Run, elitist: bool) -> str:
    """Recall the long-term memory, and have it rewritten when enough has come together.

    Of the rounds in flight at once, only one does so, or all of them would.
    """
    memory = recalled(run)
    full = len(memory.pending) >= run.own.reflection_period and run.number % run.window == 0
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
