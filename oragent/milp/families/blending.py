"""Blending: ingredients into a mixture whose properties keep within limits; a linear programme."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable

CRUDES = "Arabian Brent Tapis Maya Urals Bonny Dubai Oman crude"


def generate(seed: int, size: int = 4) -> FamilyInstance:
    """A refinery that blends ``size`` crude oils, at least two."""
    rng = stream(seed, size, least=2)
    crudes = names(CRUDES, size)
    cost = {crude: int(rng.integers(40, 90)) for crude in crudes}
    stock = {crude: int(rng.integers(30, 80)) * 10 for crude in crudes}
    octane = {crude: int(rng.integers(80, 105)) for crude in crudes}
    sulphur = {crude: int(rng.integers(2, 30)) for crude in crudes}  # kg a barrel-hundred
    # A blend in proportion to stock is feasible, so the limits lie on its far side.
    all_stock = sum(stock.values())
    barrels = int(all_stock * 0.6)
    least_octane = int(sum(octane[c] * stock[c] for c in crudes) / all_stock)
    most_sulphur = int(sum(sulphur[c] * stock[c] for c in crudes) / all_stock) + 1
    text = f"""
        A refinery blends {barrels} barrels of petrol from {listed(crudes)}. A barrel costs
        {listed([f"{cost[c]} EUR for {c}" for c in crudes])}. In stock are
        {listed([f"{stock[c]} barrels of {c}" for c in crudes])}. The octane number is
        {listed([f"{octane[c]} for {c}" for c in crudes])}; that of the blend is the average by volume and must be at
        least {least_octane}. Sulphur is {listed([f"{sulphur[c]} kg per hundred barrels of {c}" for c in crudes])};
        the blend may have at most {most_sulphur} kg per hundred barrels. What is the cheapest blend?"""
    rows = (
        Row("amount", dict.fromkeys(crudes, 1), Relation.EQUAL, barrels),
        Row("octane", {c: octane[c] - least_octane for c in crudes}, Relation.AT_LEAST, 0, "average octane number"),
        Row("sulphur", {c: sulphur[c] - most_sulphur for c in crudes}, Relation.AT_MOST, 0, "average sulphur"),
    )
    variables = tuple(Variable(c, 0, stock[c], unit="barrels") for c in crudes)
    milp = Milp(variables, rows, Objective(cost, unit="EUR"), Sense.MINIMIZE, "blending")
    data = {
        "cost": cost, "stock": stock, "octane": octane, "sulphur": sulphur, "barrels": barrels,
        "least_octane": least_octane, "most_sulphur": most_sulphur,
    }  # fmt: skip
    return proven("blending", seed, size, text, data, milp)
