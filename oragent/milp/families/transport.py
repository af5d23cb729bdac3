"""The transport problem (Hitchcock 1941): from depots to shops at the least cost; whole by itself."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable

DEPOTS = "north south east west harbour airport depot"
SHOPS = "Alton Bexley Corby Derby Exeter Fleet Goole Hove Ilford Kendal shop"


def generate(seed: int, size: int = 4) -> FamilyInstance:
    """``size`` shops and about half as many depots, at least two."""
    rng = stream(seed, size)
    depots, shops = names(DEPOTS, size // 2 + 1), names(SHOPS, size)
    demand = {shop: int(rng.integers(3, 15)) for shop in shops}
    shares = rng.dirichlet([5.0] * len(depots)) * sum(demand.values()) * 1.2
    supply = {depot: int(share) + 1 for depot, share in zip(depots, shares, strict=True)}
    cost = {depot: {shop: int(rng.integers(2, 40)) for shop in shops} for depot in depots}
    text = f"""
        Pallets are sent from the depots {listed(depots)} to the shops {listed(shops)}. In stock are
        {listed([f"{supply[d]} pallets at {d}" for d in depots])}; needed are
        {listed([f"{demand[s]} pallets at {s}" for s in shops])}. Sending a pallet costs, in EUR, what the table `cost`
        gives, by depot and shop. How much does the cheapest plan cost that gives every shop what it needs?"""
    lanes = {(d, s): f"{d} to {s}" for d in depots for s in shops}
    rows = [Row(f"stock {d}", {lanes[d, s]: 1 for s in shops}, Relation.AT_MOST, supply[d]) for d in depots]
    rows += [Row(f"need {s}", {lanes[d, s]: 1 for d in depots}, Relation.AT_LEAST, demand[s]) for s in shops]
    milp = Milp(
        tuple(Variable(lane, unit="pallets") for lane in lanes.values()),
        tuple(rows),
        Objective({lanes[d, s]: cost[d][s] for d, s in lanes}, unit="EUR"),
        Sense.MINIMIZE,
        "transport",
    )
    return proven("transport", seed, size, text, {"supply": supply, "demand": demand, "cost": cost}, milp)
