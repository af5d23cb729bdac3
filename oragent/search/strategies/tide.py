"""TIDE: islands of different syntax trees, operators chosen by a bandit, constants tuned without the model.

Chen et al. 2026 (arXiv:2601.21239; no public code). Each of six islands keeps its eight best programs. A round belongs
to one island. A bandit (UCB) chooses one of five operators: ``e1`` and ``e2`` start from parents drawn by tournament,
``m1``, ``m2`` and ``m3`` change the elite. If the score of a child is near that of the elite, differential evolution
tunes its constants. The model explains the difference between the island's best and worst programs (the insight), and
prompts of the island show it. After two rounds without a gain, an island receives a migration from the island with the
best elite. If the syntax trees of the two islands are similar, that elite replaces the worst program; otherwise prompts
show the other island's insight. After eight rounds without a gain, the island restarts with a program whose structure
differs from that of the best of all.

Differences from the paper: constants are found in the syntax tree; the paper asks the model to name them. Rounds
overlap. The similarity of islands is the mean over pairs of their best three programs; trees that are too large are
compared by tokens. Prompts show all figures (``strategy.show=paper``: scores in the two prompts that have them in the
paper, no figures in others). The paper leaves open the following choices: tournaments of two, two parents, one bandit
for all islands, F 0.5, CR 0.9, boxes of half a constant, "near the elite" within 5 %, at most half of the evaluations
for tuning, an insight for each new elite of an island, and the island with the best elite as the source of migrations.
"""

import asyncio
import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT
from oragent.llm.dialogue import PromptPart
from oragent.programs.parser_client import ParseLimitExceeded, request
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting.programs import Told, show_program, shown_figures
from oragent.search.round_context import RoundContext
from oragent.search.selection import best_records
from oragent.search.strategies.operators import apply_operator, ask_reflector
from oragent.search.strategies.tuning import EVOLVED, MEMBERS, evolve_constants
from oragent.search.strategy import Strategy

OPERATORS = ("e1", "e2", "m1", "m2", "m3")
EXPLORING = ("e1", "e2")
# Operators whose prompts show the insight of another island.
INFORMED = ("e1", "e2", "m1")
# Largest number of words of an insight, about two short paragraphs.
WORDS = 200
# Number of best programs of each island that are compared for similarity.
COMPARED = 3
# Kind of notes that hold the event of a round.
EVENT = "tide"


@dataclass(frozen=True, config=STRICT)
class TideSettings:
    """Settings under ``strategy.options``.

    Attributes:
        population: Number of programs that an island keeps.
        exploration: Weight of exploration in the choice of operators.
        parents: Number of programs in prompts of ``e1`` and ``e2``.
        tournament: Number of programs of a tournament, whose best becomes a parent.
        stagnation: Number of an island's rounds without a gain after which it restarts.
        migration: Number of rounds between two migrations into an island without gains.
        similarity: Similarity of islands above which a program migrates instead of an insight.
        competitive: Gap to the elite, as a share of its score, within which a child's constants are tuned.
        tuning: Maximum share of the evaluations for tuning; 0: constants are not tuned.
        tuning_evaluations: Maximum number of evaluations of one tuning.
        trials: Number of trials of a member in a tuning, which are scored in parallel.
    """

    population: Annotated[int, Ge(2)] = 8
    exploration: Annotated[float, Ge(0)] = 2**0.5
    parents: Annotated[int, Ge(1)] = 2
    tournament: Annotated[int, Ge(1)] = 2
    stagnation: Annotated[int, Ge(1)] = 8
    migration: Annotated[int, Ge(1)] = 2
    similarity: Annotated[float, Ge(0), Le(1)] = 0.7
    competitive: Annotated[float, Ge(0)] = 0.05
    tuning: Annotated[float, Ge(0), Le(0.9)] = 0.5
    tuning_evaluations: Annotated[int, Gt(0)] = 15
    trials: Annotated[int, Ge(1)] = 3


@dataclasses.dataclass(frozen=True)
class IslandEvent:
    """Event of a round, apart from its new programs; it is stored in a note."""

    # Number of the island.
    island: int
    # Operator that was applied; empty for none.
    operator: str = ""
    # New insight of the island; empty for none.
    insight: str = ""
    # Insight received from another island; empty for none.
    lent: str = ""
    # Id of another island's elite that replaces the worst program; empty for none.
    settler: str = ""
    # Whether the island restarts with the programs of the round.
    reset: bool = False


@dataclasses.dataclass
class Island:
    """Population of an island."""

    # Programs of different scores, best first.
    members: list[Committed] = dataclasses.field(default_factory=list)
    # Number of the island's rounds since its last gain.
    since: int = 0
    # Explanation of the difference between its best and its worst program. Empty if none was asked yet.
    insight: str = ""
    # Id of the elite that the insight explains.
    explained: str = ""
    # Insight received from another island.
    lent: str = ""
    # Number of its rounds since the last migration into it.
    moved: int = 0


@dataclasses.dataclass
class BanditArm:
    """Arm of the bandit: an operator's number of rounds and the sum of their rewards."""

    plays: int = 0
    reward: float = 0.0


def read_events(run: RoundContext) -> list[tuple[int, IslandEvent]]:
    """Return the events of earlier rounds by round number."""
    return [(note.round, IslandEvent(**json.loads(note.text))) for note in run.recall(EVENT)]


def replay_islands(run: RoundContext, size: int, arms: dict[str, BanditArm]) -> list[Island]:
    """Return the current islands, and update ``arms`` with the rewards of earlier rounds."""
    islands = [Island() for _ in range(run.archive.islands)]
    events = dict(read_events(run))
    for number, records in enumerate(run.rounds):
        scored = [record for record in records if record.placed]
        event = events.get(number)
        # This round contained the seed or other initial programs, or the budget ended it early.
        if event is None:
            for record in scored:
                home = record.candidate.island
                homes = islands if number == 0 else islands[home : home + 1]
                for island in homes:
                    island.members = best_records([*island.members, record], run.fitness, size)
            continue
        _play_event(run, islands[event.island], event, scored, size, arms)
    return islands


def _play_event(
    run: RoundContext,
    island: Island,
    event: IslandEvent,
    scored: Sequence[Committed],
    size: int,
    arms: dict[str, BanditArm],
) -> None:
    leader = island.members[0] if island.members else None
    if event.insight:
        island.insight, island.explained = event.insight, leader.id if leader else ""
    if event.lent or event.settler:
        island.lent, island.moved = event.lent or island.lent, 0
        island.members = _add_settler(run, island.members, event.settler)
    if event.reset and scored:
        island.members, island.since, island.moved = list(scored[:1]), 0, 0
        island.insight = island.explained = island.lent = ""
        return
    best = max(map(run.fitness, scored), default=-math.inf)
    earned = relative_gain(best, run.fitness(leader)) if leader else 0.0
    if event.operator in arms:
        arms[event.operator].plays += 1
        arms[event.operator].reward += earned
    island.members = best_records([*island.members, *scored], run.fitness, size)
    island.since = 0 if earned > 0 else island.since + 1
    island.moved += 1


def relative_gain(fitness: float, best: float) -> float:
    """Return the reward of a program: its relative gain over the best so far; 0 without a gain."""
    if not math.isfinite(fitness) or fitness <= best:
        return 0.0
    return (fitness - best) / max(abs(best), 1e-9)


def choose_operator(arms: dict[str, BanditArm], exploration: float, turn: int) -> str:
    """Return the operator with the highest upper confidence bound of TIDE. Untried operators come first.

    The bound is the mean reward plus C sqrt(2 ln N / n). Rounds that run at the same time take different operators, by
    ``turn``.
    """
    untried = [name for name, arm in arms.items() if not arm.plays]
    if untried:
        return untried[turn % len(untried)]
    total = sum(arm.plays for arm in arms.values())

    def upper_bound(name: str) -> float:
        arm = arms[name]
        return arm.reward / arm.plays + exploration * math.sqrt(2 * math.log(total) / arm.plays)

    return max(arms, key=upper_bound)


def _add_settler(run: RoundContext, members: Sequence[Committed], settler: str) -> list[Committed]:
    """Return the members with the worst one replaced by ``settler``; unchanged if a member has the same score."""
    settled = next((record for record in run.scored if record.id == settler), None)
    if settled is None or any(run.fitness(settled) == run.fitness(member) for member in members):
        return list(members)
    remaining = members[:-1] if len(members) > 1 else members
    return sorted([*remaining, settled], key=run.fitness, reverse=True)


async def play_round(run: RoundContext) -> None:
    """Run a round of one island: restart it, or explain, migrate, write a program and tune it."""
    options: TideSettings = run.own
    arms = {name: BanditArm() for name in OPERATORS}
    islands = replay_islands(run, options.population, arms)
    island = islands[run.island]
    if island.since >= options.stagnation:
        await _start_anew(run, islands, island)
        return
    event = IslandEvent(run.island)
    if island.since >= options.migration and island.moved >= options.migration and len(islands) > 1:
        event = await _migrate_best(run, islands, island)
    if len(island.members) > 1 and island.explained != island.members[0].id:
        event = replace(event, insight=await _ask_insight(run, island))
    operator = choose_operator(arms, options.exploration, run.turn)
    event = replace(event, operator=operator)
    run.note(EVENT, json.dumps(asdict(event)))
    parents = _draw_by_tournament(run, island.members) if operator in EXPLORING else island.members[:1]
    words = [event.insight or island.insight]
    if operator in INFORMED:
        words += [event.lent or island.lent]
    insights = [*filter(None, words)]
    insight_text = "\n\n".join(["", "What seems to make programs here good or bad:", *insights]) if insights else ""
    child = await apply_operator(run, f"tide_{operator}", parents, more={"insight": insight_text})
    await _tune_child(run, child, island)


def _draw_by_tournament(run: RoundContext, members: Sequence[Committed]) -> list[Committed]:
    remaining, won = list(range(len(members))), list[int]()
    while remaining and len(won) < run.own.parents:
        drawn = run.rng.permutation(len(remaining))[: run.own.tournament]
        won.append(remaining.pop(int(min(drawn))))
    return [members[index] for index in sorted(won, reverse=True)]


async def _tune_child(run: RoundContext, child: Candidate, island: Island) -> None:
    options: TideSettings = run.own
    if child.score is None or not options.tuning or run.repeats(child):
        return
    best = run.fitness(island.members[0])
    if run.archive.fitness(child.score) < best - options.competitive * abs(best):
        return
    tuned_count = sum(record.candidate.origin == EVOLVED for record in run.history)
    allowance = options.tuning * (run.spent.evaluations + options.tuning_evaluations) - tuned_count
    limit = min(options.tuning_evaluations, int(allowance), run.case.allowance.evaluations - run.used.evaluations)
    if limit >= MEMBERS - 1 + options.trials:
        await evolve_constants(run, Elite.of(child), limit, options.trials)


async def _ask_insight(run: RoundContext, island: Island) -> str:
    figures = shown_figures(run, Told.SCORE)
    best, worst = (Elite.of(record) for record in (island.members[0], island.members[-1]))
    programs = [show_program("The worst", worst, detail=figures) + "\n", show_program("The best", best, detail=figures)]
    return await ask_reflector(run, "tide_insight", [PromptPart("programs", programs, keep=2)], longest=WORDS)


async def _migrate_best(run: RoundContext, islands: Sequence[Island], island: Island) -> IslandEvent:
    others = [neighbour for neighbour in islands if neighbour is not island and neighbour.members]
    sender = max(others, key=lambda neighbour: run.fitness(neighbour.members[0]))
    if run.own.similarity < await asyncio.to_thread(mean_likeness, sender.members, island.members):
        return IslandEvent(run.island, settler=sender.members[0].id)
    return IslandEvent(run.island, lent=sender.insight)


def mean_likeness(first: Sequence[Committed], second: Sequence[Committed]) -> float:
    """Return the mean similarity of the best programs of two islands, in [0, 1]."""
    pairs = [(record.source, partner.source) for record in first[:COMPARED] for partner in second[:COMPARED]]
    return sum(_program_likeness(*pair) for pair in pairs) / len(pairs)


def _program_likeness(first: str, second: str) -> float:
    if first == second:
        return 1.0
    try:
        share = request("likeness", first=first, second=second).get("share")
    except ParseLimitExceeded:
        # Comparing these programs could take too long.
        return 0.0
    if isinstance(share, int | float) and 0 <= share <= 1:
        return float(share)
    return 0.0


async def _start_anew(run: RoundContext, islands: Sequence[Island], island: Island) -> None:
    best = max((populated.members[0] for populated in islands if populated.members), key=run.fitness)
    run.note(EVENT, json.dumps(asdict(IslandEvent(run.island, reset=True))))
    stuck = island.members[0]
    shown = [best] if stuck.id == best.id else [stuck, best]
    await apply_operator(run, "tide_reset", shown, paper=Told.SCORE)


STRATEGY = Strategy(
    name="tide", round=play_round, remembers=True, islands=6, window=4, blocks=Blocks.NONE, settings=TideSettings
)
