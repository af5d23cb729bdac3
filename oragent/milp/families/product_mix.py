"""Product mix: what to make with limited machine hours; a linear programme (Dantzig 1963)."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable

PRODUCTS = "tables chairs desks shelves beds cabinets benches stools drawers frames panel"
MACHINES = "saw lathe sander press drill oven station"


def generate(seed: int, size: int = 4) -> FamilyInstance:
    """A workshop with ``size`` products and about half as many machines."""
    rng = stream(seed, size)
    products, machines = names(PRODUCTS, size), names(MACHINES, size // 2 + 1)
    profit = {product: int(rng.integers(20, 90)) for product in products}
    demand = {product: int(rng.integers(20, 60)) for product in products}
    hours = {machine: {product: int(rng.integers(1, 9)) for product in products} for machine in machines}
    total = {machine: sum(hours[machine][p] * demand[p] for p in products) for machine in machines}
    capacity = {machine: int(total[machine] * rng.uniform(0.4, 0.8)) for machine in machines}
    text = f"""
        A workshop makes {listed(products)}, in any amounts, fractions included. A unit earns
        {listed([f"{profit[p]} EUR for {p}" for p in products])}. At most
        {listed([f"{demand[p]} units of {p}" for p in products])} can be sold a week. Machine hours a week are limited:
        {listed([f"{capacity[m]} hours on the {m}" for m in machines])}.
        {" ".join(_needs(machine, hours[machine]) for machine in machines)}
        Which amounts earn the most a week?"""
    rows = [
        Row(f"hours on {m}", hours[m], Relation.AT_MOST, capacity[m], f"the {m} has {capacity[m]} hours a week")
        for m in machines
    ]
    milp = Milp(
        tuple(Variable(p, 0, demand[p], unit="units", meaning=f"units of {p} a week") for p in products),
        tuple(rows),
        Objective(profit, unit="EUR"),
        Sense.MAXIMIZE,
        "product mix",
    )
    data = {"profit": profit, "demand": demand, "hours": hours, "capacity": capacity}
    return proven("product_mix", seed, size, text, data, milp)


def _needs(machine: str, hours: dict[str, int]) -> str:
    return f"On the {machine} a unit takes {listed([f'{value} hours for {p}' for p, value in hours.items()])}."
