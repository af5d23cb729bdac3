"""Facility location without capacities (Balinski 1965): which warehouses to open, and who serves whom."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

PLACES = "Lyon Turin Basel Ghent Trier Metz Nancy Ulm Linz Graz warehouse"
CUSTOMERS = "Abel Boyd Cruz Dunn Ekman Ford Gray Hale Ibsen Jung Katz Lund customer"


def generate(seed: int, size: int = 4) -> FamilyInstance:
    """``size`` places for warehouses and twice as many customers."""
    rng = stream(seed, size)
    places, customers = names(PLACES, size), names(CUSTOMERS, 2 * size)
    rent = {place: int(rng.integers(60, 160)) for place in places}
    delivery = {place: {customer: int(rng.integers(5, 80)) for customer in customers} for place in places}
    text = f"""
        A retailer rents warehouses at some of {listed(places)}; the rent a month is
        {listed([f"{rent[p]} EUR at {p}" for p in places])}. Each of the customers {listed(customers)} is served from
        one rented warehouse, at the cost a month, in EUR, that the table `delivery` gives, by place and customer.
        A warehouse can serve any number of customers. What is the least total cost a month?"""
    serves = {(p, c): f"{p} serves {c}" for p in places for c in customers}
    rows = [Row(f"{c} is served", {serves[p, c]: 1 for p in places}, Relation.EQUAL, 1) for c in customers]
    rows += [
        Row(f"{serves[p, c]} when rented", {serves[p, c]: 1, f"rent {p}": -1}, Relation.AT_MOST, 0) for p, c in serves
    ]
    variables = [Variable(f"rent {place}", 0, 1, VariableKind.INTEGER) for place in places]
    variables += [Variable(name, 0, 1, VariableKind.INTEGER) for name in serves.values()]
    costs = {f"rent {place}": rent[place] for place in places} | {serves[p, c]: delivery[p][c] for p, c in serves}
    milp = Milp(tuple(variables), tuple(rows), Objective(costs, unit="EUR"), Sense.MINIMIZE, "facility location")
    return proven("facility_location", seed, size, text, {"rent": rent, "delivery": delivery}, milp)
