"""Where SUMO is, and which one."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ProblemError


def load(name: str) -> Any:
    """Import ``libsumo`` or ``traci``, which are large and optional.

    Raises:
        ProblemError: if it is not installed, or cannot be loaded.
    """
    try:
        return import_module(name)
    except ImportError as problem:
        raise ProblemError(f"SUMO is not installed ({problem}): {extra_install_command('driving')}") from None


def binary(name: str) -> Path:
    """Find a program of SUMO, such as ``netconvert``.

    Raises:
        ProblemError: if it is not installed.
    """
    spec = find_spec("sumo")
    path = Path(spec.origin).parent / "bin" / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise ProblemError(f"SUMO is not installed (no program {name}): {extra_install_command('driving')}")
    return path


def versions() -> str:
    """Tell the versions of the programs and of the library, such as ``1.28.0 1.28.0``.

    Raises:
        ProblemError: if one of them is not installed.
    """
    try:
        return f"{version('eclipse-sumo')} {version('libsumo')}"
    except PackageNotFoundError as problem:
        raise ProblemError(f"SUMO is not installed ({problem}): {extra_install_command('driving')}") from None
