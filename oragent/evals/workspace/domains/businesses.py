"""Four businesses with five revisions each: a furniture works, a drinks company, a hospital kitchen and a feed mill."""

import numpy as np

from oragent.evals.workspace.domains.domain import (
    REQUIREMENT,
    Artifacts,
    Domain,
    DomainRevision,
    NewFigure,
    Type,
    draw_parameters,
    draw_table,
    read_requirement,
)
from oragent.workspace import tables


def _draw_production(rng: np.random.Generator) -> Artifacts:
    """Draw an instance: five or six products, three machines, six or seven weeks."""
    names = ["table", "chair", "shelf", "bench", "desk", "stool", "cabinet"][: int(rng.integers(5, 7))]
    machines, weeks = ["saw", "press", "paint"], [f"w{week}" for week in range(1, int(rng.integers(6, 8)) + 1)]
    hours = {(name, machine): float(rng.integers(2, 9)) / 10 for name in names for machine in machines}
    level = {name: float(rng.integers(40, 130)) for name in names}
    season = 1.0 + 0.5 * np.sin(np.arange(len(weeks)) / len(weeks) * 6.3 + float(rng.uniform(0, 6.3)))
    demand = [[name, *(round(level[name] * float(rng.uniform(0.8, 1.2)) * s) for s in season)] for name in names]
    products = [
        [name, int(rng.integers(20, 90)), float(rng.integers(4, 16)) / 10, int(rng.integers(0, 30))] for name in names
    ]
    load = {machine: sum(hours[name, machine] * level[name] for name in names) for machine in machines}
    rows = [[machine, round(load[machine] * 0.97), round(load[machine] * 0.7)] for machine in machines]
    return Artifacts(
        {
            "products.csv": draw_table("product|making cost (EUR)|storing cost (EUR)|first stock (pieces)", products),
            "demand.csv": draw_table("|".join(["product", *weeks]), demand),
            "machines.csv": draw_table("machine|regular hours (h)|most overtime (h)", list(rows)),
            "hours.csv": draw_table(
                "product|machine|hours per piece (h)", [[*key, value] for key, value in hours.items()]
            ),
            tables.PARAMETERS_FILE: draw_parameters(
                ("overtime_cost", float(rng.integers(28, 46)), "EUR/h", "cost of an hour of overtime"),
                ("store_capacity", round(sum(level.values()) * 0.9), "pieces", "room for finished products"),
            ),
        },
        {REQUIREMENT: read_requirement("production").format(weeks=len(weeks))},
    )


PRODUCTION = Domain(
    "production",
    "Production plan of a furniture works",
    "LpMinimize",
    _draw_production,
    (
        DomainRevision(
            "safety stock",
            Type.R3,
            "Two deliveries were late in spring. From now on at least the share `safety_share` of a week's orders of "
            "each product is in the store at the end of the week.",
            lambda plan: (NewFigure("safety_share", 0.15, 0.0, "share", "part of a week's orders kept in store"),),
            "for product, week in m.demand:\n"
            '    m.problem += m.stock[product, week] >= m.p["safety_share"] * m.demand[product, week], (\n'
            '        f"safety__{product}__{week}")',
        ),
        DomainRevision(
            "overtime budget",
            Type.R3,
            "The works council agrees to at most `overtime_budget` hours of overtime on all machines and weeks "
            "together.",
            lambda plan: (
                NewFigure(
                    "overtime_budget",
                    round(0.85 * plan.total("overtime")),
                    1e6,
                    "h",
                    "overtime on all machines in all weeks",
                ),
            ),
            'm.problem += pulp.lpSum(m.overtime.values()) <= m.p["overtime_budget"], "overtime_total"',
        ),
        DomainRevision(
            "setup cost",
            Type.R4,
            "A week in which a product is made begins with a setup of its line, which costs `setup_cost`, however many "
            "pieces follow.",
            lambda plan: (NewFigure("setup_cost", 250.0, 0.0, "EUR", "setup of a product's line in a week"),),
            'm.setup = {key: pulp.LpVariable("setup__%s__%s" % key, cat="Binary") for key in m.make}\n'
            "for (product, week), setup in m.setup.items():\n"
            "    most = sum(m.demand[product, later] for later in m.weeks[m.weeks.index(week):])\n"
            "    most += 0.2 * sum(m.demand[product, one] for one in m.weeks)\n"
            '    m.problem += m.make[product, week] <= most * setup, f"line__{product}__{week}"\n'
            '    m.cost.append(m.p["setup_cost"] * setup)',
        ),
        DomainRevision(
            "late delivery",
            Type.R5,
            "Customers accept that up to the share `late_share` of a week's orders comes one week later, for a "
            "rebate of `late_rebate` on each such piece. The last week's orders are never late.",
            lambda plan: (
                NewFigure("late_share", 0.3, 0.0, "share", "part of a week's orders that may be late"),
                NewFigure("late_rebate", 1.5, 1.5, "EUR/piece", "rebate on a piece that is late"),
            ),
            "for (product, week), late in m.late.items():\n"
            '    m.problem += late <= m.p["late_share"] * m.demand[product, week], f"late__{product}__{week}"\n'
            '    m.cost.append(m.p["late_rebate"] * late)\n'
            "for product in m.products:\n"
            '    m.problem += m.late[product, m.weeks[-1]] <= 0, f"punctual__{product}"',
            edits=(
                (
                    "    m.overtime = {",
                    '    m.late = {key: pulp.LpVariable("delay__%s__%s" % key, 0) for key in every}\n'
                    "    m.overtime = {",
                ),
                (
                    "            m.problem += before + m.make[product, week] == m.demand[product, week] + "
                    "m.stock[product, week], (",
                    "            due = m.late[product, m.weeks[place - 1]] if place else 0\n"
                    "            here = m.demand[product, week] - m.late[product, week]\n"
                    "            m.problem += before + m.make[product, week] == here + due + m.stock[product, week], (",
                ),
            ),
        ),
        DomainRevision(
            "growing orders",
            Type.R1,
            "Sales expects that every order is larger than the list says: all figures of `demand.csv` are to be "
            "multiplied by `demand_growth`.",
            lambda plan: (NewFigure("demand_growth", 1.08, 1.0, "factor", "growth of all orders"),),
            edits=(
                ("): float(row[week]) for row in rows", '): m.p["demand_growth"] * float(row[week]) for row in rows'),
            ),
        ),
    ),
)


def _draw_distribution(rng: np.random.Generator) -> Artifacts:
    """Draw an instance: three works, four depots, ten to fourteen shops on a plane of 400 by 400 km."""
    works, depots = ["Ulm", "Trier", "Jena"], ["Hof", "Fulda", "Mainz", "Celle"]
    shops = [
        "Aalen",
        "Bonn",
        "Coburg",
        "Dessau",
        "Essen",
        "Furth",
        "Gera",
        "Halle",
        "Ilmenau",
        "Kassel",
        "Lingen",
        "Marl",
        "Nauen",
        "Oelde",
    ][: int(rng.integers(10, 15))]
    position = {name: rng.uniform(0, 400, 2) for name in [*works, *depots, *shops]}
    need = {shop: [int(rng.integers(20, 90)), int(rng.integers(10, 60))] for shop in shops}
    total = [sum(demand[product] for demand in need.values()) for product in (0, 1)]
    share = rng.dirichlet([6.0] * 3, 2)
    pairs = [(a, b) for a in works for b in depots] + [(a, b) for a in depots for b in shops]
    return Artifacts(
        {
            "works.csv": draw_table(
                "works|water (pallets)|juice (pallets)",
                [
                    [name, *(round(1.22 * total[g] * share[g][place_of]) for g in (0, 1))]
                    for place_of, name in enumerate(works)
                ],
            ),
            "depots.csv": draw_table(
                "depot|capacity (pallets)|handling cost (EUR)",
                [
                    [name, round(sum(total) * float(rng.uniform(0.28, 0.5))), float(rng.integers(20, 60)) / 10]
                    for name in depots
                ],
            ),
            "shops.csv": draw_table(
                "shop|water (pallets)|juice (pallets)", [[name, *demand] for name, demand in need.items()]
            ),
            "distances.csv": draw_table(
                "from|to|distance (km)",
                [[a, b, round(25 + float(np.hypot(*(position[a] - position[b]))))] for a, b in pairs],
            ),
            tables.PARAMETERS_FILE: draw_parameters(
                ("freight_rate", float(rng.integers(8, 14)) / 100, "EUR/km", "a pallet and kilometre to a depot"),
                ("delivery_rate", float(rng.integers(20, 34)) / 100, "EUR/km", "a pallet and kilometre to a shop"),
            ),
        },
        {REQUIREMENT: read_requirement("distribution")},
    )


DISTRIBUTION = Domain(
    "distribution",
    "Distribution of drinks through depots",
    "LpMinimize",
    _draw_distribution,
    (
        DomainRevision(
            "depot in use",
            Type.R4,
            "The contracts of our depots end. A depot that handles anything in a week costs a rent of `depot_rent`; "
            "one that handles nothing costs none.",
            lambda plan: (
                NewFigure(
                    "depot_rent",
                    round(2.4 * plan.column_sum("shops.csv", "water (pallets)")),
                    0.0,
                    "EUR",
                    "rent of a depot that is used in a week",
                ),
            ),
            'm.used = {d: pulp.LpVariable(f"used__{d}", cat="Binary") for d in m.depots}\n'
            "for d, row in m.depots.items():\n"
            '    m.problem += m.handled[d] <= float(row["capacity (pallets)"]) * m.used[d], f"rent__{d}"\n'
            '    m.cost.append(m.p["depot_rent"] * m.used[d])',
        ),
        DomainRevision(
            "one depot a shop",
            Type.R3,
            "Shops complain of too many lorries. A shop is served by at most `depots_per_shop` depots.",
            lambda plan: (NewFigure("depots_per_shop", 1.0, 4.0, "depots", "depots that serve a shop"),),
            'm.serves = {(d, s): pulp.LpVariable(f"serves__{d}__{s}", cat="Binary") for d in m.depots for s in '
            "m.shops}\n"
            "for s, row in m.shops.items():\n"
            '    m.problem += pulp.lpSum(m.serves[d, s] for d in m.depots) <= m.p["depots_per_shop"], f"lorries__{s}"\n'
            "    for d in m.depots:\n"
            "        for g in m.products:\n"
            '            m.problem += m.outbound[g, d, s] <= float(row[f"{g} (pallets)"]) * m.serves[d, s], (\n'
            '                f"served__{g}__{d}__{s}")',
        ),
        DomainRevision(
            "carbon price",
            Type.R2,
            "From January each pallet and kilometre, on all lanes, costs an additional `carbon_rate` for its "
            "emissions.",
            lambda plan: (NewFigure("carbon_rate", 0.03, 0.0, "EUR/km", "emissions of a pallet and kilometre"),),
            'm.cost += [m.p["carbon_rate"] * m.km[w, d] * one for (g, w, d), one in m.inbound.items()]\n'
            'm.cost += [m.p["carbon_rate"] * m.km[d, s] * one for (g, d, s), one in m.outbound.items()]',
        ),
        DomainRevision(
            "even depots",
            Type.R3,
            "To keep the crews of all depots, each depot handles at least the share `least_share` of all pallets.",
            lambda plan: (NewFigure("least_share", 0.2, 0.0, "share", "part of all pallets at each depot"),),
            'total = sum(float(row[f"{g} (pallets)"]) for row in m.shops.values() for g in m.products)\n'
            "for d in m.depots:\n"
            '    m.problem += m.handled[d] >= m.p["least_share"] * total, f"crew__{d}"',
        ),
        DomainRevision(
            "works under repair",
            Type.R1,
            "The bottling line in Ulm is under repair: Ulm loads the share `ulm_share` of what `works.csv` says, of "
            "both products.",
            lambda plan: (NewFigure("ulm_share", 0.7, 1.0, "share", "part of its figures that Ulm loads"),),
            edits=(
                (
                    '<= float(row[f"{g} (pallets)"]), (\n                f"supply',
                    '<= float(row[f"{g} (pallets)"]) * (m.p["ulm_share"] if w == "Ulm" else 1), (\n                '
                    'f"supply',
                ),
            ),
        ),
    ),
)


def _draw_rostering(rng: np.random.Generator) -> Artifacts:
    """Draw an instance: three contracts, seven days, seven periods."""
    days, periods = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], [f"p{index}" for index in range(1, 8)]
    shape = np.array([6, 9, 12, 8, 7, 11, 5])
    need = [
        [
            period,
            *(
                max(2, round(float(shape[index] * factor * rng.uniform(0.85, 1.15))))
                for factor in (1, 1, 1, 1, 1.1, 0.8, 0.75)
            ),
        ]
        for index, period in enumerate(periods)
    ]
    total = sum(sum(int(str(cell)) for cell in row[1:]) for row in need)
    pay = int(rng.integers(96, 118))
    contracts: list[list[object]] = [
        ["cook", 4, pay + int(rng.integers(14, 28)), round(total * 0.16)],
        ["helper", 4, pay, round(total * 0.2)],
        ["parttime", 2, round(pay * 0.5) + int(rng.integers(6, 14)), round(total * 0.2)],
    ]
    return Artifacts(
        {
            "need.csv": draw_table("|".join(["period", *days]), need),
            "contracts.csv": draw_table("contract|periods|pay (EUR)|most shifts", contracts),
            tables.PARAMETERS_FILE: draw_parameters(
                ("weekend_factor", 1.25, "factor", "pay on Saturday and Sunday"),
                ("least_cooks", 2.0, "people", "cooks who begin in the first period of a day"),
            ),
        },
        {REQUIREMENT: read_requirement("rostering")},
    )


ROSTERING = Domain(
    "rostering",
    "Week of a hospital kitchen",
    "LpMinimize",
    _draw_rostering,
    (
        DomainRevision(
            "trained people",
            Type.R3,
            "An inspection found untrained people alone at the stoves. In the whole week at least the share "
            "`cook_share` of all shifts is worked by cooks.",
            lambda plan: (NewFigure("cook_share", 0.35, 0.0, "share", "part of all shifts that cooks work"),),
            'cooks = pulp.lpSum(one for key, one in m.begin.items() if key[0] == "cook")\n'
            'm.problem += cooks >= m.p["cook_share"] * pulp.lpSum(m.begin.values()), "trained"',
        ),
        DomainRevision(
            "agency staff",
            Type.R5,
            "An agency can send up to `agency_people` people for any single period, at `agency_rate` for each of them.",
            lambda plan: (
                NewFigure("agency_people", 3.0, 0.0, "people", "people of the agency in a period"),
                NewFigure("agency_rate", 18.0, 18.0, "EUR", "a person of the agency for a period"),
            ),
            'm.cost += [m.p["agency_rate"] * one for one in m.agency.values()]\n'
            "for (day, period), one in m.agency.items():\n"
            '    m.problem += one <= m.p["agency_people"], f"agency__{day}__{period}"',
            edits=(
                (
                    "    m.present = {}\n",
                    "    m.present = {}\n    m.agency = {(day, period): pulp.LpVariable(\n"
                    '        f"sent__{day}__{period}", 0, cat="Integer") for day, period in m.need}\n',
                ),
                (
                    'm.problem += m.present[day, period] >= m.need[day, period], f"need__{day}__{period}"',
                    "m.problem += m.present[day, period] + m.agency[day, period] >= m.need[day, period], "
                    'f"need__{day}__{period}"',
                ),
            ),
        ),
        DomainRevision(
            "part-time limit",
            Type.R3,
            "The union asks for full contracts: on every day at most the share `parttime_share` of the shifts that "
            "begin is part-time.",
            lambda plan: (NewFigure("parttime_share", 0.2, 1.0, "share", "part of a day's shifts that are part-time"),),
            "for day in m.days:\n"
            '    parttime = pulp.lpSum(one for key, one in m.begin.items() if key[:2] == ("parttime", day))\n'
            "    all_shifts = pulp.lpSum(one for key, one in m.begin.items() if key[1] == day)\n"
            '    m.problem += parttime <= m.p["parttime_share"] * all_shifts, f"parttime__{day}"',
        ),
        DomainRevision(
            "early allowance",
            Type.R2,
            "Whoever begins in the first period of a day is paid an allowance of `early_allowance` on top of the pay.",
            lambda plan: (NewFigure("early_allowance", 22.0, 0.0, "EUR", "allowance for a shift that begins first"),),
            'm.cost += [m.p["early_allowance"] * one for (contract, day, period), one in m.begin.items()\n'
            "           if period == m.periods[0]]",
        ),
        DomainRevision(
            "busy Friday",
            Type.R1,
            "A new ward opens, which orders on Fridays: on that day `friday_extra` more people are needed in every "
            "period.",
            lambda plan: (NewFigure("friday_extra", 4.0, 0.0, "people", "more people on Friday, in every period"),),
            edits=(
                (
                    "): float(row[day]) for row in rows",
                    '): float(row[day]) + m.p["friday_extra"] * (day == "fri") for row in rows',
                ),
            ),
        ),
    ),
)


def _draw_blending(rng: np.random.Generator) -> Artifacts:
    """Draw an instance: eight materials, four feeds, four months."""
    base = {
        "wheat": (12, 3),
        "barley": (11, 5),
        "maize": (9, 2),
        "soymeal": (45, 6),
        "rapemeal": (35, 12),
        "bran": (15, 10),
        "peas": (23, 6),
        "beetpulp": (9, 18),
    }
    quality = {
        name: [p + float(rng.integers(-9, 10)) / 10, f + float(rng.integers(-9, 10)) / 10]
        for name, (p, f) in base.items()
    }
    price = {name: 90 + 6.2 * p - 2.5 * f + float(rng.uniform(-15, 15)) for name, (p, f) in quality.items()}
    months = ["may", "june", "july", "august"]
    feeds: list[list[object]] = [
        [
            name,
            round(150 + 6.4 * protein - 2 * fibre + float(rng.uniform(-6, 14))),
            protein,
            fibre,
            int(rng.integers(150, 420)),
        ]
        for name, protein, fibre in (("poultry", 19, 5), ("pig", 16, 6), ("cattle", 14, 12), ("calf", 18, 8))
    ]
    sold = sum(int(str(row[4])) for row in feeds)
    return Artifacts(
        {
            "feeds.csv": draw_table("feed|price (EUR)|least protein (%)|most fibre (%)|most sales (t)", feeds),
            "materials.csv": draw_table(
                "material|protein (%)|fibre (%)|market (t)",
                [[name, *values, round(sold * float(rng.uniform(0.15, 0.4)))] for name, values in quality.items()],
            ),
            "prices.csv": draw_table(
                "|".join(["material", *months]),
                [
                    [name, *(round(values * float(rng.uniform(0.85, 1.15))) for _ in months)]
                    for name, values in price.items()
                ],
            ),
            tables.PARAMETERS_FILE: draw_parameters(
                ("storing_cost", float(rng.integers(20, 50)) / 10, "EUR/t", "a tonne in the silos for a month"),
                ("silo_capacity", round(sold * 0.4), "t", "room of all silos together"),
                ("mill_capacity", round(sold * 0.85), "t", "tonnes that the mill blends in a month"),
            ),
        },
        {REQUIREMENT: read_requirement("blending")},
    )


BLENDING = Domain(
    "blending",
    "Purchase and blending of a feed mill",
    "LpMaximize",
    _draw_blending,
    (
        DomainRevision(
            "maize limit",
            Type.R3,
            "Buyers want less maize. In each feed and month, maize is at most the share `maize_share` of the weight.",
            lambda plan: (NewFigure("maize_share", 0.04, 1.0, "share", "maize in a feed, by weight"),),
            "for (f, t), made in m.made.items():\n"
            '    m.problem += m.blend["maize", f, t] <= m.p["maize_share"] * made, f"maize__{f}__{t}"',
        ),
        DomainRevision(
            "soy agreement",
            Type.R3,
            "We signed an agreement with a supplier of soymeal: in every month we buy at least `soy_tonnes` of it.",
            lambda plan: (
                NewFigure(
                    "soy_tonnes",
                    round(1.02 * plan.largest("buy__soymeal") + 5),
                    0.0,
                    "t",
                    "least purchase of soymeal in a month",
                ),
            ),
            'for t in m.months:\n    m.problem += m.buy["soymeal", t] >= m.p["soy_tonnes"], f"agreement__{t}"',
            edits=(
                (
                    'm.problem += m.buy[a, t] <= float(row["market (t)"])',
                    'm.problem += m.buy[a, t] <= float(row["market (t)"]) + (m.p["soy_tonnes"] if a == "soymeal" '
                    "else 0)",
                ),
            ),
        ),
        DomainRevision(
            "cleaning of the line",
            Type.R4,
            "Before a feed is blended in a month, the line is cleaned, which costs `cleaning_cost`; a feed that is "
            "not made needs no cleaning.",
            lambda plan: (NewFigure("cleaning_cost", 900.0, 0.0, "EUR", "cleaning before a feed in a month"),),
            "for (f, t), made in m.made.items():\n"
            '    run = pulp.LpVariable(f"run__{f}__{t}", cat="Binary")\n'
            '    m.problem += made <= float(m.feeds[f]["most sales (t)"]) * run, f"line__{f}__{t}"\n'
            '    m.cost.append(-m.p["cleaning_cost"] * run)',
        ),
        DomainRevision(
            "richer feeds",
            Type.R1,
            "The association raises its standard: every feed needs `protein_extra` percent of the weight more "
            "protein than `feeds.csv` says.",
            lambda plan: (NewFigure("protein_extra", 1.5, 0.0, "%", "protein in addition to the table"),),
            edits=(
                (
                    'float(row["least protein (%)"]) * made',
                    '(float(row["least protein (%)"]) + m.p["protein_extra"]) * made',
                ),
            ),
        ),
        DomainRevision(
            "second shift",
            Type.R5,
            "The mill can run a second shift in a month. It costs `shift_cost` for the month and lets the mill blend "
            "`shift_tonnes` more.",
            lambda plan: (
                NewFigure(
                    "shift_tonnes",
                    round(0.15 * plan.column_sum("feeds.csv", "most sales (t)")),
                    0.0,
                    "t",
                    "more tonnes by a second shift",
                ),
                NewFigure("shift_cost", 500.0, 500.0, "EUR", "second shift for a month"),
            ),
            'm.cost += [-m.p["shift_cost"] * one for one in m.shift.values()]',
            edits=(
                (
                    "    m.made = {",
                    '    m.shift = {t: pulp.LpVariable(f"shift__{t}", cat="Binary") for t in m.months}\n    m.made = {',
                ),
                (
                    '<= m.p["mill_capacity"], f"mill',
                    '<= m.p["mill_capacity"] + m.p["shift_tonnes"] * m.shift[t], f"mill',
                ),
            ),
        ),
    ),
)

DOMAINS = {domain.name: domain for domain in (PRODUCTION, DISTRIBUTION, ROSTERING, BLENDING)}
