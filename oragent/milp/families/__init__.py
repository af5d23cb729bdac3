"""Families of problems: seeded generators of words, data, exact model and proven optimum.

Tests and demonstrations need nobody's data: every family is an endless set of problems whose answers are known.
"""

from oragent.milp.families import (
    assignment,
    blending,
    configuration,
    covering,
    crew_scheduling,
    cutting_stock,
    diet,
    facility_location,
    investment,
    knapsack,
    lot_sizing,
    network,
    product_mix,
    setups,
    transport,
)  # fmt: skip
from oragent.milp.families.instance import FamilyInstance, Generate

__all__ = ["FAMILIES", "FamilyInstance"]

FAMILIES: dict[str, Generate] = {
    "product_mix": product_mix.generate,
    "blending": blending.generate,
    "diet": diet.generate,
    "transport": transport.generate,
    "assignment": assignment.generate,
    "knapsack": knapsack.generate,
    "configuration": configuration.generate,
    "covering": covering.generate,
    "facility_location": facility_location.generate,
    "lot_sizing": lot_sizing.generate,
    "cutting_stock": cutting_stock.generate,
    "crew_scheduling": crew_scheduling.generate,
    "largest_flow": network.largest_flow,
    "shortest_path": network.shortest_path,
    "setups": setups.generate,
    "investment": investment.generate,
}
