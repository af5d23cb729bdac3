"""Allocation problems: knapsack, covering, crews, investment, product configuration, transport, networks.

Configuration is a multiple-choice knapsack (Sinha & Zoltners 1979, doi:10.1287/opre.27.3.503).
"""

from collections.abc import Mapping
from typing import Any

from oragent._base.errors import ModellingError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent_benchmarks.families.instance import FamilyInstance, instance_rng, join_words, solve_instance, take_names

GOODS = "lamp clock radio mirror vase carpet statue painting chest mask drum globe crate"
SITES = "mill quay market park tower bridge abbey gate field hill site"
DISTRICTS = "Ash Birch Cedar Elm Fir Hazel Larch Maple Oak Pine Rowan Willow district"
PROJECTS = "solar wind ferry hotel dairy harbour cinema nursery quarry project"


DEPOTS = "north south east west harbour airport depot"
SHOPS = "Alton Bexley Corby Derby Exeter Fleet Goole Hove Ilford Kendal shop"
WORKERS = "Ada Ben Cleo Dan Eva Finn Gus Hana Ivo Jana worker"
TASKS = "painting wiring plumbing tiling roofing glazing flooring sanding masonry carpentry task"
PLACES = "Lyon Turin Basel Ghent Trier Metz Nancy Ulm Linz Graz warehouse"
CUSTOMERS = "Abel Boyd Cruz Dunn Ekman Ford Gray Hale Ibsen Jung Katz Lund customer"


def generate_knapsack(seed: int, size: int = 8) -> FamilyInstance:
    """Generate a knapsack problem: a van and ``size`` items, each of which is taken or left."""
    rng = instance_rng(seed, size)
    goods = take_names(GOODS, size)
    weight = {good: int(rng.integers(5, 50)) for good in goods}
    value = {good: weight[good] + int(rng.integers(-4, 12)) for good in goods}
    capacity = max(*weight.values(), sum(weight.values()) // 2)
    text = f"""
        A van may carry {capacity} kg. There are {size} pieces to choose from, each of which is taken whole or left:
        {join_words([f"the {good} ({weight[good]} kg, worth {value[good]} EUR)" for good in goods])}.
        What is the greatest value that the van can carry?"""
    meanings = {good: f"whether the {good} is taken" for good in goods}
    variables = tuple(Variable(good, 0, 1, VariableKind.INTEGER, "", meanings[good]) for good in goods)
    rows = (Row("weight", weight, Relation.AT_MOST, capacity, f"the van may carry {capacity} kg"),)
    milp = IndexedModel.from_records(variables, rows, Objective(value, unit="EUR"), Sense.MAXIMIZE, "knapsack")
    return solve_instance("knapsack", seed, size, text, {"weight": weight, "value": value, "capacity": capacity}, milp)


def generate_covering(seed: int, size: int = 6) -> FamilyInstance:
    """Generate a covering problem: ``size`` sites for ambulance stations and 1.5 times as many districts."""
    rng = instance_rng(seed, size)
    sites, districts = take_names(SITES, size), take_names(DISTRICTS, size + size // 2)
    cost = {site: int(rng.integers(30, 100)) for site in sites}
    reaches: dict[str, list[str]] = {site: [d for d in districts if rng.random() < 0.35] for site in sites}
    # Every district can be reached from at least one site.
    for district in districts:
        if not any(district in reached for reached in reaches.values()):
            reaches[sites[int(rng.integers(size))]].append(district)
    text = f"""
        A city builds ambulance stations at some of the sites {join_words(sites)}, at a cost of
        {join_words([f"{cost[s]} thousand EUR at {s}" for s in sites])}. Every one of the districts
        {join_words(districts)}
        must be reached in time from at least one station. Which districts a site reaches is in the table `reaches`.
        What is the least total cost, in thousand EUR?"""
    rows = tuple(
        Row(d, {site: 1 for site in sites if d in reaches[site]}, Relation.AT_LEAST, 1, f"{d} is reached")
        for d in districts
    )
    meanings = {site: f"whether there is a station at {site}" for site in sites}
    variables = tuple(Variable(site, 0, 1, VariableKind.INTEGER, "", meanings[site]) for site in sites)
    milp = IndexedModel.from_records(variables, rows, Objective(cost, unit="thousand EUR"), Sense.MINIMIZE, "covering")
    data = {"cost": cost, "reaches": reaches, "districts": districts}
    return solve_instance("covering", seed, size, text, data, milp)


def generate_crew_scheduling(seed: int, size: int = 6) -> FamilyInstance:
    """Generate a crew scheduling problem: ``size`` flights, and about four duties per flight.

    Set partitioning: the chosen duties cover every flight exactly once.
    """
    rng = instance_rng(seed, size)
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
        An airline has to crew the flights {join_words(flights)}. The table `duties` gives the flights that each
        possible
        duty contains and what a crew on it costs, in hundred EUR. Some of the duties are chosen, such that every flight
        is in exactly one chosen duty. What is the least total cost, in hundred EUR?"""
    rows = tuple(
        Row(flight, {name: 1 for name, duty in duties.items() if flight in duty["flights"]}, Relation.EQUAL, 1)
        for flight in flights
    )
    variables = tuple(Variable(name, 0, 1, VariableKind.INTEGER) for name in duties)
    objective = Objective({name: duty["cost"] for name, duty in duties.items()}, unit="hundred EUR")
    milp = IndexedModel.from_records(variables, rows, objective, Sense.MINIMIZE, "crew scheduling")
    return solve_instance("crew_scheduling", seed, size, text, {"flights": flights, "duties": duties}, milp)


def generate_investment(seed: int, size: int = 3) -> FamilyInstance:
    """Generate an investment problem: ``size`` years and ``size + 1`` projects."""
    rng = instance_rng(seed, size)
    years = range(size + 1)
    projects = take_names(PROJECTS, size + 1)
    cash, interest = int(rng.integers(80, 150)), int(rng.integers(2, 7))
    flows: dict[str, list[int]] = {}
    for project in projects:
        start = int(rng.integers(size))
        spent = int(rng.integers(30, 90))
        returns = rng.dirichlet([1.0] * (size - start)) * spent * rng.uniform(1.05, 1.5)
        flows[project] = [0] * start + [-spent] + [int(amount) for amount in returns]
    text = f"""
        An investor has {cash} thousand EUR in year 0 and wants as much money as possible in year {size}. The projects
        {join_words(projects)} can each be taken up once, wholly or for any share of it; of a share, all payments are
        that
        share. The table `flows` gives the payments of a project in the years 0 to {size}, in thousand EUR; what is paid
        in is negative. Money that is not invested earns {interest} % interest a year. Nothing can be borrowed. How much
        money is there in year {size}, in thousand EUR?"""
    variables = [Variable(f"share of {p}", 0, 1) for p in projects]
    variables += [Variable(f"cash in year {year}", unit="thousand EUR") for year in years]
    rows = []
    for year in years:
        terms = {f"share of {p}": -float(flows[p][year]) for p in projects} | {f"cash in year {year}": 1.0}
        if year:
            terms[f"cash in year {year - 1}"] = -(1 + interest / 100)
        rows.append(Row(f"money in year {year}", terms, Relation.EQUAL, 0 if year else cash))
    goal = Objective({f"cash in year {size}": 1}, unit="thousand EUR")
    milp = IndexedModel.from_records(tuple(variables), tuple(rows), goal, Sense.MAXIMIZE, "investment")
    data = {"years": size, "cash": cash, "interest": interest, "flows": flows}
    return solve_instance("investment", seed, size, text, data, milp)


def generate_configuration(seed: int, size: int = 3) -> FamilyInstance:
    """Generate a configuration problem with ``size`` categories of on average five products, some not available."""
    data = generate_products(seed, size, 5 * size)
    text = f"""
        A computer is put together from one product of each of {size} categories. The table `products` gives the
        category, price in EUR, discount in per cent, performance points, whether it is in stock, and whether it is sold
        directly; the price paid is the price less the discount. Only products that are in stock and sold directly may
        be chosen, and all together may cost at most {data["budget"]} EUR. What is the largest sum of performance
        points?"""
    return solve_instance("configuration", seed, size, text, data, build_configuration(data))


def generate_products(seed: int, categories: int, count: int) -> dict[str, Any]:
    """Return a catalogue of ``count`` products, at least one of them available per category, and a feasible budget."""
    rng = instance_rng(seed, categories)
    if count < categories:
        raise ModellingError(f"{count} products for {categories} categories: expected at least one each")
    table = []
    for number in range(count):
        category = number if number < categories else int(rng.integers(categories))
        product: dict[str, Any] = {
            "name": f"P{number + 1}",
            "category": f"C{category + 1}",
            "price": int(rng.integers(4, 60)) * 10,
            "discount": int(rng.choice([0, 0, 0, 5, 10, 20])),
            "performance": int(rng.integers(10, 100)),
            "in_stock": bool(number < categories or rng.random() < 0.9),
            "direct_sale": bool(number < categories or rng.random() < 0.95),
        }
        table.append(product)
    cheapest: dict[str, float] = {}
    for product in filter(_is_offered, table):
        name, price = product["category"], discounted_price(product)
        cheapest[name] = min(cheapest.get(name, price), price)
    return {"products": table, "budget": int(sum(cheapest.values()) * 1.4) + 1}


def discounted_price(product: Mapping[str, Any]) -> float:
    """Return the price of a product after its discount."""
    return float(product["price"] * (100 - product["discount"]) / 100)


def _is_offered(product: Mapping[str, Any]) -> bool:
    return bool(product["in_stock"] and product["direct_sale"])


def build_configuration(data: Mapping[str, Any]) -> IndexedModel:
    """Build the model: the highest performance within the budget."""
    offered = [product for product in data["products"] if _is_offered(product)]
    categories = dict.fromkeys(product["category"] for product in offered)
    members = {name: {option["name"]: 1.0 for option in offered if option["category"] == name} for name in categories}
    cost = {product["name"]: discounted_price(product) for product in offered}
    rows = [Row(f"one of {name}", choice, Relation.EQUAL, 1) for name, choice in members.items()]
    rows.append(Row("budget", cost, Relation.AT_MOST, data["budget"], f"at most {data['budget']} EUR"))
    return IndexedModel.from_records(
        tuple(Variable(name, 0, 1, VariableKind.INTEGER) for name in cost),
        tuple(rows),
        Objective({product["name"]: product["performance"] for product in offered}, unit="points"),
        Sense.MAXIMIZE,
        "configuration",
    )


def generate_transport(seed: int, size: int = 4) -> FamilyInstance:
    """Generate a transport problem: ``size`` shops and about half as many depots, at least two.

    Source: Hitchcock 1941. Optima are integral.
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
    milp = IndexedModel.from_records(variables, tuple(rows), objective, Sense.MINIMIZE, "transport")
    return solve_instance("transport", seed, size, text, {"supply": supply, "demand": demand, "cost": cost}, milp)


def generate_assignment(seed: int, size: int = 4) -> FamilyInstance:
    """Generate an assignment problem: ``size`` workers and ``size`` tasks.

    Source: Kuhn 1955.
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
    milp = IndexedModel.from_records(variables, tuple(rows), objective, Sense.MINIMIZE, "assignment")
    return solve_instance("assignment", seed, size, text, {"hours": hours}, milp)


def generate_facility_location(seed: int, size: int = 4) -> FamilyInstance:
    """Generate a location problem: ``size`` warehouse sites and twice as many customers.

    Source: Balinski 1965. There are no capacities.
    """
    rng = instance_rng(seed, size)
    places, customers = take_names(PLACES, size), take_names(CUSTOMERS, 2 * size)
    rent = {site: int(rng.integers(60, 160)) for site in places}
    delivery = {site: {customer: int(rng.integers(5, 80)) for customer in customers} for site in places}
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
    variables = [Variable(f"rent {site}", 0, 1, VariableKind.INTEGER) for site in places]
    variables += [Variable(name, 0, 1, VariableKind.INTEGER) for name in serves.values()]
    costs = {f"rent {site}": rent[site] for site in places} | {serves[p, c]: delivery[p][c] for p, c in serves}
    milp = IndexedModel.from_records(
        tuple(variables), tuple(rows), Objective(costs, unit="EUR"), Sense.MINIMIZE, "facility location"
    )
    return solve_instance("facility_location", seed, size, text, {"rent": rent, "delivery": delivery}, milp)


def generate_largest_flow(seed: int, size: int = 6) -> FamilyInstance:
    """Generate a maximum flow problem (Ford & Fulkerson 1956, doi:10.4153/CJM-1956-045-5). ``size`` is at least two."""
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
    milp = IndexedModel.from_records(variables, inner, objective, Sense.MAXIMIZE, "largest flow")
    return solve_instance("largest_flow", seed, size, text, {"nodes": nodes, "pipes": _capacity_table(arcs)}, milp)


def generate_shortest_path(seed: int, size: int = 6) -> FamilyInstance:
    """Generate a shortest path problem (Dijkstra 1959, doi:10.1007/BF01386390). ``size`` is at least two."""
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
    milp = IndexedModel.from_records(variables, rows, objective, Sense.MINIMIZE, "shortest path")
    return solve_instance("shortest_path", seed, size, text, {"nodes": nodes, "roads": _capacity_table(arcs)}, milp)


def _random_network(seed: int, size: int, low: int, high: int) -> tuple[list[str], dict[tuple[str, str], int]]:
    """Return nodes, and arcs with one figure each. A chain through all nodes makes the last one reachable."""
    rng = instance_rng(seed, size, least=2)
    nodes = [f"N{number}" for number in range(1, size + 1)]
    arcs = {(nodes[position], nodes[position + 1]): int(rng.integers(low, high)) for position in range(size - 1)}
    for first in nodes[:-1]:
        for second in nodes[1:]:
            if first != second and rng.random() < min(1.0, 3 / size):
                arcs.setdefault((first, second), int(rng.integers(low, high)))
    return nodes, arcs


def _flow_balance(node: str, names: dict[tuple[str, str], str]) -> dict[str, float]:
    """Return the inflow of a node minus its outflow."""
    return {name: 1.0 if arc[1] == node else -1.0 for arc, name in names.items() if node in arc}


def _capacity_table(arcs: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for (first, second), figure in arcs.items():
        table.setdefault(first, {})[second] = figure
    return table
