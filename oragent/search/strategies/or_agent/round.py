"""One research round: a tree of ideas, each implemented and improved by experiments in its own branch.

By default, every idea for a leaf gets the same number of experiments, and each branch runs to its end. With
``allocation: flow``, branches take turns. After each turn, the prompts of a branch show the results of the others, and
branches that improved on the best get more experiments in the next turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from oragent._base.errors import BudgetExhausted, OragentError
from oragent.search.candidate import Elite
from oragent.search.prompting.search_summary import set_title
from oragent.search.round_context import RoundContext
from oragent.search.selection import cyclic_temperature, draw_by_softmax
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.action_round import play_action
from oragent.search.strategies.or_agent.allocation import (
    affordable_ideas,
    deal_experiments,
    experiment_turns,
    small_allowance,
)
from oragent.search.strategies.or_agent.coding import debug_program, implement_idea
from oragent.search.strategies.or_agent.experiments import ExperimentSession, conclude_session, run_experiments
from oragent.search.strategies.or_agent.ideas import propose_ideas
from oragent.search.strategies.or_agent.reflection import learn_from, update_memory
from oragent.search.strategies.or_agent.tree import TREE, UNTRIED, Idea, IdeaNode, IdeaTree, remember_account

# Maximum relative gain, because gains from a score near zero would be larger.
MAX_GAIN = 1e9


@dataclass(frozen=True)
class RoundStart:
    """Starting point of a round."""

    # Programs at the root. The last one is to be changed.
    programs: tuple[Elite, ...]
    # Number of the island of its candidates.
    island: int
    # True if the best program of the run is the only program at the root.
    elitist: bool
    # True for the first round, which fills the archive.
    opening: bool
    # Number of ideas for the root.
    ideas: int
    # Depth of the tree.
    depth: int
    # True if the round begins during the opening, so that it knows only the seed.
    blind: bool = False


def choose_start(run: RoundContext) -> RoundStart:
    """Return the starting point.

    It is the seed in the opening, the best program periodically, and else parents from the archive.
    """
    agent, elitist = run.own, run.archive.best
    opening = run.turn == 1
    if elitist is not None and (opening or _is_elitist(run)):
        ideas = agent.initial_ideas if opening else int(agent.children * agent.elitist_enlargement)
        return RoundStart((elitist,), _home_island(run, elitist), True, opening, ideas, 1 if opening else agent.depth)

    def island_temperature(island: int) -> float:
        number = run.turn if agent.temperature_by == "round" else run.archive.added(island)
        return cyclic_temperature(number, agent.selection_temperature, agent.temperature_cycle)

    together = agent.parents_from == "island"
    parents, island = draw_by_softmax(run.archive, agent.parents, run.rng, island_temperature, together=together)
    ranked = sorted(parents, key=lambda elite: run.archive.fitness(elite.score))
    ideas = agent.crossover_ideas or agent.children
    # The round is blind if the archive has only the seed.
    blind = agent.idea_count == "budget" and len({elite.source for elite in run.archive.elites()}) == 1
    depth = 1 if agent.fast_crossover or blind else agent.depth
    return RoundStart(tuple(ranked), island, False, False, ideas, depth, blind)


def _home_island(run: RoundContext, elitist: Elite) -> int:
    """Return the island of an elitist round: islands in turn, or as in the study the island of the elitist."""
    if run.own.parents_from == "islands":
        return run.island
    archive = run.archive
    homes = (at for at in range(archive.islands) if elitist.id in [elite.id for elite in archive.ranked(at)])
    return next(homes, run.island)


def _is_elitist(run: RoundContext) -> bool:
    """Return True for an elitist round. After the opening, the first round that knows the opening's results is elitist.

    If rounds run one at a time, these are rounds 2, 13, 24 ..., or 1, 12, 23 ... after the opening, as published.
    """
    agent = run.own
    if agent.opening_counts:
        return bool(run.turn % agent.elitist_period == 0)
    since = run.turn - 1 - run.window
    return bool(since >= 0 and since % agent.elitist_period == 0)


async def play_round(run: RoundContext) -> None:
    """Choose a root and grow a tree of ideas from it, best leaf first. Experiment on each, and update the memory."""
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
        memory = await update_memory(run, elitist=start.elitist)
        await _grow_tree(run, tree, start, memory)
        if agent.leaves_only and not start.opening:
            run.withhold_all_but({leaf.solution.id for leaf in tree.leaves() if leaf.solution})
    except OragentError:
        # A cancelled round stores no note, because the database may be closed already.
        run.note(TREE, tree.note(start.elitist, _candidate_ids(run)).dump())
        raise
    run.note(TREE, tree.note(start.elitist, _candidate_ids(run)).dump())
    await learn_from(run, elitist=start.elitist)


async def _grow_tree(run: RoundContext, tree: IdeaTree, start: RoundStart, memory: str) -> None:
    agent, retries = run.own, run.own.root_retries
    while leaf := tree.best_open():
        at_root = leaf.parent is None
        count = affordable_ideas(run, start.ideas if at_root else agent.children, opening=start.opening)
        ideas = await propose_ideas(run, tree, leaf, memory, count)
        grounds = Grounds(leaf, tree.programs(leaf), memory, opening=start.opening)
        surplus = [IdeaNode(leaf.depth + 1, leaf.number, idea, None, state=UNTRIED) for idea in ideas[count:]]
        tree.grow(leaf, [*await explore_ideas(run, ideas[:count], grounds), *surplus])
        if at_root and retries and all(node.solution is None for node in tree.nodes[1:]):
            leaf.state, retries = "open", retries - 1


def _candidate_ids(run: RoundContext) -> dict[str, str]:
    solutions = [(index, candidate) for index, candidate in enumerate(run.candidates) if not candidate.is_probe]
    return {candidate.fingerprint: f"{run.number}.{index}" for index, candidate in reversed(solutions)}


@dataclass(frozen=True)
class Grounds:
    """Starting point of the ideas for a leaf; the opening has no experiments."""

    leaf: IdeaNode
    programs: tuple[Elite, ...]
    memory: str
    opening: bool


@dataclass
class _Branch:
    """Branch of one idea: its node, and the session on its solution once it is implemented."""

    node: IdeaNode
    session: ExperimentSession | None = None
    # Number of allocated experiments.
    experiments: int = 0

    @property
    def best(self) -> Elite | None:
        if self.session:
            return self.session.best
        return None


async def explore_ideas(run: RoundContext, ideas: Sequence[Idea], grounds: Grounds) -> list[IdeaNode]:
    """Implement ideas and experiment on them. A branch keeps its results when its share of the budget is used up."""
    islands = [index % run.archive.islands for index in range(len(ideas))] if grounds.opening else []
    taking_turns = run.own.allocation == "flow" and run.own.experiments > 0 and not grounds.opening and len(ideas) > 1
    work = _begin_branch if taking_turns else _explore_alone
    branches = await run.fork([partial(work, idea=idea, grounds=grounds) for idea in ideas], islands)
    if taking_turns:
        await _take_turns(run, branches)
    return [_finish_node(branch) for branch in branches]


async def _explore_alone(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    branch = await _code_idea(run, idea, grounds)
    if branch.session and not grounds.opening:
        may_begin = branch.session.may_begin(run.own.from_failure)
        await _continue_branch(run, branch, run.own.experiments if may_begin else 0, is_last=True)
    return branch


async def _begin_branch(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    branch = await _code_idea(run, idea, grounds)
    if branch.session and not branch.session.may_begin(run.own.from_failure):
        await _continue_branch(run, branch, 0, is_last=True)
        branch.session.is_over = True
    return branch


async def _code_idea(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    leaf = grounds.leaf
    branch = _Branch(IdeaNode(leaf.depth + 1, leaf.number, idea, None))
    try:
        candidate = await implement_idea(run, idea, grounds.programs, grounds.memory)
    except BudgetExhausted:
        # The budget ended before the idea was implemented.
        branch.node.state = UNTRIED
        return branch
    branch.session = ExperimentSession(
        idea, grounds.programs, candidate, prompt_sections.scored_parent(candidate), grounds.memory
    )
    if branch.best is not None:
        set_title(run, branch.best.source, idea.title)
        remember_account(run, branch.best.source, idea)
    return branch


async def _continue_branch(run: RoundContext, branch: _Branch, number: int, *, is_last: bool) -> None:
    """Run ``number`` experiments. Conclude the session after the last turn, or when the model chose STOP."""
    session = branch.session
    if session is None:
        return
    branch.experiments, session.goes_on = branch.experiments + number, not is_last
    try:
        await run_experiments(run, session, number)
        if is_last or session.is_over:
            await conclude_session(run, session)
            # The node is a child of the root.
            if session.best is None and branch.node.depth == 1:
                session.mend(await debug_program(run, session.latest, run.own.root_debugging))
    except BudgetExhausted:
        # The budget ended before the turn did.
        return


async def _take_turns(run: RoundContext, branches: Sequence[_Branch]) -> None:
    """Allocate experiments in turns. Branches share the remaining budget in the same proportion."""
    options = run.own
    sizes, limit = experiment_turns(options.experiments), max(options.experiments, options.experiments_most)
    live, bar = list(branches), _best_of(run, branches)
    for turn, each in enumerate(sizes, 1):
        live = [
            branch for branch in live if branch.session and not branch.session.is_over and branch.experiments < limit
        ]
        if not live:
            break
        shares = deal_experiments([_branch_gain(run, branch, bar) for branch in live], each)
        bar = _best_of(run, branches)
        numbers = [min(share, limit - branch.experiments) for share, branch in zip(shares, live, strict=True)]
        sessions = [(branch, branch.session) for branch in live if branch.session]
        for branch, session in sessions:
            session.others = prompt_sections.others_section(
                run, [_finish_node(sibling) for sibling in branches if sibling is not branch]
            )
        pairs = zip(live, numbers, strict=True)
        dealt = [
            (branch, number, turn == len(sizes) or branch.experiments + number >= limit) for branch, number in pairs
        ]
        works = [
            partial(_continue_branch, branch=branch, number=number, is_last=last) for branch, number, last in dealt
        ]
        await run.fork(works, weights=numbers)


def _best_of(run: RoundContext, branches: Sequence[_Branch]) -> float | None:
    return max((run.archive.fitness(branch.best.score) for branch in branches if branch.best), default=None)


def _branch_gain(run: RoundContext, branch: _Branch, bar: float | None) -> float:
    """Return the relative gain of an idea over the earlier best of all ideas; 0 if it is not better."""
    if branch.best is None:
        return 0.0
    if bar is None:
        return 1.0
    return min(max(run.archive.fitness(branch.best.score) - bar, 0.0) / max(abs(bar), 1e-12), MAX_GAIN)


def _finish_node(branch: _Branch) -> IdeaNode:
    node, session = branch.node, branch.session
    if session:
        node.solution, node.steps, node.report = session.best, session.steps, session.report
        if session.best:
            node.failure = ""
        else:
            node.failure = prompt_sections.describe_outcome(session.latest)
    return node
