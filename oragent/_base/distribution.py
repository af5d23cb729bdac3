"""The installed distribution of oragent, and the commands that add an extra or a package to it."""

import json
import shutil
import sys
import tomllib
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oragent._base.errors import ConfigError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

# on the package index, where "oragent" is another project
NAME = "operations-research-agents"
PACKAGE = Path(__file__).resolve().parents[1]
# extras that no command of oragent needs
DEVELOPMENT = {"all", "docs", "test"}
CPU_BUILD = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def extra_install_command(extra: str) -> str:
    """Return the command that adds an extra, such as ``neural``, to this copy, in the way in which it was installed."""
    checkout = _checkout_root()
    if checkout:
        if checkout == Path.cwd():
            where = "."
        else:
            where = str(checkout)
        return f"{_pip_command()} install -e '{where}[{extra}]'"
    tool = _environment_tool()
    if tool:
        return f"{tool} install --force '{_requirement_with_extra(extra)}'"
    return f"{_pip_command()} install '{_requirement_with_extra(extra)}'"


def package_install_command(name: str) -> str:
    """Return the command that installs another package beside this copy."""
    if _environment_tool() == "pipx":
        return f"pipx inject {NAME} {name}"
    if _environment_tool():
        return f"uv tool install --with {name} {NAME}"
    return f"{_pip_command()} install {name}"


def unsupported_versions() -> list[str]:
    """Return one line for each installed package whose version oragent does not support."""
    return [problem for requirement in _supported_requirements() if (problem := _describe_mismatch(requirement))]


def require_supported_version(name: str) -> None:
    """Check that the installed version of a package is one that oragent supports."""
    for requirement in _supported_requirements():
        if requirement.name == name and (problem := _describe_mismatch(requirement)):
            raise ConfigError(problem)


def describe_name_conflict() -> str:
    """Describe the problem if another distribution with a package ``oragent`` is installed too; empty otherwise.

    Both write into the same folder, so their files get mixed.
    """
    try:
        foreign = distribution("oragent")
    except PackageNotFoundError:
        return ""
    return (
        f"the distribution oragent {foreign.version} is installed here too, and both are imported as 'oragent': "
        f"pip uninstall oragent, then install {NAME} again"
    )


@cache
def _supported_requirements() -> "tuple[Requirement, ...]":
    """Return the dependencies, extras included: those of the checkout, else those of the installed distribution."""
    # not in the evaluators, which import this module
    from packaging.requirements import Requirement

    checkout, installed = _checkout_root(), _installed_distribution()
    if checkout:
        about = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = about.get("optional-dependencies", {})
        lines = [*about["dependencies"], *chain.from_iterable(extras[extra] for extra in extras.keys() - DEVELOPMENT)]
    else:
        needed = (installed.requires if installed else None) or []
        lines = [requirement for requirement in needed if not _is_development(requirement)]
    return tuple(sorted({Requirement(requirement.partition(";")[0]) for requirement in lines}, key=str))


def _is_development(requirement: str) -> bool:
    """Return True if a requirement in metadata belongs to an extra that no command needs."""
    return any(f"extra == {quote}{extra}{quote}" in requirement for extra in DEVELOPMENT for quote in "'\"")


def _describe_mismatch(requirement: "Requirement") -> str:
    """Describe an installed version that is not supported; empty if it is supported or not installed."""
    try:
        version = distribution(requirement.name).version
        if requirement.specifier.contains(version, prereleases=True):
            return ""
    except PackageNotFoundError:
        return ""
    supported = f"{requirement.name}{requirement.specifier}"
    command = package_install_command(repr(supported))
    return f"{requirement.name} {version} is installed, oragent supports {supported}: {command}"


@cache
def _checkout_root() -> Path | None:
    """Return the root of the checkout that this copy runs from; None for an installed copy."""
    about = PACKAGE.parent / "pyproject.toml"
    try:
        name = tomllib.loads(about.read_text(encoding="utf-8"))["project"]["name"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if name == NAME:
        return PACKAGE.parent
    return None


@cache
def _installed_distribution() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def _environment_tool() -> str:
    """Return the tool that installed this copy into a separate environment: ``pipx``, ``uv tool`` or empty."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx"
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool"
    return ""


def _pip_command() -> str:
    """Return the pip command of this interpreter: ``pip`` alone where the path's first pip belongs to it."""
    installed = _installed_distribution()
    if installed is not None and (installed.read_text("INSTALLER") or "").strip() == "uv":
        return "uv pip"
    first, interpreter = shutil.which("pip"), Path(sys.executable)
    if first and Path(first).parent == interpreter.parent:
        return "pip"
    return f"{interpreter} -m pip"


def _requirement_with_extra(extra: str) -> str:
    """Return the requirement for pip: this distribution with an extra, from the source of this copy."""
    installed = _installed_distribution()
    name = f"{NAME}[{extra}]"
    if installed:
        origin = _read_install_origin(installed)
    else:
        origin = {}
    url = str(origin.get("url", ""))
    if not url:
        if installed is None:
            return name
        return f"{name}=={installed.version}"
    if "vcs_info" in origin:
        version = origin["vcs_info"].get("commit_id", "")
        return f"{name} @ {origin['vcs_info'].get('vcs', 'git')}+{url}{'@' if version else ''}{version}"
    return f"{name} @ {url}"


def _read_install_origin(installed: Distribution) -> dict[str, Any]:
    """Read pip's record of an installation from elsewhere than an index; empty for one from an index."""
    try:
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    if isinstance(origin, dict):
        return origin
    return {}
