"""The knapsack problem: the most valuable load within a weight limit."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

GOODS = "lamp clock radio mirror vase carpet statue painting chest mask drum globe crate"


def generate(seed: int, size: int = 8) -> FamilyInstance:
    """A van and ``size`` pieces, each to be taken or left."""
    rng = stream(seed, size)
    goods = names(GOODS, size)
    weight = {good: int(rng.integers(5, 50)) for good in goods}
    value = {good: weight[good] + int(rng.integers(-4, 12)) for good in goods}
    capacity = max(*weight.values(), sum(weight.values()) // 2)
    text = f"""
        A van may carry {capacity} kg. There are {size} pieces to choose from, each of which is taken whole or left:
        {listed([f"the {good} ({weight[good]} kg, worth {value[good]} EUR)" for good in goods])}.
        What is the greatest value that the van can carry?"""
    milp = Milp(
        tuple(Variable(good, 0, 1, VariableKind.INTEGER, meaning=f"whether the {good} is taken") for good in goods),
        (Row("weight", weight, Relation.AT_MOST, capacity, f"the van may carry {capacity} kg"),),
        Objective(value, unit="EUR"),
        Sense.MAXIMIZE,
        "knapsack",
    )
    return proven("knapsack", seed, size, text, {"weight": weight, "value": value, "capacity": capacity}, milp)
