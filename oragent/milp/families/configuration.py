"""Product configuration: one product of every category within a budget.

The best performance is a multiple-choice knapsack (Sinha & Zoltners 1979, doi:10.1287/opre.27.3.503). The best
performance per cost is a fractional programme: Dinkelbach's method (1967, doi:10.1287/mnsc.13.7.492) solves it by a few
of the same models with other costs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from oragent._base.errors import MilpError
from oragent.milp.families.instance import FamilyInstance, instance_rng, solve_instance
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.solution import SolveStatus
from oragent.milp.solving import PROVEN, solve


def generate_configuration(seed: int, size: int = 3) -> FamilyInstance:
    """``size`` categories, five products each on average, of which some are not to be had."""
    data = generate_products(seed, size, 5 * size)
    text = f"""
        A computer is put together from one product of each of {size} categories. The table `products` gives the
        category, price in EUR, discount in per cent, performance points, whether it is in stock, and whether it is sold
        directly; the price paid is the price less the discount. Only products that are in stock and sold directly may
        be chosen, and all together may cost at most {data["budget"]} EUR. What is the largest sum of performance
        points?"""
    return solve_instance("configuration", seed, size, text, data, build_configuration(data))


def generate_products(seed: int, categories: int, count: int) -> dict[str, Any]:
    """A catalogue of ``count`` products, at least one of every category to be had, and a budget that will do."""
    rng = instance_rng(seed, categories)
    if count < categories:
        raise MilpError(f"{count} products for {categories} categories: expected at least one each")
    table = []
    for number in range(count):
        category = number if number < categories else int(rng.integers(categories))
        table.append(
            {
                "name": f"P{number + 1}",
                "category": f"C{category + 1}",
                "price": int(rng.integers(4, 60)) * 10,
                "discount": int(rng.choice([0, 0, 0, 5, 10, 20])),
                "performance": int(rng.integers(10, 100)),
                "in_stock": bool(number < categories or rng.random() < 0.9),
                "direct_sale": bool(number < categories or rng.random() < 0.95),
            }
        )
    cheapest: dict[str, float] = {}
    for product in table:
        if _is_offered(product):
            category_name = str(product["category"])
            cheapest[category_name] = min(cheapest.get(category_name, float("inf")), discounted_price(product))
    return {"products": table, "budget": int(sum(cheapest.values()) * 1.4) + 1}


def discounted_price(product: Mapping[str, Any]) -> float:
    """The price of a product after its discount."""
    return float(product["price"] * (100 - product["discount"]) / 100)


def _is_offered(product: Mapping[str, Any]) -> bool:
    return bool(product["in_stock"] and product["direct_sale"])


def build_configuration(data: Mapping[str, Any]) -> Milp:
    """The model: the most performance within the budget."""
    offered = [product for product in data["products"] if _is_offered(product)]
    categories = dict.fromkeys(product["category"] for product in offered)
    members = {name: {one["name"]: 1.0 for one in offered if one["category"] == name} for name in categories}
    cost = {product["name"]: discounted_price(product) for product in offered}
    rows = [Row(f"one of {name}", choice, Relation.EQUAL, 1) for name, choice in members.items()]
    rows.append(Row("budget", cost, Relation.AT_MOST, data["budget"], f"at most {data['budget']} EUR"))
    return Milp(
        tuple(Variable(name, 0, 1, VariableKind.INTEGER) for name in cost),
        tuple(rows),
        Objective({product["name"]: product["performance"] for product in offered}, unit="points"),
        Sense.MAXIMIZE,
        "configuration",
    )


@dataclass(frozen=True)
class Configured:
    """The best choice by a ratio.

    Attributes:
        chosen: Names of the products.
        ratio: Performance per cost.
        solves: How many models it took.
    """

    chosen: tuple[str, ...]
    ratio: float
    solves: int


def best_ratio(milp: Milp, cost: Mapping[str, float]) -> Configured:
    """Find the choice with the most of the objective per unit of cost, by Dinkelbach's method.

    Args:
        milp: A maximisation over binary variables; its rows hold.
        cost: Of each variable; of every feasible choice the sum is above 0.

    Raises:
        MilpError: There is no feasible choice.
    """
    ratio, solves = 0.0, 0
    while True:
        terms = {name: value - ratio * cost[name] for name, value in milp.objective.terms.items()}
        solution = solve(replace(milp, objective=Objective(terms)), duals=False)
        solves += 1
        if solution.status is not SolveStatus.OPTIMAL or solution.objective is None:
            raise MilpError(f"no best ratio: the model ended {solution.status}; expected a feasible choice")
        chosen = tuple(name for name, value in solution.values.items() if value > 0.5)
        gained = sum(milp.objective.terms.get(name, 0.0) for name in chosen)
        spent = sum(cost[name] for name in chosen)
        if solution.objective <= PROVEN * max(1.0, gained):  # no choice is above this ratio
            return Configured(chosen, gained / spent, solves)
        ratio = gained / spent
