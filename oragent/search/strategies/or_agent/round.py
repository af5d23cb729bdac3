"""One research round, conducted by the *lead*."""

from functools import partial

from oragent.errors import BudgetExhausted
from oragent.search.prompting import entitle
from oragent.search.run import Run
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.accounts import remember
from oragent.search.strategies.or_agent.allocation import affordable, allotted
from oragent.search.strategies.or_agent.coding import debug, implement
from oragent.search.strategies.or_agent.experiments import Session, experiment
from oragent.search.strategies.or_agent.ideas import propose
from oragent.search.strategies.or_agent.notes import TREE, UNTRIED
from oragent.search.strategies.or_agent.reflection import learn, learn_from
from oragent.search.strategies.or_agent.start import Start, choose_start
from oragent.search.strategies.or_agent.tree import Idea, Node, Tree

__all__ = ["round"]


async def round(run: Run) -> None:
    """Choose a root, grow a tree of ideas from it with the best leaf first, experiment on each, and learn."""
    agent = run.own
    start = choose_start(run)
    run.island = start.island
    tree = Tree(start.programs, run.archive.fitness, start.depth, all_at_root=agent.root_children == "all")
    try:
        memory = await learn(run, start)
        await _grow(run, tree, start, memory)
        if agent.leaves_only and not start.opening:
            run.withhold_all_but({leaf.solution.id for leaf in tree.leaves() if leaf.solution})
    finally:
        run.note(TREE, tree.note(start.elitist, _names(run)).dump())
    await learn_from(run, start)


async def _grow(run: Run, tree: Tree, start: Start, memory: str) -> None:
    """Open leaves until none is left; a root whose ideas all failed has others, as often as the settings say."""
    agent, retries = run.own, run.own.root_retries
    while leaf := tree.best_open() if agent.tree == "best-first" else tree.puct_open(agent.exploration):
        at_root = leaf.parent is None
        count = affordable(run, start.ideas if at_root else agent.children, opening=start.opening)
        ideas = await propose(run, tree, leaf, memory, count)
        islands = [place % run.archive.islands for place in range(len(ideas))] if start.opening else []
        works = [partial(_explored, idea=idea, leaf=leaf, tree=tree, start=start, memory=memory) for idea in ideas]
        tree.grow(leaf, await run.fork(works, islands))
        if at_root and retries and all(node.solution is None for node in tree.nodes[1:]):
            leaf.state, retries = "open", retries - 1


async def _explored(run: Run, idea: Idea, leaf: Node, tree: Tree, start: Start, memory: str) -> Node:
    """Implement an idea and experiment on it; what was found before the branch's share was used up is kept."""
    agent, node, parents = run.own, Node(0, leaf.depth + 1, leaf.number, idea, None), tree.programs(leaf)
    session = None
    try:
        candidate = await implement(run, idea, parents, memory)
        session = Session(idea, parents, candidate, telling.scored(candidate), memory)
        if session.best is not None:
            entitle(run, session.best.source, idea.title)
            remember(run, session.best.source, idea)
        if not start.opening and session.may_begin(agent.from_failure):
            await experiment(run, session, allotted(run, session.best, parents))
        if session.best is None and leaf.parent is None and not start.opening:
            session.mend(await debug(run, session.latest, agent.root_debugging))
    except BudgetExhausted:
        node.state = "open" if session else UNTRIED  # at least not to its end, which is no fault of the idea
    if session:
        node.solution, node.steps, node.report = session.best, session.steps, session.report
        node.failure = "" if session.best else telling.outcome(session.latest)
    return node


def _names(run: Run) -> dict[str, str]:
    """The ids of this round's candidates by their fingerprints, the first of equal ones; a probe is none of them."""
    solutions = [(place, one) for place, one in enumerate(run.candidates) if not one.is_probe]
    return {candidate.fingerprint: f"{run.number}.{place}" for place, candidate in reversed(solutions)}
