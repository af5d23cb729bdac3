"""One research round, conducted by the *lead*."""

from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.allocation import affordable, small
from oragent.search.strategies.or_agent.branches import Grounds, explored
from oragent.search.strategies.or_agent.ideas import propose
from oragent.search.strategies.or_agent.notes import TREE, UNTRIED
from oragent.search.strategies.or_agent.reflection import learn, learn_from
from oragent.search.strategies.or_agent.start import RoundStart, choose_start
from oragent.search.strategies.or_agent.tree import IdeaNode, IdeaTree


async def round(run: RoundContext) -> None:
    """Choose a root, grow a tree of ideas from it with the best leaf first, experiment on each, and learn."""
    agent = run.own
    start = choose_start(run)
    run.island = start.island
    if start.blind:
        run.case.allowance = small(run)
    tree = IdeaTree(start.programs, run.archive.fitness, start.depth, all_at_root=agent.root_children == "all")
    try:
        memory = await learn(run, start)
        await _grow(run, tree, start, memory)
        if agent.leaves_only and not start.opening:
            run.withhold_all_but({leaf.solution.id for leaf in tree.leaves() if leaf.solution})
    finally:
        run.note(TREE, tree.note(start.elitist, _names(run)).dump())
    await learn_from(run, start)


async def _grow(run: RoundContext, tree: IdeaTree, start: RoundStart, memory: str) -> None:
    """Open leaves until none is left; a root whose ideas all failed has others, as often as the settings say."""
    agent, retries = run.own, run.own.root_retries
    while leaf := tree.best_open() if agent.tree == "best-first" else tree.puct_open(agent.exploration):
        at_root = leaf.parent is None
        count = affordable(run, start.ideas if at_root else agent.children, opening=start.opening)
        ideas = await propose(run, tree, leaf, memory, count)
        grounds = Grounds(leaf, tree.programs(leaf), memory, opening=start.opening)
        surplus = [IdeaNode(0, leaf.depth + 1, leaf.number, idea, None, state=UNTRIED) for idea in ideas[count:]]
        tree.grow(leaf, [*await explored(run, ideas[:count], grounds), *surplus])
        if at_root and retries and all(node.solution is None for node in tree.nodes[1:]):
            leaf.state, retries = "open", retries - 1


def _names(run: RoundContext) -> dict[str, str]:
    """The ids of this round's candidates by their fingerprints, the first of equal ones; a probe is none of them."""
    solutions = [(place, one) for place, one in enumerate(run.candidates) if not one.is_probe]
    return {candidate.fingerprint: f"{run.number}.{place}" for place, candidate in reversed(solutions)}
