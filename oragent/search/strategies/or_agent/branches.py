"""The ideas for one leaf, side by side: each is coded and experimented on in a branch of its own.

Every idea has as many experiments, one branch after the other to its end, or they take turns (``allocation: flow``):
after each turn a branch is told what the others have come to, and those that gained on the best have more of the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from oragent._base.errors import BudgetExhausted
from oragent.search.candidate import Elite
from oragent.search.prompting import entitle
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.accounts import remember
from oragent.search.strategies.or_agent.allocation import allotted, dealt, turns
from oragent.search.strategies.or_agent.coding import debug, implement
from oragent.search.strategies.or_agent.experiments import ExperimentSession, conclude, experiment
from oragent.search.strategies.or_agent.notes import UNTRIED
from oragent.search.strategies.or_agent.tree import Idea, IdeaNode

MOST_GAIN = 1e9  # times the score: beyond it, a gain from nearly nothing tells no more


@dataclass(frozen=True)
class Grounds:
    """What the ideas for a leaf start from.

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
    done: int = 0  # experiments that it was dealt

    @property
    def best(self) -> Elite | None:
        return self.session.best if self.session else None


async def explored(run: RoundContext, ideas: Sequence[Idea], grounds: Grounds) -> list[IdeaNode]:
    """Implement ideas and experiment on them; what was found before a branch's share was used up is kept."""
    islands = [place % run.archive.islands for place in range(len(ideas))] if grounds.opening else []
    taking_turns = run.own.allocation == "flow" and run.own.experiments > 0 and not grounds.opening and len(ideas) > 1
    work = _begun if taking_turns else _alone
    branches = await run.fork([partial(work, idea=idea, grounds=grounds) for idea in ideas], islands)
    if taking_turns:
        await _take_turns(run, branches)
    return [_settled(branch) for branch in branches]


async def _alone(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    """Code an idea and experiment on it to the end."""
    branch = await _coded(run, idea, grounds)
    if branch.session and not grounds.opening:
        number = allotted(run, branch.best, grounds.programs) if branch.session.may_begin(run.own.from_failure) else 0
        await _experimented(run, branch, number, is_last=True)
    return branch


async def _begun(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    """Code an idea; what cannot be experimented on comes to its end here."""
    branch = await _coded(run, idea, grounds)
    if branch.session and not branch.session.may_begin(run.own.from_failure):
        await _experimented(run, branch, 0, is_last=True)
        branch.session.is_over = True
    return branch


async def _coded(run: RoundContext, idea: Idea, grounds: Grounds) -> _Branch:
    leaf = grounds.leaf
    branch = _Branch(IdeaNode(0, leaf.depth + 1, leaf.number, idea, None))
    try:
        candidate = await implement(run, idea, grounds.programs, grounds.memory)
    except BudgetExhausted:  # not to its end, which is no fault of the idea
        branch.node.state = UNTRIED
        return branch
    branch.session = ExperimentSession(
        idea, grounds.programs, candidate, prompt_sections.scored(candidate), grounds.memory
    )
    if branch.best is not None:
        entitle(run, branch.best.source, idea.title)
        remember(run, branch.best.source, idea)
    return branch


async def _experimented(run: RoundContext, branch: _Branch, number: int, *, is_last: bool) -> None:
    """Experiment so many times; where that was the last turn, or the model has stopped, come to the end of it."""
    session = branch.session
    if session is None:
        return
    branch.done, session.goes_on = branch.done + number, not is_last
    try:
        await experiment(run, session, number)
        if is_last or session.is_over:
            await conclude(run, session)
            if session.best is None and branch.node.depth == 1:  # a child of the root
                session.mend(await debug(run, session.latest, run.own.root_debugging))
    except BudgetExhausted:  # at least not to its end
        return


async def _take_turns(run: RoundContext, branches: Sequence[_Branch]) -> None:
    """Deal experiments out in turns; of all that is left to be used the branches share in the same proportion."""
    own = run.own
    sizes, most = turns(own.experiments), max(own.experiments, own.experiments_most)
    live, bar = list(branches), _best_of(run, branches)
    for turn, each in enumerate(sizes, 1):
        live = [one for one in live if one.session and not one.session.is_over and one.done < most]
        if not live:
            break
        shares, bar = dealt([_gained(run, one, bar) for one in live], each), _best_of(run, branches)
        numbers = [min(share, most - one.done) for share, one in zip(shares, live, strict=True)]
        sessions = [(one, one.session) for one in live if one.session]
        for one, session in sessions:
            session.others = prompt_sections.others(run, [_settled(other) for other in branches if other is not one])
        works = [
            partial(_experimented, branch=one, number=number, is_last=turn == len(sizes) or one.done + number >= most)
            for one, number in zip(live, numbers, strict=True)
        ]
        await run.fork(works, weights=numbers)


def _best_of(run: RoundContext, branches: Sequence[_Branch]) -> float | None:
    """The fitness of the best solution of some ideas; None where none has any."""
    return max((run.archive.fitness(one.best.score) for one in branches if one.best), default=None)


def _gained(run: RoundContext, branch: _Branch, bar: float | None) -> float:
    """What an idea has come to beyond the best that any had before, as a share of that; 0 where it is no better."""
    if branch.best is None:
        return 0.0
    if bar is None:
        return 1.0
    return min(max(run.archive.fitness(branch.best.score) - bar, 0.0) / max(abs(bar), 1e-12), MOST_GAIN)


def _settled(branch: _Branch) -> IdeaNode:
    """The node, with what its session has come to."""
    node, session = branch.node, branch.session
    if session:
        node.solution, node.steps, node.report = session.best, session.steps, session.report
        node.failure = "" if session.best else prompt_sections.outcome(session.latest)
    return node
