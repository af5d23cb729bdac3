"""How many programs make a first population, where a budget may be too small for the paper's."""

from oragent.search.round_context import RoundContext

PART, LEAST = 5, 4  # of a small budget: one part in so many makes the first population, and so many at least


def first_population(run: RoundContext, configured: int | None, published: int) -> int:
    """Size of the first population; 0 where strategies share a run, whose archive takes its place.

    Args:
        run: Round that asks.
        configured: Size that the settings say; None: they say none.
        published: Size that the paper has, which a smaller budget cuts to a fifth of it.
    """
    if configured is not None:
        return configured
    if run.turns is not None:  # of a shared run, whose archive is the first population
        return 0
    budget = run.settings.budget
    bounds = [bound for bound in (budget.evaluations, budget.model_calls) if bound is not None]
    return max(LEAST, min([published, *(bound // PART for bound in bounds)]))
