"""Expected cost of a comparison: the sum over its unfinished runs."""

from pathlib import Path

from oragent.evals.compare.plan import cell_config, read_request
from oragent.evals.requests import CompareRequest
from oragent.evaluation.problem import find_problem
from oragent.llm.estimates import SpendingEstimate, add_estimates
from oragent.llm.prices import project_prices
from oragent.search.config import build_config
from oragent.search.spending import estimate_search


def estimate_comparison(request: CompareRequest, root: Path) -> tuple[SpendingEstimate, float]:
    """Return the expected cost of a comparison, and the limit above which to ask the user.

    Raises:
        ConfigError: The request is wrong.
    """
    plan = read_request(request, root)
    prices = project_prices(plan.root)
    problems = {name: find_problem(str(folder or name), plan.root) for name, folder in plan.subjects.items()}
    estimates = [estimate_search(cell_config(plan, cell), problems[cell.subject], prices) for cell in plan.cells]
    common = build_config(dict(plan.settings), [], "the comparison")
    return add_estimates(estimates), common.budget.confirm
