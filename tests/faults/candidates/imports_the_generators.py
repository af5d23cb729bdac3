"""Imports what generates the instances, and looks for it in its memory."""
# expect: ok
# holds: unread

import gc
import sys
import types

try:
    import oragent.domains.bpp

    raise RuntimeError("got through: I can generate instances")
except (ImportError, PermissionError):
    # Landlock shows the name of the package, but not its files
    pass
modules = [item for item in gc.get_objects() if isinstance(item, types.ModuleType)]
names = [name for module in modules for name in vars(module)]
if "weibull_stream" in names or any(name.startswith("oragent.domains") for name in sys.modules):
    raise RuntimeError("got through: a module of generators is in my memory")


def heuristics(matrix):
    return -matrix
