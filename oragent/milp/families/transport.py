"""Families of transport problems: depots and shops, assignment, warehouses, networks."""

from oragent.milp.families.instance import FamilyInstance, instance_rng, join_words, solve_instance, take_names
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

DEPOTS = "north south east west harbour airport depot"
SHOPS = "Alton Bexley Corby Derby Exeter Fleet Goole Hove Ilford Kendal shop"


def generate_transport(seed: int, size: int = 4) -> FamilyInstance:
    """``size`` shops and about half as many depots, at least two.

    Hitchcock 1941; optima are integral.
    """
    rng = instance_rng(seed, size)
    depots, shops = take_names(DEPOTS, size // 2 + 1), take_names(SHOPS, size)
    demand = {shop: int(rng.integers(3, 15)) for shop in shops}
    shares = rng.dirichlet([5.0] * len(depots)) * sum(demand.values()) * 1.2
    supply = {depot: int(share) + 1 for depot, share in zip(depots, shares, strict=True)}
    cost = {depot: {shop: int(rng.integers(2, 40)) for shop in shops} for depot in depots}
    text = f"""
        Pallets are sent from the depots {join_words(depots)} to the shops {join_words(shops)}. In stock are
        {join_words([f"{supply[d]} pallets at {d}" for d in depots])}; needed are
        {join_words([f"{demand[s]} pallets at {s}" for s in shops])}. Sending a pallet costs, in EUR, what the table
        `cost` gives, by depot and shop. How much does the cheapest plan cost that gives every shop what it needs?"""
    lanes = {(d, s): f"{d} to {s}" for d in depots for s in shops}
    rows = [Row(f"stock {d}", {lanes[d, s]: 1 for s in shops}, Relation.AT_MOST, supply[d]) for d in depots]
    rows += [Row(f"need {s}", {lanes[d, s]: 1 for d in depots}, Relation.AT_LEAST, demand[s]) for s in shops]
    variables = tuple(Variable(lane, unit="pallets") for lane in lanes.values())
    objective = Objective({lanes[d, s]: cost[d][s] for d, s in lanes}, unit="EUR")
    milp = Milp(variables, tuple(rows), objective, Sense.MINIMIZE, "transport")
    return solve_instance("transport", seed, size, text, {"supply": supply, "demand": demand, "cost": cost}, milp)


WORKERS = "Ada Ben Cleo Dan Eva Finn Gus Hana Ivo Jana worker"
TASKS = "painting wiring plumbing tiling roofing glazing flooring sanding masonry carpentry task"


def generate_assignment(seed: int, size: int = 4) -> FamilyInstance:
    """``size`` workers and as many tasks.

    Kuhn 1955.
    """
    rng = instance_rng(seed, size)
    workers, tasks = take_names(WORKERS, size), take_names(TASKS, size)
    hours = {worker: {task: int(rng.integers(5, 60)) for task in tasks} for worker in workers}
    text = f"""
        The workers {join_words(workers)} share the tasks {join_words(tasks)}: each worker does exactly one task, and
        each task
        is done by one worker. The hours that a worker takes for a task are in the table `hours`, by worker and task.
        How many hours does the best assignment take in total?"""
    pairs = {(w, t): f"{w} does {t}" for w in workers for t in tasks}
    rows = [Row(f"one task for {w}", {pairs[w, t]: 1 for t in tasks}, Relation.EQUAL, 1) for w in workers]
    rows += [Row(f"one worker for {t}", {pairs[w, t]: 1 for w in workers}, Relation.EQUAL, 1) for t in tasks]
    variables = tuple(Variable(pair, 0, 1, VariableKind.INTEGER) for pair in pairs.values())
    objective = Objective({pairs[w, t]: hours[w][t] for w, t in pairs}, unit="hours")
    milp = Milp(variables, tuple(rows), objective, Sense.MINIMIZE, "assignment")
    return solve_instance("assignment", seed, size, text, {"hours": hours}, milp)


PLACES = "Lyon Turin Basel Ghent Trier Metz Nancy Ulm Linz Graz warehouse"
CUSTOMERS = "Abel Boyd Cruz Dunn Ekman Ford Gray Hale Ibsen Jung Katz Lund customer"


def generate_facility_location(seed: int, size: int = 4) -> FamilyInstance:
    """``size`` places for warehouses and twice as many customers.

    Balinski 1965, without capacities.
    """
    rng = instance_rng(seed, size)
    places, customers = take_names(PLACES, size), take_names(CUSTOMERS, 2 * size)
    rent = {place: int(rng.integers(60, 160)) for place in places}
    delivery = {place: {customer: int(rng.integers(5, 80)) for customer in customers} for place in places}
    text = f"""
        A retailer rents warehouses at some of {join_words(places)}; the rent a month is
        {join_words([f"{rent[p]} EUR at {p}" for p in places])}. Each of the customers {join_words(customers)} is
        served from
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
    return solve_instance("facility_location", seed, size, text, {"rent": rent, "delivery": delivery}, milp)


def generate_largest_flow(seed: int, size: int = 6) -> FamilyInstance:
    """The largest flow (Ford & Fulkerson 1956, doi:10.4153/CJM-1956-045-5) over ``size`` nodes, at least two."""
    nodes, arcs = _random_network(seed, size, 3, 30)
    text = f"""
        Water flows through pipes between the stations {join_words(nodes)}. The table `pipes` gives, by the station
        where a
        pipe begins and the one where it ends, how many cubic metres a minute it can carry, in that direction alone.
        What flows into a station flows out of it, but at the first, {nodes[0]}, where water comes in, and the last,
        {nodes[-1]}, where it is used. How many cubic metres a minute can reach {nodes[-1]}?"""
    names = {arc: f"{arc[0]} to {arc[1]}" for arc in arcs}
    inner = tuple(Row(f"balance {node}", _flow_balance(node, names), Relation.EQUAL, 0) for node in nodes[1:-1])
    variables = tuple(Variable(names[arc], 0, carries, unit="m3/min") for arc, carries in arcs.items())
    objective = Objective(_flow_balance(nodes[-1], names), unit="m3/min")
    milp = Milp(variables, inner, objective, Sense.MAXIMIZE, "largest flow")
    return solve_instance("largest_flow", seed, size, text, {"nodes": nodes, "pipes": _capacity_table(arcs)}, milp)


def generate_shortest_path(seed: int, size: int = 6) -> FamilyInstance:
    """The shortest path (Dijkstra 1959, doi:10.1007/BF01386390) over ``size`` nodes, at least two."""
    nodes, arcs = _random_network(seed, size, 2, 60)
    text = f"""
        A courier drives from {nodes[0]} to {nodes[-1]} over roads between the towns {join_words(nodes)}. The table
        `roads`
        gives, by the town where a road begins and the one where it ends, its length in km; roads are one-way. How long
        is the shortest way?"""
    names = {arc: f"{arc[0]} to {arc[1]}" for arc in arcs}
    ends = {nodes[0]: -1, nodes[-1]: 1}
    rows = tuple(
        Row(f"through {node}", _flow_balance(node, names), Relation.EQUAL, ends.get(node, 0)) for node in nodes
    )
    variables = tuple(Variable(name) for name in names.values())
    objective = Objective({names[arc]: length for arc, length in arcs.items()}, unit="km")
    milp = Milp(variables, rows, objective, Sense.MINIMIZE, "shortest path")
    return solve_instance("shortest_path", seed, size, text, {"nodes": nodes, "roads": _capacity_table(arcs)}, milp)


def _random_network(seed: int, size: int, low: int, high: int) -> tuple[list[str], dict[tuple[str, str], int]]:
    """Nodes, and arcs with a figure each; a chain through all nodes makes sure that the last can be reached."""
    rng = instance_rng(seed, size, least=2)
    nodes = [f"N{number}" for number in range(1, size + 1)]
    arcs = {(nodes[place], nodes[place + 1]): int(rng.integers(low, high)) for place in range(size - 1)}
    for first in nodes[:-1]:
        for second in nodes[1:]:
            if first != second and rng.random() < min(1.0, 3 / size):
                arcs.setdefault((first, second), int(rng.integers(low, high)))
    return nodes, arcs


def _flow_balance(node: str, names: dict[tuple[str, str], str]) -> dict[str, float]:
    """What flows in, less what flows out."""
    return {name: 1.0 if arc[1] == node else -1.0 for arc, name in names.items() if node in arc}


def _capacity_table(arcs: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for (first, second), figure in arcs.items():
        table.setdefault(first, {})[second] = figure
    return table
