"""Two problems on a network of pipes or roads: the largest flow, and the shortest path; both whole by themselves."""

from oragent.milp.families.instance import FamilyInstance, listed, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable


def largest_flow(seed: int, size: int = 6) -> FamilyInstance:
    """The largest flow (Ford & Fulkerson 1956, doi:10.4153/CJM-1956-045-5) over ``size`` nodes, at least two."""
    nodes, arcs = _network(seed, size, 3, 30)
    text = f"""
        Water flows through pipes between the stations {listed(nodes)}. The table `pipes` gives, by the station where a
        pipe begins and the one where it ends, how many cubic metres a minute it can carry, in that direction alone.
        What flows into a station flows out of it, but at the first, {nodes[0]}, where water comes in, and the last,
        {nodes[-1]}, where it is used. How many cubic metres a minute can reach {nodes[-1]}?"""
    names = {arc: f"{arc[0]} to {arc[1]}" for arc in arcs}
    inner = tuple(Row(f"balance {node}", _balance(node, names), Relation.EQUAL, 0) for node in nodes[1:-1])
    milp = Milp(
        tuple(Variable(names[arc], 0, carries, unit="m3/min") for arc, carries in arcs.items()),
        inner,
        Objective(_balance(nodes[-1], names), unit="m3/min"),
        Sense.MAXIMIZE,
        "largest flow",
    )
    return proven("largest_flow", seed, size, text, {"nodes": nodes, "pipes": _table(arcs)}, milp)


def shortest_path(seed: int, size: int = 6) -> FamilyInstance:
    """The shortest path (Dijkstra 1959, doi:10.1007/BF01386390) over ``size`` nodes, at least two."""
    nodes, arcs = _network(seed, size, 2, 60)
    text = f"""
        A courier drives from {nodes[0]} to {nodes[-1]} over roads between the towns {listed(nodes)}. The table `roads`
        gives, by the town where a road begins and the one where it ends, its length in km; roads are one-way. How long
        is the shortest way?"""
    names = {arc: f"{arc[0]} to {arc[1]}" for arc in arcs}
    ends = {nodes[0]: -1, nodes[-1]: 1}
    rows = tuple(Row(f"through {node}", _balance(node, names), Relation.EQUAL, ends.get(node, 0)) for node in nodes)
    milp = Milp(
        tuple(Variable(name) for name in names.values()),
        rows,
        Objective({names[arc]: length for arc, length in arcs.items()}, unit="km"),
        Sense.MINIMIZE,
        "shortest path",
    )
    return proven("shortest_path", seed, size, text, {"nodes": nodes, "roads": _table(arcs)}, milp)


def _network(seed: int, size: int, low: int, high: int) -> tuple[list[str], dict[tuple[str, str], int]]:
    """Nodes, and arcs with a figure each; a chain through all nodes makes sure that the last can be reached."""
    rng = stream(seed, size, least=2)
    nodes = [f"N{number}" for number in range(1, size + 1)]
    arcs = {(nodes[place], nodes[place + 1]): int(rng.integers(low, high)) for place in range(size - 1)}
    for first in nodes[:-1]:
        for second in nodes[1:]:
            if first != second and rng.random() < min(1.0, 3 / size):
                arcs.setdefault((first, second), int(rng.integers(low, high)))
    return nodes, arcs


def _balance(node: str, names: dict[tuple[str, str], str]) -> dict[str, float]:
    """What flows in, less what flows out."""
    return {name: 1.0 if arc[1] == node else -1.0 for arc, name in names.items() if node in arc}


def _table(arcs: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for (first, second), figure in arcs.items():
        table.setdefault(first, {})[second] = figure
    return table
