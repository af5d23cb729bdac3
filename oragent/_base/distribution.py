"""The installed distribution of oragent, and the commands that add an extra or a package to it."""

import json
import shlex
import shutil
import sys
import tomllib
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oragent._base.errors import ConfigError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

# Name on the package index, on which "oragent" is another project.
NAME = "operations-research-agents"
PACKAGE = Path(__file__).resolve().parents[1]
# Extras that no command of oragent needs.
DEVELOPMENT = {"all", "docs", "test"}
CPU_BUILD = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
# Group of entry points of the benchmarks, and the package to which its entry belongs.
BENCHMARKS, BENCHMARKS_PACKAGE = "oragent.benchmarks", "oragent_benchmarks"


def extra_install_command(extra: str) -> str:
    """Return the command that adds an extra, such as ``neural``, to this copy, by its method of installation."""
    checkout = _checkout_root()
    if checkout:
        target = "." if checkout == Path.cwd() else str(checkout)
        return f"{_pip_command()} install -e '{target}[{extra}]'"
    tool = _environment_tool()
    if tool:
        return f"{tool} install --force '{_requirement_with_extra(extra)}'"
    return f"{_pip_command()} install '{_requirement_with_extra(extra)}'"


def package_install_command(name: str) -> str:
    """Return the command that installs another package, or a requirement, into the environment of this copy."""
    name = shlex.quote(name)
    if _environment_tool() == "pipx":
        return f"pipx inject {NAME} {name}"
    if _environment_tool():
        return f"uv tool install --with {name} {NAME}"
    return f"{_pip_command()} install {name}"


def unsupported_versions() -> list[str]:
    """Return one line for each installed package whose version oragent does not support."""
    return [problem for requirement in _supported_requirements() if (problem := _describe_mismatch(requirement))]


def require_package(name: str, extra: str, purpose: str) -> None:
    """Check that a package of an extra is installed.

    Args:
        name: Package, as it is imported.
        extra: Extra of oragent that contains it.
        purpose: Subject of the error message, such as ``a figure``.

    Raises:
        ConfigError: The package is not installed; the message has the command that installs it.
    """
    if find_spec(name) is None:
        raise ConfigError(f"{purpose} needs {name}, which is not installed: {extra_install_command(extra)}")


@cache
def import_benchmarks(module: str, purpose: str = "the command") -> Any:
    """Import a module of the benchmarks, which are a distribution of their own.

    Args:
        module: Such as ``cli.app``.
        purpose: Subject of the error message, such as ``method 'cot'``.

    Raises:
        ConfigError: The benchmarks are not installed.
    """
    # A checkout on the path needs no installation, and an editable installation may outlive its checkout.
    packages = [entry.value for entry in entry_points(group=BENCHMARKS)] or [BENCHMARKS_PACKAGE]
    if find_spec(packages[0]) is None:
        raise ConfigError(f"{purpose} is in the benchmarks, a distribution of its own: pip install ./benchmarks")
    return import_module(f"{packages[0]}.{module}")


def require_pulp(extra: str) -> None:
    """Check that PuLP is installed, in a version that oragent supports.

    Args:
        extra: Extra of oragent that the product needs.

    Raises:
        ConfigError: PuLP is not installed, or its version is not supported.
    """
    require_package("pulp", extra, f"'oragent {extra}' runs programs that use PuLP; it")
    require_supported_version("pulp")


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
    # Imported here because few commands need it.
    from packaging.requirements import Requirement

    checkout, installed = _checkout_root(), _installed_distribution()
    if checkout:
        about = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = about.get("optional-dependencies", {})
        lines = [*about["dependencies"], *chain.from_iterable(extras[extra] for extra in extras.keys() - DEVELOPMENT)]
    else:
        needed = (installed.requires if installed else None) or []
        lines = [requirement for requirement in needed if not _is_development(requirement)]
    requirements = {Requirement(line.partition(";")[0]) for line in lines}
    # An extra may contain another extra of this distribution.
    return tuple(sorted((each for each in requirements if each.name != NAME), key=str))


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
    command = package_install_command(supported)
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
    """Return the pip command of this interpreter: ``pip`` alone if it is the first one on the path."""
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
    origin = _read_install_origin(installed) if installed else {}
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
    """Read pip's record of an installation from a URL or folder; empty for one from an index."""
    try:
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    if isinstance(origin, dict):
        return origin
    return {}
