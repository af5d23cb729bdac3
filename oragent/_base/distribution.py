"""The distribution that this copy came from, and the commands that add to it: the import's name is not its name."""

import json
import shutil
import sys
import tomllib
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oragent._base.errors import ConfigError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

NAME = "operations-research-agents"  # on the package index; "oragent" is somebody else's there
PACKAGE = Path(__file__).resolve().parents[1]
DEVELOPMENT = {"all", "docs", "test"}  # extras that no command of oragent needs
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


def unsupported_versions() -> list[str]:
    """Return one line for each installed package whose version oragent does not support."""
    return [line for requirement in _requirements() if (line := _misfit(requirement))]


def demand_version(name: str) -> None:
    """Check that the installed version of a package is one that oragent supports.

    Args:
        name: Name of a dependency on the package index.

    Raises:
        ConfigError: if it is another one: which are supported, and the command that installs one.
    """
    for requirement in _requirements():
        if requirement.name == name and (line := _misfit(requirement)):
            raise ConfigError(line)


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
def _requirements() -> "tuple[Requirement, ...]":
    """Dependencies and those of the extras: of a checkout as they are now, else as they were installed."""
    from packaging.requirements import Requirement  # not in the evaluators, which import this module

    checkout, installed = _checkout(), _installed()
    if checkout:
        about = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = about.get("optional-dependencies", {})
        lines = [*about["dependencies"], *(line for extra in extras.keys() - DEVELOPMENT for line in extras[extra])]
    else:
        lines = [line for line in (installed.requires if installed else None) or [] if not _is_development(line)]
    return tuple(sorted({Requirement(line.partition(";")[0]) for line in lines}, key=str))


def _is_development(line: str) -> bool:
    """Whether a requirement, as metadata have it, is one of an extra that no command needs."""
    return any(f"extra == {quote}{extra}{quote}" in line for extra in DEVELOPMENT for quote in "'\"")


def _misfit(requirement: "Requirement") -> str:
    """One line on the installed version of a package that does not fit; empty for one that fits, or is not there."""
    try:
        there = distribution(requirement.name).version
        if requirement.specifier.contains(there, prereleases=True):
            return ""
    except PackageNotFoundError:
        return ""
    wanted = f"{requirement.name}{requirement.specifier}"
    return f"{requirement.name} {there} is installed, oragent supports {wanted}: {with_package(repr(wanted))}"


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
