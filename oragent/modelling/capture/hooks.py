"""Import hooks that install a recorder when a program imports a modelling library. This code runs in the sandbox."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Install = Callable[[ModuleType], None]


class ImportHook(importlib.abc.MetaPathFinder):
    """Import finder that calls a function after the import of a module by another finder."""

    def __init__(self, installers: Mapping[str, Install]) -> None:
        self._installers = dict(installers)
        # Modules for which the other finders are searching now.
        self._searched: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's own spec with a loader that also calls the installer."""
        if fullname not in self._installers or fullname in self._searched:
            return None
        self._searched.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searched.discard(fullname)
        if spec is None or spec.loader is None:
            return spec
        # A program may look up a module without importing it, so the installer is kept until the import.
        spec.loader = _InstallingLoader(spec.loader, lambda module: self._installers.pop(fullname, _nothing)(module))
        return spec


def _nothing(module: ModuleType) -> None:
    """Do nothing."""


class _InstallingLoader(importlib.abc.Loader):
    def __init__(self, loader: Any, install: Install) -> None:
        self._loader, self._install = loader, install

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module with its own loader."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Import the module, then install."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._install(module)


def install_hooks(installers: Mapping[str, Install]) -> None:
    """Call each installer after the import of its module, or at once if the module is already imported."""
    waiting = {name: install for name, install in installers.items() if name not in sys.modules}
    for name, install in installers.items():
        if name not in waiting:
            install(sys.modules[name])
    sys.meta_path.insert(0, ImportHook(waiting))
