"""Import modules under their former names, which evaluators of users and of earlier runs use."""

import sys
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "oragent.attention_bias": "oragent.solvers.attention_bias",
    "oragent.direction": "oragent._base.direction",
    "oragent.errors": "oragent._base.errors",
    "oragent.protocol": "oragent._base.protocol",
    "oragent.traffic": "oragent.domains.driving",
    "oragent.training": "oragent.solvers.training",
}


class MovedLoader(Loader):
    """Loader that answers a former name with the module of today."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system: the module is replaced in ``exec_module``."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of today in the place of the new one."""
        sys.modules[module.__name__] = import_module(_current_name(module.__name__))


def moved_spec(fullname: str) -> ModuleSpec | None:
    """Return a spec for a former name, None for any other."""
    return ModuleSpec(fullname, MovedLoader()) if _current_name(fullname) else None


def _current_name(fullname: str) -> str:
    """Return today's name of a module, empty where the name is no former one."""
    for former, current in MOVED.items():
        if fullname == former or fullname.startswith(f"{former}."):
            return current + fullname.removeprefix(former)
    return ""
