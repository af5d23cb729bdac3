"""Families of problems: seeded generators of words, data, exact model and proven optimum.

Tests and demonstrations need no external data: every family is an endless set of problems whose answers are known.
"""

from oragent.milp.families import production, selection, transport
from oragent.milp.families.instance import FamilyInstance, Generate
from oragent.milp.families.selection import generate_configuration

__all__ = ["FAMILIES", "FamilyInstance"]

FAMILIES: dict[str, Generate] = {
    "product_mix": production.generate_product_mix,
    "blending": production.generate_blending,
    "diet": production.generate_diet,
    "transport": transport.generate_transport,
    "assignment": transport.generate_assignment,
    "knapsack": selection.generate_knapsack,
    "configuration": generate_configuration,
    "covering": selection.generate_covering,
    "facility_location": transport.generate_facility_location,
    "lot_sizing": production.generate_lot_sizing,
    "cutting_stock": production.generate_cutting_stock,
    "crew_scheduling": selection.generate_crew_scheduling,
    "largest_flow": transport.generate_largest_flow,
    "shortest_path": transport.generate_shortest_path,
    "setups": production.generate_setups,
    "investment": selection.generate_investment,
}
