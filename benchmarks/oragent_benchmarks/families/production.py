"""Production problems: mixes, blends, diets, lots, cutting patterns, setups."""

from collections.abc import Iterator, Sequence

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent_benchmarks.families.instance import FamilyInstance, instance_rng, join_words, solve_instance, take_names

PRODUCTS = "tables chairs desks shelves beds cabinets benches stools drawers frames panel"
MACHINES = "saw lathe sander press drill oven station"


CRUDES = "Arabian Brent Tapis Maya Urals Bonny Dubai Oman crude"
FOODS = "bread milk eggs rice beans potatoes cheese apples fish lentils cabbage oats food"
NUTRIENTS = "protein calcium iron fibre zinc iodine nutrient"
# Width of a roll, in cm.
ROLL = 100
JOBS = "red blue green white black amber violet grey job"


def generate_product_mix(seed: int, size: int = 4) -> FamilyInstance:
    """Generate a product mix: a workshop with ``size`` products and about half as many machines.

    A linear programme (Dantzig 1963).
    """
    rng = instance_rng(seed, size)
    products, machines = take_names(PRODUCTS, size), take_names(MACHINES, size // 2 + 1)
    profit = {product: int(rng.integers(20, 90)) for product in products}
    demand = {product: int(rng.integers(20, 60)) for product in products}
    hours = {machine: {product: int(rng.integers(1, 9)) for product in products} for machine in machines}
    total = {machine: sum(hours[machine][p] * demand[p] for p in products) for machine in machines}
    capacity = {machine: int(total[machine] * rng.uniform(0.4, 0.8)) for machine in machines}
    takes = {m: join_words([f"{value} hours for {p}" for p, value in hours[m].items()]) for m in machines}
    needs = [f"On the {m} a unit takes {each}." for m, each in takes.items()]
    text = f"""
        A workshop makes {join_words(products)}, in any amounts, fractions included. A unit earns
        {join_words([f"{profit[p]} EUR for {p}" for p in products])}. At most
        {join_words([f"{demand[p]} units of {p}" for p in products])} can be sold a week. Machine hours a week are
        limited: {join_words([f"{capacity[m]} hours on the {m}" for m in machines])}.
        {" ".join(needs)} Which amounts earn the most a week?"""
    limits = {m: f"the {m} has {capacity[m]} hours a week" for m in machines}
    rows = [Row(f"hours on {m}", hours[m], Relation.AT_MOST, capacity[m], limits[m]) for m in machines]
    variables = tuple(Variable(p, 0, demand[p], unit="units", meaning=f"units of {p} a week") for p in products)
    milp = IndexedModel.from_records(
        variables, tuple(rows), Objective(profit, unit="EUR"), Sense.MAXIMIZE, "product mix"
    )
    data = {"profit": profit, "demand": demand, "hours": hours, "capacity": capacity}
    return solve_instance("product_mix", seed, size, text, data, milp)


def generate_blending(seed: int, size: int = 4) -> FamilyInstance:
    """Generate a blending problem: a refinery that blends ``size`` crude oils, at least two.

    A linear programme.
    """
    rng = instance_rng(seed, size, least=2)
    crudes = take_names(CRUDES, size)
    cost = {crude: int(rng.integers(40, 90)) for crude in crudes}
    stock = {crude: int(rng.integers(30, 80)) * 10 for crude in crudes}
    octane = {crude: int(rng.integers(80, 105)) for crude in crudes}
    # Kilograms per hundred barrels.
    sulphur = {crude: int(rng.integers(2, 30)) for crude in crudes}
    # The limits allow a blend in proportion to the stock.
    all_stock = sum(stock.values())
    barrels = int(all_stock * 0.6)
    least_octane = int(sum(octane[c] * stock[c] for c in crudes) / all_stock)
    most_sulphur = int(sum(sulphur[c] * stock[c] for c in crudes) / all_stock) + 1
    text = f"""
        A refinery blends {barrels} barrels of petrol from {join_words(crudes)}. A barrel costs
        {join_words([f"{cost[c]} EUR for {c}" for c in crudes])}. In stock are
        {join_words([f"{stock[c]} barrels of {c}" for c in crudes])}. The octane number is
        {join_words([f"{octane[c]} for {c}" for c in crudes])}; that of the blend is the average by volume and must be
        at
        least {least_octane}. Sulphur is {join_words([f"{sulphur[c]} kg per hundred barrels of {c}" for c in crudes])};
        the blend may have at most {most_sulphur} kg per hundred barrels. What is the cheapest blend?"""
    rows = (
        Row("amount", dict.fromkeys(crudes, 1), Relation.EQUAL, barrels),
        Row("octane", {c: octane[c] - least_octane for c in crudes}, Relation.AT_LEAST, 0, "average octane number"),
        Row("sulphur", {c: sulphur[c] - most_sulphur for c in crudes}, Relation.AT_MOST, 0, "average sulphur"),
    )
    variables = tuple(Variable(c, 0, stock[c], unit="barrels") for c in crudes)
    milp = IndexedModel.from_records(variables, rows, Objective(cost, unit="EUR"), Sense.MINIMIZE, "blending")
    data = {
        "cost": cost,
        "stock": stock,
        "octane": octane,
        "sulphur": sulphur,
        "barrels": barrels,
        "least_octane": least_octane,
        "most_sulphur": most_sulphur,
    }
    return solve_instance("blending", seed, size, text, data, milp)


def generate_diet(seed: int, size: int = 5) -> FamilyInstance:
    """Generate a diet problem: a canteen with ``size`` foods and about half as many nutrients.

    A linear programme (Stigler 1945).
    """
    rng = instance_rng(seed, size)
    foods, nutrients = take_names(FOODS, size), take_names(NUTRIENTS, size // 2 + 1)
    price = {food: int(rng.integers(10, 80)) for food in foods}
    maximum = {food: int(rng.integers(4, 10)) for food in foods}
    content = {nutrient: {food: int(rng.integers(1, 30)) for food in foods} for nutrient in nutrients}
    need = {n: int(sum(content[n][f] * maximum[f] for f in foods) * rng.uniform(0.2, 0.5)) for n in nutrients}
    holds = {n: join_words([f"{mg} mg for {food}" for food, mg in content[n].items()]) for n in nutrients}
    text = f"""
        A canteen plans the cheapest daily ration from {join_words(foods)}; portions may be divided. A portion costs
        {join_words([f"{price[f]} cents for {f}" for f in foods])}. At most
        {join_words([f"{maximum[f]} portions of {f}" for f in foods])} are accepted a day. A ration must hold at least
        {join_words([f"{need[n]} mg of {n}" for n in nutrients])}.
        {" ".join(f"Of {n}, a portion holds {each}." for n, each in holds.items())}
        What does the cheapest ration cost?"""
    variables = tuple(Variable(f, 0, maximum[f], unit="portions") for f in foods)
    rows = tuple(Row(n, content[n], Relation.AT_LEAST, need[n], f"at least {need[n]} mg of {n}") for n in nutrients)
    milp = IndexedModel.from_records(variables, rows, Objective(price, unit="cents"), Sense.MINIMIZE, "diet")
    data = {"price": price, "most": maximum, "content": content, "need": need}
    return solve_instance("diet", seed, size, text, data, milp)


def generate_lot_sizing(seed: int, size: int = 5) -> FamilyInstance:
    """Generate a lot sizing problem over ``size`` months.

    Source: Wagner & Whitin 1958, doi:10.1287/mnsc.5.1.89.
    """
    rng = instance_rng(seed, size)
    months = range(1, size + 1)
    demand = [int(rng.integers(10, 80)) for _ in months]
    setup, unit, storage = int(rng.integers(80, 200)), int(rng.integers(2, 9)), int(rng.integers(1, 4))
    text = f"""
        A brewery plans {size} months. It must deliver
        {join_words([f"{amount} casks in month {month}" for month, amount in zip(months, demand, strict=True)])}. In
        each
        month in which it brews, it pays {setup} EUR for cleaning, whatever the amount, and {unit} EUR a cask. A cask
        that is kept from one month to the next costs {storage} EUR. It starts with nothing in store, can brew any
        amount in a month, and what it brews can be delivered in the same month. What is the least total cost?"""
    total = sum(demand)
    variables = [Variable(f"brew {m}", 0, total, unit="casks") for m in months]
    variables += [Variable(f"clean {m}", 0, 1, VariableKind.INTEGER) for m in months]
    variables += [Variable(f"store {m}", unit="casks", meaning=f"kept after month {m}") for m in months]
    rows = [Row(f"cleaning {m}", {f"brew {m}": 1, f"clean {m}": -total}, Relation.AT_MOST, 0) for m in months]
    for month, amount in zip(months, demand, strict=True):
        previous = {f"store {month - 1}": 1} if month > 1 else {}
        terms = {f"brew {month}": 1, f"store {month}": -1} | previous
        rows.append(Row(f"balance {month}", terms, Relation.EQUAL, amount, f"deliver {amount} casks"))
    prices = {"clean": setup, "brew": unit, "store": storage}
    costs = {f"{what} {m}": price for m in months for what, price in prices.items()}
    milp = IndexedModel.from_records(
        tuple(variables), tuple(rows), Objective(costs, unit="EUR"), Sense.MINIMIZE, "lot sizing"
    )
    data = {"demand": demand, "setup": setup, "unit": unit, "storage": storage}
    return solve_instance("lot_sizing", seed, size, text, data, milp)


def generate_cutting_stock(seed: int, size: int = 3) -> FamilyInstance:
    """Generate a cutting stock problem: ``size`` widths to be cut from rolls of one width.

    Source: Gilmore & Gomory 1961, doi:10.1287/opre.9.6.849. The model has all maximal patterns.
    """
    rng = instance_rng(seed, size)
    widths = sorted((int(width) for width in rng.choice(range(18, 70), size, replace=False)), reverse=True)
    demand = [int(rng.integers(3, 8)) for _ in widths]
    pieces = [f"{count} pieces of {width} cm" for count, width in zip(demand, widths, strict=True)]
    text = f"""
        A paper mill cuts rolls that are {ROLL} cm wide into narrower ones. It must deliver at least
        {join_words(pieces)}. What is left of a roll is waste. How many rolls does it need at the least?"""
    columns = {}
    for pattern in _maximal_patterns(ROLL, widths):
        cuts = zip(pattern, widths, strict=True)
        columns[pattern] = " + ".join(f"{count} x {width}" for count, width in cuts if count)
    rows = tuple(
        Row(
            f"{width} cm",
            {columns[p]: p[position] for p in columns if p[position]},
            Relation.AT_LEAST,
            demand[position],
        )
        for position, width in enumerate(widths)
    )
    variables = tuple(Variable(name, kind=VariableKind.INTEGER, unit="rolls") for name in columns.values())
    objective = Objective(dict.fromkeys(columns.values(), 1), unit="rolls")
    milp = IndexedModel.from_records(variables, rows, objective, Sense.MINIMIZE, "cutting stock")
    return solve_instance("cutting_stock", seed, size, text, {"roll": ROLL, "widths": widths, "demand": demand}, milp)


def _maximal_patterns(room: int, widths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the patterns of one roll to which no piece can be added. Widths decrease within a pattern."""
    if len(widths) == 1:
        yield (room // widths[0],)
        return
    for count in range(room // widths[0], -1, -1):
        remaining = room - count * widths[0]
        for rest in _maximal_patterns(remaining, widths[1:]):
            waste = remaining - sum(number * width for number, width in zip(rest, widths[1:], strict=True))
            if waste < widths[0]:
                yield (count, *rest)


def generate_setups(seed: int, size: int = 4) -> FamilyInstance:
    """Generate a setup problem of ``size`` jobs. Four jobs take 0.1 s to solve, seven may take 30 s.

    Single-machine scheduling with the least weighted tardiness.
    """
    rng = instance_rng(seed, size)
    jobs = take_names(JOBS, size)
    duration = {job: int(rng.integers(2, 12)) for job in jobs}
    setup = {first: {job: int(rng.integers(1, 7)) for job in jobs if job != first} for first in ["start", *jobs]}
    total = sum(duration.values())
    due = {job: int(rng.integers(duration[job], total + 1)) for job in jobs}
    weight = {job: int(rng.integers(1, 6)) for job in jobs}
    text = f"""
        One printing press does {join_words(jobs)}, one after the other, beginning at hour 0. A job takes
        {join_words([f"{duration[j]} hours for {j}" for j in jobs])}. Before each job the press is set up, for as many
        hours as the table `setup` gives, by the job before (`start` for the first) and the job itself. Jobs are due at
        {join_words([f"hour {due[j]} for {j}" for j in jobs])}. Each hour that a job ends late costs
        {join_words([f"{weight[j]} EUR for {j}" for j in jobs])}; what is early gains nothing. What is the least total
        cost?"""
    milp = _build_model(jobs, duration, setup, due, weight)
    data = {"duration": duration, "setup": setup, "due": due, "weight": weight}
    return solve_instance("setups", seed, size, text, data, milp)


def _build_model(
    jobs: list[str],
    duration: dict[str, int],
    setup: dict[str, dict[str, int]],
    due: dict[str, int],
    weight: dict[str, int],
) -> IndexedModel:
    """Build the model: successors, completion times (Miller, Tucker & Zemlin 1960), and tardiness."""
    takes = {(first, job): setup[first][job] + duration[job] for first in setup for job in setup[first]}
    slowest = {job: max(takes[first, job] for first in setup if first != job) for job in jobs}
    quickest = {job: min(takes[first, job] for first in setup if first != job) for job in jobs}
    horizon = sum(slowest.values())
    arcs = {(first, job): f"{first} before {job}" for first, job in takes}
    variables = [Variable(arc, 0, 1, VariableKind.INTEGER) for arc in arcs.values()]
    variables += [Variable(f"end of {job}", quickest[job], horizon, unit="hours") for job in jobs]
    variables += [Variable(f"late {job}", unit="hours") for job in jobs]
    rows = [Row("one first", {arcs["start", job]: 1 for job in jobs}, Relation.EQUAL, 1)]
    for job in jobs:
        rows.append(Row(f"{job} once", {arc: 1 for (_, to), arc in arcs.items() if to == job}, Relation.EQUAL, 1))
        rows.append(Row(f"one at most after {job}", {arcs[job, to]: 1 for to in setup[job]}, Relation.AT_MOST, 1))
        rows.append(Row(f"late {job}", {f"late {job}": 1, f"end of {job}": -1}, Relation.AT_LEAST, -due[job]))
    for (first, job), arc in arcs.items():
        previous = {f"end of {first}": -1.0} if first != "start" else {}
        # Largest difference of the completion times if the job is not the successor.
        slack = horizon - quickest[job] if first != "start" else 0
        terms = {f"end of {job}": 1.0, arc: -float(takes[first, job] + slack)} | previous
        rows.append(Row(f"time of {arc}", terms, Relation.AT_LEAST, -slack))
    costs = {f"late {job}": weight[job] for job in jobs}
    return IndexedModel.from_records(
        tuple(variables), tuple(rows), Objective(costs, unit="EUR"), Sense.MINIMIZE, "scheduling with setups"
    )
