"""The ideas for one leaf, side by side: each is coded and experimented on in a branch of its own.

Every idea has as many experiments, one branch after the other to its end, or they take turns (``allocation: flow``):
after each turn a branch is told what the others have come to, and those that gained on the best have more of the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from oragent._base.errors import BudgetExhausted
from oragent.search.candidate import Elite
from oragent.search.prompting import set_title
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.allocation import allotted_experiments, deal_experiments, experiment_turns
from oragent.search.strategies.or_agent.coding import debug_program, implement_idea
from oragent.search.strategies.or_agent.experiments import ExperimentSession, conclude_session, run_experiments
from oragent.search.strategies.or_agent.notes import UNTRIED
from oragent.search.strategies.or_agent.tree import Idea, IdeaNode, remember_account

MOST_GAIN = 1e9  # times the score: beyond it, a gain from nearly nothing tells no more


@dataclass(frozen=True)
class Grounds:
    """Starting point of the ideas for a leaf.

    Attributes:
        leaf: Leaf that they are for.
        programs: Programs that they start from, the one to work on last.
        memory: Long-term memory, as the round is told it.
        opening: Whether the round only fills the archive: nothing is experimented on.
    """

    leaf: IdeaNode
    programs: tuple[Elite, ...]
    memory: str
    opening: bool


@dataclass
class _Branch:
    """An idea that is explored: its node, and the session on its solution once that is coded."""

    node: IdeaNode
    session: ExperimentSession | None = None
    experiments: int = 0  # that it was dealt

    @property
    def best(self) -> Elite | None:
        return self.session.best if self.session else None


async def explore_ideas(run: RoundContext, ideas: Sequence[Idea], grounds: Grounds) -> list[IdeaNode]:
    """Implement ideas and experiment on them; what was found before a branch's share was used up is kept."""
    islands = [index % run.archive.islands for index in range(len(ideas))] if grounds.opening else []
    taking_turns = run.own.allocation == "flow" and run.own.experiments > 0 and not grounds.opening and len(ideas) > 1
    work = _begin_branch if taking_turns else _explore_alone
    branches = await run.fork([partial(work, idea=idea, grounds=grounds) for idea in ideas], islands)
    if taking_turns:
        await _take_turns(run, branches)
    return [_finish_node(branch) for branch in branches]


async def _explore_alone(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    """Code an idea and experiment on it to the end."""
    branch = await _code_idea(run, idea, grounds)
    if branch.session and not grounds.opening:
        number = (
            allotted_experiments(run, branch.best, grounds.programs)
            if branch.session.may_begin(run.own.from_failure)
            else 0
        )
        await _continue_branch(run, branch, number, is_last=True)
    return branch


async def _begin_branch(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    """Code an idea; what cannot be experimented on comes to its end here."""
    branch = await _code_idea(run, idea, grounds)
    if branch.session and not branch.session.may_begin(run.own.from_failure):
        await _continue_branch(run, branch, 0, is_last=True)
        branch.session.is_over = True
    return branch


async def _code_idea(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    leaf = grounds.leaf
    branch = _Branch(IdeaNode(0, leaf.depth + 1, leaf.number, idea, None))
    try:
        candidate = await implement_idea(run, idea, grounds.programs, grounds.memory)
    except BudgetExhausted:  # not to its end, which is no fault of the idea
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
    """Experiment so many times; where that was the last turn, or the model has stopped, come to the end of it."""
    session = branch.session
    if session is None:
        return
    branch.experiments, session.goes_on = branch.experiments + number, not is_last
    try:
        await run_experiments(run, session, number)
        if is_last or session.is_over:
            await conclude_session(run, session)
            if session.best is None and branch.node.depth == 1:  # a child of the root
                session.mend(await debug_program(run, session.latest, run.own.root_debugging))
    except BudgetExhausted:  # at least not to its end
        return


async def _take_turns(run: RoundContext, branches: Sequence[_Branch]) -> None:
    """Deal experiments out in turns; of all that is left to be used the branches share in the same proportion."""
    options = run.own
    sizes, limit = experiment_turns(options.experiments), max(options.experiments, options.experiments_most)
    live, bar = list(branches), _best_of(run, branches)
    for turn, each in enumerate(sizes, 1):
        live = [
            branch for branch in live if branch.session and not branch.session.is_over and branch.experiments < limit
        ]
        if not live:
            break
        shares, bar = (
            deal_experiments([_branch_gain(run, branch, bar) for branch in live], each),
            _best_of(run, branches),
        )
        numbers = [min(share, limit - branch.experiments) for share, branch in zip(shares, live, strict=True)]
        sessions = [(branch, branch.session) for branch in live if branch.session]
        for branch, session in sessions:
            session.others = prompt_sections.others_section(
                run, [_finish_node(sibling) for sibling in branches if sibling is not branch]
            )
        works = [
            partial(
                _continue_branch,
                branch=branch,
                number=number,
                is_last=turn == len(sizes) or branch.experiments + number >= limit,
            )
            for branch, number in zip(live, numbers, strict=True)
        ]
        await run.fork(works, weights=numbers)


def _best_of(run: RoundContext, branches: Sequence[_Branch]) -> float | None:
    """The fitness of the best solution of some ideas; None where none has any."""
    return max((run.archive.fitness(branch.best.score) for branch in branches if branch.best), default=None)


def _branch_gain(run: RoundContext, branch: _Branch, bar: float | None) -> float:
    """What an idea has come to beyond the best that any had before, as a share of that; 0 where it is no better."""
    if branch.best is None:
        return 0.0
    if bar is None:
        return 1.0
    return min(max(run.archive.fitness(branch.best.score) - bar, 0.0) / max(abs(bar), 1e-12), MOST_GAIN)


def _finish_node(branch: _Branch) -> IdeaNode:
    """The node, with what its session has come to."""
    node, session = branch.node, branch.session
    if session:
        node.solution, node.steps, node.report = session.best, session.steps, session.report
        node.failure = "" if session.best else prompt_sections.describe_outcome(session.latest)
    return node
