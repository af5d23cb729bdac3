"""Crew scheduling as set partitioning: duties that cover every flight exactly once."""

from typing import Any

from oragent.milp.families.instance import FamilyInstance, listed, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind


def generate(seed: int, size: int = 6) -> FamilyInstance:
    """``size`` flights, and about four duties a flight."""
    rng = stream(seed, size)
    flights = [f"F{number}" for number in range(1, size + 1)]
    members: dict[frozenset[str], int] = {frozenset([flight]): int(rng.integers(8, 16)) for flight in flights}
    for _ in range(3 * size):
        count = min(size, int(rng.integers(2, 5)))
        duty = frozenset(str(flight) for flight in rng.choice(flights, count, replace=False))
        members.setdefault(duty, int(rng.integers(9, 14)) + 3 * count)
    duties: dict[str, dict[str, Any]] = {
        f"duty {number}": {"flights": sorted(duty, key=flights.index), "cost": cost}
        for number, (duty, cost) in enumerate(members.items(), 1)
    }
    text = f"""
        An airline has to crew the flights {listed(flights)}. The table `duties` gives the flights that each possible
        duty contains and what a crew on it costs, in hundred EUR. Some of the duties are chosen, such that every flight
        is in exactly one chosen duty. What is the least total cost, in hundred EUR?"""
    rows = tuple(
        Row(flight, {name: 1 for name, duty in duties.items() if flight in duty["flights"]}, Relation.EQUAL, 1)
        for flight in flights
    )
    milp = Milp(
        tuple(Variable(name, 0, 1, VariableKind.INTEGER) for name in duties),
        rows,
        Objective({name: duty["cost"] for name, duty in duties.items()}, unit="hundred EUR"),
        Sense.MINIMIZE,
        "crew scheduling",
    )
    return proven("crew_scheduling", seed, size, text, {"flights": flights, "duties": duties}, milp)
