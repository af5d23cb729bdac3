"""Set covering: the cheapest stations that reach every district."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

SITES = "mill quay market park tower bridge abbey gate field hill site"
DISTRICTS = "Ash Birch Cedar Elm Fir Hazel Larch Maple Oak Pine Rowan Willow district"


def generate(seed: int, size: int = 6) -> FamilyInstance:
    """``size`` sites for ambulance stations and half as many districts more."""
    rng = stream(seed, size)
    sites, districts = names(SITES, size), names(DISTRICTS, size + size // 2)
    cost = {site: int(rng.integers(30, 100)) for site in sites}
    reaches: dict[str, list[str]] = {site: [d for d in districts if rng.random() < 0.35] for site in sites}
    for district in districts:  # each is reached from somewhere
        if not any(district in reached for reached in reaches.values()):
            reaches[sites[int(rng.integers(size))]].append(district)
    text = f"""
        A city builds ambulance stations at some of the sites {listed(sites)}, at a cost of
        {listed([f"{cost[s]} thousand EUR at {s}" for s in sites])}. Every one of the districts {listed(districts)}
        must be reached in time from at least one station. Which districts a site reaches is in the table `reaches`.
        What is the least total cost, in thousand EUR?"""
    rows = tuple(
        Row(d, {site: 1 for site in sites if d in reaches[site]}, Relation.AT_LEAST, 1, f"{d} is reached")
        for d in districts
    )
    milp = Milp(
        tuple(
            Variable(site, 0, 1, VariableKind.INTEGER, meaning=f"whether there is a station at {site}")
            for site in sites
        ),
        rows,
        Objective(cost, unit="thousand EUR"),
        Sense.MINIMIZE,
        "covering",
    )
    data = {"cost": cost, "reaches": reaches, "districts": districts}
    return proven("covering", seed, size, text, data, milp)
