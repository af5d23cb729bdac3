"""Imported modules that guests must not keep, found without access to all imported modules.

Access to a name changes its reference count, so a child process copies the page of the name from its parent. The names
of all modules lie on about 170 pages, and the copies took more than a millisecond for each candidate.
"""

import sys
import types

# Packages that generate and score instances.
HIDDEN = ("oragent.domains", "oragent.solvers")
# Entry of ``sys.modules`` after the modules that were remembered.
MARK = "oragent._modules_before"
# Names in HIDDEN when ``remember_modules`` was called.
_names: tuple[str, ...] = ()


def remember_modules() -> None:
    """Find the modules in ``HIDDEN`` that are imported now; children then look only at modules imported since."""
    global _names
    _names = tuple(name for name in sys.modules if name.startswith(HIDDEN))
    sys.modules.pop(MARK, None)
    sys.modules[MARK] = types.ModuleType(MARK)


def find_hidden_modules() -> list[str]:
    """Return the names of the imported modules in ``HIDDEN``."""
    names = list(_names)
    for name in reversed(sys.modules):
        if name == MARK:
            break
        if name.startswith(HIDDEN):
            names.append(name)
    return names
