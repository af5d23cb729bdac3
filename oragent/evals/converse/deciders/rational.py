"""A decision agent that always reaches its maximum: it asks for its outcomes, best first, until one is possible."""

from collections.abc import Iterator

from oragent.evals.converse.stakeholders import Request, Stakeholder


def ranked_requests(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for each outcome in order of falling utility."""
    yield from stakeholder.outcomes
