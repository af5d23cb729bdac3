"""The islands of TIDE as a run's history makes them: members, stagnation, insights, and what operators have earned."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oragent.search.candidate import Committed
from oragent.search.round_context import RoundContext

EVENT = "tide"  # kind of the notes that say what a round did


@dataclass(frozen=True)
class IslandEvent:
    """Event of a round besides new programs, as stored in a note.

    Attributes:
        island: Number of the island.
        operator: Operator that was applied; empty for none.
        insight: New insight of the island; empty for none.
        lent: Insight that another island sends; empty for none.
        settler: Id of the elite of another island that takes the place of the worst; empty for none.
        reset: Whether the island starts anew with what the round made.
    """

    island: int
    operator: str = ""
    insight: str = ""
    lent: str = ""
    settler: str = ""
    reset: bool = False


@dataclass
class Island:
    """A population.

    Attributes:
        members: Programs, best first, no two of one score.
        since: Number of the island's rounds since it last gained.
        insight: What makes the difference between its best and its worst, in words; empty where nobody has said.
        explained: Id of the elite when that was said.
        lent: What another island sent.
        moved: Number of its rounds since the last migration into it.
    """

    members: list[Committed] = field(default_factory=list)
    since: int = 0
    insight: str = ""
    explained: str = ""
    lent: str = ""
    moved: int = 0


@dataclass
class BanditArm:
    """An operator.

    Attributes:
        plays: Number of rounds that applied it.
        reward: Sum of their rewards.
    """

    plays: int = 0
    reward: float = 0.0


def read_events(run: RoundContext) -> list[tuple[int, IslandEvent]]:
    """Return the events of earlier rounds by round number."""
    return [(note.round, IslandEvent(**_load_object(note.text))) for note in run.recall(EVENT)]


def _load_object(text: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text)
    return values


def replay_islands(run: RoundContext, size: int, arms: dict[str, BanditArm]) -> list[Island]:
    """The islands as they are, and what each arm has earned until now.

    Args:
        run: Round that asks.
        size: Number of members of an island.
        arms: Arms by operator, to be filled in.
    """
    islands = [Island() for _ in range(run.archive.islands)]
    events = dict(read_events(run))
    for number, records in enumerate(run.rounds):
        scored = [record for record in records if record.placed]
        event = events.get(number)
        if event is None:  # the seed and what a run begins with, or a round that the budget cut
            for record in scored:
                home = record.candidate.island
                homes = islands if number == 0 else islands[home : home + 1]
                for island in homes:
                    _merge_scored(run, island, [record], size)
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
    _merge_scored(run, island, scored, size)
    island.since = 0 if earned > 0 else island.since + 1
    island.moved += 1


def relative_gain(fitness: float, best: float) -> float:
    """The reward of a program: its gain over the best so far as a share of that; 0 for none."""
    if not math.isfinite(fitness) or fitness <= best:
        return 0.0
    return (fitness - best) / max(abs(best), 1e-9)


def choose_operator(arms: dict[str, BanditArm], exploration: float, turn: int) -> str:
    """The operator with the highest upper confidence bound, as TIDE has it; those that nobody has tried go before.

    Args:
        arms: Arms by operator.
        exploration: Weight C of the bound C sqrt(2 ln N / n).
        turn: Number of the round: rounds in flight at once try different ones.
    """
    untried = [name for name, arm in arms.items() if not arm.plays]
    if untried:
        return untried[turn % len(untried)]
    total = sum(arm.plays for arm in arms.values())

    def upper_bound(name: str) -> float:
        arm = arms[name]
        return arm.reward / arm.plays + exploration * math.sqrt(2 * math.log(total) / arm.plays)

    return max(arms, key=upper_bound)


def _merge_scored(run: RoundContext, island: Island, scored: Sequence[Committed], size: int) -> None:
    distinct: dict[float, Committed] = {}
    for record in (*island.members, *scored):
        distinct.setdefault(run.fitness(record), record)
    island.members = [distinct[value] for value in sorted(distinct, reverse=True)[:size]]


def _add_settler(run: RoundContext, members: Sequence[Committed], settler: str) -> list[Committed]:
    """Members with the worst replaced by a settler; where it has a score that one of them has, it stays away."""
    found = next((record for record in run.scored if record.id == settler), None)
    if found is None or any(run.fitness(found) == run.fitness(member) for member in members):
        return list(members)
    remaining = members[:-1] if len(members) > 1 else members
    return sorted([*remaining, found], key=run.fitness, reverse=True)
