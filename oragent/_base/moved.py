"""Import modules under their former names, which evaluators of users and of earlier runs use."""

import sys
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "oragent.domains.driving.baseline": "oragent.domains.driving.evaluation",
    "oragent.domains.driving.connected": "oragent.domains.driving.simulation",
    "oragent.domains.driving.counting": "oragent.domains.driving.metrics",
    "oragent.domains.driving.demand": "oragent.domains.driving.scenario",
    "oragent.domains.driving.driver": "oragent.domains.driving.control",
    "oragent.domains.driving.hosted": "oragent.domains.driving.simulation",
    "oragent.domains.driving.installation": "oragent.domains.driving.network",
    "oragent.domains.pdn.grid": "oragent.domains.pdn.network",
    "oragent.solvers.attention_bias.kinds": "oragent.solvers.attention_bias.scoring",
    "oragent.solvers.training.validation": "oragent.solvers.training.curve",
    "oragent.solvers.training.instances": "oragent.solvers.training.labels",
    "oragent.solvers.training.partial": "oragent.solvers.training.drawing",
    "oragent.solvers.training.schedule": "oragent.solvers.training.state",
    "oragent.solvers.neural.reshaping": "oragent.solvers.attention_bias.scoring",
    "oragent.solvers.neural.paths": "oragent.solvers.neural.reconstruct",
    "oragent.harness.solutions": "oragent.harness.claims",
    "oragent.domains.driving.diagrams": "oragent.domains.driving.pictures",
    "oragent.domains.driving.vehicles": "oragent.domains.driving.rules",
    "oragent.domains.driving.outputs": "oragent.domains.driving.metrics",
    "oragent.domains.driving.long_roads": "oragent.domains.driving.courses",
    "oragent.domains.tsplib": "oragent.domains.tsp",
    "oragent.attention_bias": "oragent.solvers.attention_bias",
    "oragent.direction": "oragent._base.direction",
    "oragent.errors": "oragent._base.errors",
    "oragent.protocol": "oragent._base.protocol",
    "oragent.traffic": "oragent.domains.driving",
    "oragent.training": "oragent.solvers.training",
}


class MovedLoader(Loader):
    """Loader that returns the current module for a former name."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new module by the current one."""
        sys.modules[module.__name__] = import_module(_current_name(module.__name__))


def moved_spec(fullname: str) -> ModuleSpec | None:
    """Return a spec for a former name, None for any other."""
    return ModuleSpec(fullname, MovedLoader()) if _current_name(fullname) else None


def _current_name(fullname: str) -> str:
    for former, current in MOVED.items():
        if fullname == former or fullname.startswith(f"{former}."):
            return current + fullname.removeprefix(former)
    return ""
