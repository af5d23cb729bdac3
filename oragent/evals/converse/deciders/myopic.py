"""A decision agent that gives up whole wishes: it asks for all of them, and drops the lightest while they clash."""

from collections.abc import Iterator

from oragent.evals.converse.stakeholders import Request, Stakeholder


def first_request(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for the first wish alone, once."""
    yield (stakeholder.wishes[0].asked,)


def dropping_requests(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for all wishes, then without the one of least weight, and so on; of equal ones the first goes first."""
    wishes = list(stakeholder.wishes)
    while True:
        yield tuple(wish.asked for wish in wishes)
        if not wishes:
            return
        wishes.remove(min(wishes, key=lambda wish: wish.weight))
