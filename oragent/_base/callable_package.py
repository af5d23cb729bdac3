"""Packages that can be called, so that ``oragent.formulate(...)`` works although ``oragent.formulate`` is a package."""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, module: str, function: str) -> None:
    """Let a package be called as one of its functions, which is imported at the first call.

    Args:
        package: Full name of the package, ``__name__`` in its ``__init__.py``.
        module: Name of the module in the package.
        function: Name of the function in the module.
    """

    def load() -> Any:
        return getattr(import_module(f"{package}.{module}"), function)

    class CallablePackage(ModuleType):
        # Full name of the function, for the API reference.
        function_name = f"{package}.{module}.{function}"

        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return load()(*arguments, **named)

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(load())

    sys.modules[package].__class__ = CallablePackage
