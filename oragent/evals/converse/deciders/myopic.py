"""A decision agent that gives up whole wishes: it asks for all of them, and drops the lightest while they clash."""

from collections.abc import Iterator

from oragent.evals.converse.stakeholders import Request, Stakeholder


def first(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for the first wish alone, once."""
    yield (stakeholder.wishes[0].asked,)


def requests(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for all wishes, then without the one of least weight, and so on; of equal ones the first goes first."""
    kept = list(stakeholder.wishes)
    while True:
        yield tuple(wish.asked for wish in kept)
        if not kept:
            return
        kept.remove(min(kept, key=lambda wish: wish.weight))
