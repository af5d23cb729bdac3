"""A drinks company ships two products from works through depots to shops."""

import numpy as np

from oragent.evals.workspace.domains.domain import (
    REQUIREMENT,
    Artifacts,
    Domain,
    DomainRevision,
    NewFigure,
    draw_parameters,
    draw_table,
    read_requirement,
)
from oragent.evals.workspace.revisions import Type
from oragent.workspace import tables


def draw_instance(rng: np.random.Generator) -> Artifacts:
    """Draw an instance: three works, four depots, ten to fourteen shops on a plane of 400 by 400 km."""
    works, depots = ["Ulm", "Trier", "Jena"], ["Hof", "Fulda", "Mainz", "Celle"]
    shops = ["Aalen", "Bonn", "Coburg", "Dessau", "Essen", "Furth", "Gera", "Halle", "Ilmenau", "Kassel", "Lingen",
             "Marl", "Nauen", "Oelde"][: int(rng.integers(10, 15))]  # fmt: skip
    position = {name: rng.uniform(0, 400, 2) for name in [*works, *depots, *shops]}
    need = {shop: [int(rng.integers(20, 90)), int(rng.integers(10, 60))] for shop in shops}
    total = [sum(demand[product] for demand in need.values()) for product in (0, 1)]
    share = rng.dirichlet([6.0] * 3, 2)
    pairs = [(a, b) for a in works for b in depots] + [(a, b) for a in depots for b in shops]
    return Artifacts(
        {
            "works.csv": draw_table("works|water (pallets)|juice (pallets)", [
                [name, *(round(1.22 * total[g] * share[g][place_of]) for g in (0, 1))]
                for place_of, name in enumerate(works)]),
            "depots.csv": draw_table("depot|capacity (pallets)|handling cost (EUR)", [
                [name, round(sum(total) * float(rng.uniform(0.28, 0.5))), float(rng.integers(20, 60)) / 10]
                for name in depots]),
            "shops.csv": draw_table("shop|water (pallets)|juice (pallets)", [[name, *demand]
                for name, demand in need.items()]),
            "distances.csv": draw_table("from|to|distance (km)", [
                [a, b, round(25 + float(np.hypot(*(position[a] - position[b]))))] for a, b in pairs]),
            tables.PARAMETERS_FILE: draw_parameters(
                ("freight_rate", float(rng.integers(8, 14)) / 100, "EUR/km", "a pallet and kilometre to a depot"),
                ("delivery_rate", float(rng.integers(20, 34)) / 100, "EUR/km", "a pallet and kilometre to a shop"),
            ),
        },
        {REQUIREMENT: read_requirement("distribution")},
    )  # fmt: skip


DISTRIBUTION = Domain(
    "distribution", "Distribution of drinks through depots", "LpMinimize", draw_instance,
    (
        DomainRevision(
            "depot in use", Type.R4,
            "The contracts of our depots end. A depot that handles anything in a week costs a rent of "
            "`depot_rent`; one that "
            "handles nothing costs none.",
            lambda plan: (NewFigure("depot_rent",
                round(2.4 * plan.column_sum("shops.csv", "water (pallets)")), 0.0,
                                    "EUR", "rent of a depot that is used in a week"),),
            'm.used = {d: pulp.LpVariable(f"used__{d}", cat="Binary") for d in m.depots}\n'
            'for d, row in m.depots.items():\n'
            '    m.problem += m.handled[d] <= float(row["capacity (pallets)"]) * m.used[d], f"rent__{d}"\n'
            '    m.cost.append(m.p["depot_rent"] * m.used[d])',
        ),
        DomainRevision(
            "one depot a shop", Type.R3,
            "Shops complain of too many lorries. A shop is served by at most `depots_per_shop` depots.",
            lambda plan: (NewFigure("depots_per_shop", 1.0, 4.0, "depots", "depots that serve a shop"),),
            'm.serves = {(d, s): pulp.LpVariable(f"serves__{d}__{s}", cat="Binary") for d in m.depots for s in '
            'm.shops}\n'
            'for s, row in m.shops.items():\n'
            '    m.problem += pulp.lpSum(m.serves[d, s] for d in m.depots) <= m.p["depots_per_shop"], f"lorries__{s}"\n'
            '    for d in m.depots:\n'
            '        for g in m.products:\n'
            '            m.problem += m.outbound[g, d, s] <= float(row[f"{g} (pallets)"]) * m.serves[d, s], (\n'
            '                f"served__{g}__{d}__{s}")',
        ),
        DomainRevision(
            "carbon price", Type.R2,
            "From January each pallet and kilometre, on all lanes, costs an additional `carbon_rate` for its "
            "emissions.",
            lambda plan: (NewFigure("carbon_rate", 0.03, 0.0, "EUR/km", "emissions of a pallet and kilometre"),),
            'm.cost += [m.p["carbon_rate"] * m.km[w, d] * one for (g, w, d), one in m.inbound.items()]\n'
            'm.cost += [m.p["carbon_rate"] * m.km[d, s] * one for (g, d, s), one in m.outbound.items()]',
        ),
        DomainRevision(
            "even depots", Type.R3,
            "To keep the crews of all depots, each depot handles at least the share `least_share` of all pallets.",
            lambda plan: (NewFigure("least_share", 0.2, 0.0, "share", "part of all pallets at each depot"),),
            'total = sum(float(row[f"{g} (pallets)"]) for row in m.shops.values() for g in m.products)\n'
            'for d in m.depots:\n'
            '    m.problem += m.handled[d] >= m.p["least_share"] * total, f"crew__{d}"',
        ),
        DomainRevision(
            "works under repair", Type.R1,
            "The bottling line in Ulm is under repair: Ulm loads the share `ulm_share` of what `works.csv` says, "
            "of both "
            "products.",
            lambda plan: (NewFigure("ulm_share", 0.7, 1.0, "share", "part of its figures that Ulm loads"),),
            edits=(('<= float(row[f"{g} (pallets)"]), (\n                f"supply',
                    '<= float(row[f"{g} (pallets)"]) * (m.p["ulm_share"] if w == "Ulm" else 1), (\n                '
                    'f"supply'),),
        ),
    ),
)  # fmt: skip
