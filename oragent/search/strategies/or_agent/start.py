"""Where a round starts: with the opening, with the elitist alone, or with parents drawn from the archive."""

from dataclasses import dataclass

from oragent.search.candidate import Elite
from oragent.search.round_context import RoundContext
from oragent.search.selection import cyclic_temperature, draw_by_softmax


@dataclass(frozen=True)
class RoundStart:
    """Where a round starts.

    Attributes:
        programs: Programs at the root, the one to work on last.
        island: Number of the island where its candidates belong.
        elitist: Whether the root is the best program ever, alone.
        opening: Whether it is the first round, which fills the archive.
        blind: Whether it begins beside the opening, and so sees nothing but the seed.
        ideas: Number of ideas for the root.
        depth: Depth of the tree.
    """

    programs: tuple[Elite, ...]
    island: int
    elitist: bool
    opening: bool
    ideas: int
    depth: int
    blind: bool = False


def choose_start(run: RoundContext) -> RoundStart:
    """The seed in the opening, the elitist alone every so many rounds after it, else parents drawn from the archive."""
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
    blind = agent.idea_count == "budget" and len({elite.source for elite in run.archive.elites()}) == 1  # the seed
    depth = 1 if agent.fast_crossover or blind else agent.depth
    return RoundStart(tuple(ranked), island, False, False, ideas, depth, blind)


def _home_island(run: RoundContext, elitist: Elite) -> int:
    """The island of what starts from the elitist: each in turn, or where the study's go, its own."""
    if run.own.parents_from == "islands":
        return run.island
    homes = (
        island
        for island in range(run.archive.islands)
        for elite in run.archive.ranked(island)
        if elite.id == elitist.id
    )
    return next(homes, run.island)


def _is_elitist(run: RoundContext) -> bool:
    """Whether this round, which is not the opening, starts from the elitist: the first that sees the opening does.

    One round in flight: rounds 2, 13, 24 ..., which are 1, 12, 23 ... of those after the opening, as published.
    """
    agent = run.own
    if agent.opening_counts:
        return bool(run.turn % agent.elitist_period == 0)
    since = run.turn - 1 - run.window
    return bool(since >= 0 and since % agent.elitist_period == 0)
