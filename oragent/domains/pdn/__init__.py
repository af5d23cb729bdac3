"""Decoupling capacitors on a power distribution network (PDN): networks, instances, and rewards of placements."""

from oragent.domains.pdn.network import FREQUENCIES, GRID, PORTS, Network, Parameters, decap_magnitude, generate
from oragent.domains.pdn.placement import (
    DECAPS,
    NETWORK_FILE,
    SITE_FILES,
    STREAM,
    PlacementInstance,
    Site,
    check,
    draw_sites,
    fresh_part,
    objective,
    part,
    read_network,
    read_sites,
    reward,
)

__all__ = [
    "DECAPS",
    "FREQUENCIES",
    "GRID",
    "NETWORK_FILE",
    "PORTS",
    "SITE_FILES",
    "STREAM",
    "Network",
    "Parameters",
    "PlacementInstance",
    "Site",
    "check",
    "decap_magnitude",
    "draw_sites",
    "fresh_part",
    "generate",
    "objective",
    "part",
    "read_network",
    "read_sites",
    "reward",
]
