"""One research round, conducted by the *lead*."""

from oragent._base.errors import OragentError
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.allocation import affordable_ideas, small_allowance
from oragent.search.strategies.or_agent.branches import Grounds, explore_ideas
from oragent.search.strategies.or_agent.ideas import propose_ideas
from oragent.search.strategies.or_agent.notes import TREE, UNTRIED
from oragent.search.strategies.or_agent.reflection import learn_from, update_memory
from oragent.search.strategies.or_agent.start import RoundStart, choose_start
from oragent.search.strategies.or_agent.tree import IdeaNode, IdeaTree
from oragent.search.strategies.or_agent.waves import play_action


async def play_round(run: RoundContext) -> None:
    """Choose a root, grow a tree of ideas from it with the best leaf first, experiment on each, and learn."""
    agent = run.own
    if agent.rounds == "actions" or (agent.rounds == "auto" and run.style == "strong"):
        await play_action(run)
        return
    start = choose_start(run)
    run.island = start.island
    if start.blind:
        run.case.allowance = small_allowance(run)
    tree = IdeaTree(start.programs, run.archive.fitness, start.depth, all_at_root=agent.root_children == "all")
    try:
        memory = await update_memory(run, start)
        await _grow_tree(run, tree, start, memory)
        if agent.leaves_only and not start.opening:
            run.withhold_all_but({leaf.solution.id for leaf in tree.leaves() if leaf.solution})
    except OragentError:  # not where the round is cancelled: its database may be closed by then
        run.note(TREE, tree.note(start.elitist, _candidate_ids(run)).dump())
        raise
    run.note(TREE, tree.note(start.elitist, _candidate_ids(run)).dump())
    await learn_from(run, start)


async def _grow_tree(run: RoundContext, tree: IdeaTree, start: RoundStart, memory: str) -> None:
    """Open leaves until none is left; a root whose ideas all failed has others, as often as the settings say."""
    agent, retries = run.own, run.own.root_retries
    while leaf := tree.best_open() if agent.tree == "best-first" else tree.puct_open(agent.exploration):
        at_root = leaf.parent is None
        count = affordable_ideas(run, start.ideas if at_root else agent.children, opening=start.opening)
        ideas = await propose_ideas(run, tree, leaf, memory, count)
        grounds = Grounds(leaf, tree.programs(leaf), memory, opening=start.opening)
        surplus = [IdeaNode(0, leaf.depth + 1, leaf.number, idea, None, state=UNTRIED) for idea in ideas[count:]]
        tree.grow(leaf, [*await explore_ideas(run, ideas[:count], grounds), *surplus])
        if at_root and retries and all(node.solution is None for node in tree.nodes[1:]):
            leaf.state, retries = "open", retries - 1


def _candidate_ids(run: RoundContext) -> dict[str, str]:
    """The ids of this round's candidates by their fingerprints, the first of equal ones; a probe is none of them."""
    solutions = [(index, candidate) for index, candidate in enumerate(run.candidates) if not candidate.is_probe]
    return {candidate.fingerprint: f"{run.number}.{index}" for index, candidate in reversed(solutions)}
