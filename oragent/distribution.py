"""The distribution that this copy came from, and the commands that add to it: the import's name is not its name."""

import json
import shutil
import sys
import tomllib
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

__all__ = ["CPU_BUILD", "NAME", "intruder", "with_extra", "with_package"]

NAME = "operations-research-agents"  # on the package index; "oragent" is somebody else's there
PACKAGE = Path(__file__).resolve().parent
CPU_BUILD = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def with_extra(extra: str) -> str:
    """The command that adds an extra to this copy, in the way in which it was installed.

    Args:
        extra: Name of the extra, such as ``neural``.
    """
    checkout = _checkout()
    if checkout:
        where = "." if checkout == Path.cwd() else str(checkout)
        return f"{_pip()} install -e '{where}[{extra}]'"
    tool = _tool()
    if tool:
        return f"{tool} install --force '{_requirement(extra)}'"
    return f"{_pip()} install '{_requirement(extra)}'"


def with_package(name: str) -> str:
    """The command that puts a package of somebody else beside this copy.

    Args:
        name: Name of the package, with a version where that matters.
    """
    if _tool() == "pipx":
        return f"pipx inject {NAME} {name}"
    if _tool():
        return f"uv tool install --with {name} {NAME}"
    return f"{_pip()} install {name}"


def intruder() -> str:
    """What is wrong where a distribution of another name brings a package ``oragent``; empty where none does.

    Two of them write into one folder, and what is imported is then a mixture.
    """
    try:
        other = distribution("oragent")
    except PackageNotFoundError:
        return ""
    return (
        f"the distribution oragent {other.version} is installed here too, and both are imported as 'oragent': "
        f"pip uninstall oragent, then install {NAME} again"
    )


@cache
def _checkout() -> Path | None:
    """The root of the checkout that this copy runs from; None for an installed copy."""
    about = PACKAGE.parent / "pyproject.toml"
    try:
        name = tomllib.loads(about.read_text(encoding="utf-8"))["project"]["name"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return PACKAGE.parent if name == NAME else None


@cache
def _installed() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def _tool() -> str:
    """The program that keeps this copy in an environment of its own; empty where none does."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx"
    return "uv tool" if (prefix / "uv-receipt.toml").is_file() else ""


def _pip() -> str:
    """Pip as it is called for this interpreter: by its name alone where the first ``python`` on the path is this."""
    found = _installed()
    if found is not None and (found.read_text("INSTALLER") or "").strip() == "uv":
        return "uv pip"
    first, own = shutil.which("pip"), Path(sys.executable)
    return "pip" if first and Path(first).parent == own.parent else f"{own} -m pip"


def _requirement(extra: str) -> str:
    """This distribution with an extra, as pip takes it: from where this copy came."""
    found = _installed()
    name = f"{NAME}[{extra}]"
    origin = _origin(found) if found else {}
    url = str(origin.get("url", ""))
    if not url:
        return name if found is None else f"{name}=={found.version}"
    if "vcs_info" in origin:
        version = origin["vcs_info"].get("commit_id", "")
        return f"{name} @ {origin['vcs_info'].get('vcs', 'git')}+{url}{'@' if version else ''}{version}"
    return f"{name} @ {url}"


def _origin(found: Distribution) -> dict[str, Any]:
    """What pip noted of an installation that did not come from an index; empty for one that did."""
    try:
        told = json.loads(found.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
