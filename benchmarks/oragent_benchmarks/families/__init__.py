"""Families of problems: seeded generators of text, data, exact model and proven optimum.

Tests and demonstrations need no external data, because a family generates any number of problems with known answers.
"""

from oragent_benchmarks.families import allocation, production
from oragent_benchmarks.families.instance import FamilyInstance, Generate

__all__ = ["FAMILIES", "FamilyInstance"]

FAMILIES: dict[str, Generate] = {
    "product_mix": production.generate_product_mix,
    "blending": production.generate_blending,
    "diet": production.generate_diet,
    "transport": allocation.generate_transport,
    "assignment": allocation.generate_assignment,
    "knapsack": allocation.generate_knapsack,
    "configuration": allocation.generate_configuration,
    "covering": allocation.generate_covering,
    "facility_location": allocation.generate_facility_location,
    "lot_sizing": production.generate_lot_sizing,
    "cutting_stock": production.generate_cutting_stock,
    "crew_scheduling": allocation.generate_crew_scheduling,
    "largest_flow": allocation.generate_largest_flow,
    "shortest_path": allocation.generate_shortest_path,
    "setups": production.generate_setups,
    "investment": allocation.generate_investment,
}
