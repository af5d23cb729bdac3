"""Import modules under their former names, which evaluators of users and of earlier runs use."""

import sys
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "oragent.search.progress": "oragent.search.events",
    "oragent.search.grid": "oragent.search.archive",
    "oragent.search.history": "oragent.search.archive",
    "oragent.search.genetics.mutations": "oragent.search.genetics.draft",
    "oragent.search.strategies.differential": "oragent.search.strategies.tuning",
    "oragent.search.strategies.or_agent.constants": "oragent.search.strategies.constants",
    "oragent.search.strategies.or_agent.notes": "oragent.search.strategies.or_agent.tree",
    "oragent.search.strategies.or_agent.tuning": "oragent.search.strategies.tuning",
    "oragent.harness.racing": "oragent.harness.claims",
    "oragent.harness.hooks": "oragent.harness.main",
    "oragent.harness.instances": "oragent.harness.guest",
    "oragent.harness.forkers": "oragent.harness.process",
    "oragent.harness.compiled": "oragent.harness.candidate_loading",
    "oragent.solvers.attention_bias.requests": "oragent.solvers.attention_bias.serving",
    "oragent.solvers.attention_bias.deciding": "oragent.solvers.attention_bias.scoring",
    "oragent.solvers.neural.reconstruct": "oragent.solvers.neural.solve",
    "oragent.solvers.training.export": "oragent.solvers.training.curve",
    "oragent.solvers.training.drawing": "oragent.solvers.training.tasks",
    "oragent.solvers.training.optimiser": "oragent.solvers.training.trainer",
    "oragent.solvers.local_search": "oragent.solvers.gls",
    "oragent.domains.lehd_files": "oragent.domains.network_instances",
    "oragent.domains.torch_stream": "oragent.domains.network_instances",
    "oragent.domains.cells": "oragent.domains.streams",
    "oragent.domains.claims": "oragent.domains.streams",
    "oragent.domains.fresh": "oragent.domains.streams",
    "oragent.domains.pdn.official": "oragent.domains.pdn.placement",
    "oragent.domains.driving.cooperative": "oragent.domains.driving.controllers",
    "oragent.domains.driving.trajectories": "oragent.domains.driving.scoring",
    "oragent.domains.driving.drive": "oragent.domains.driving.trials",
    "oragent.domains.driving.courses": "oragent.domains.driving.scenario",
    "oragent.domains.driving.plans": "oragent.domains.driving.network",
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
    "oragent.solvers.training.partial": "oragent.solvers.training.tasks",
    "oragent.solvers.training.schedule": "oragent.solvers.training.state",
    "oragent.solvers.neural.reshaping": "oragent.solvers.attention_bias.scoring",
    "oragent.solvers.neural.paths": "oragent.solvers.neural.solve",
    "oragent.harness.solutions": "oragent.harness.claims",
    "oragent.domains.driving.diagrams": "oragent.domains.driving.pictures",
    "oragent.domains.driving.vehicles": "oragent.domains.driving.rules",
    "oragent.domains.driving.outputs": "oragent.domains.driving.metrics",
    "oragent.domains.driving.long_roads": "oragent.domains.driving.scenario",
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
    if _current_name(fullname):
        return ModuleSpec(fullname, MovedLoader())
    return None


def _current_name(fullname: str) -> str:
    for former, current in MOVED.items():
        if fullname == former or fullname.startswith(f"{former}."):
            return current + fullname.removeprefix(former)
    return ""
