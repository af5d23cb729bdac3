"""Python packages that a problem requires, with bounds of their versions, and the installed versions."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from oragent._base import distribution
from oragent._base.text_format import escape_text

if TYPE_CHECKING:
    from packaging.requirements import Requirement

# Beginning of a requirement that is a program.
PROGRAM = "program:"
# Name of a module without bounds; a requirement of packaging cannot begin with an underscore.
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*", re.ASCII)
EXTRAS = {
    "torch": "neural",
    "safetensors": "neural",
    "libsumo": "driving",
    "sumo": "driving",
    "sumolib": "driving",
    "traci": "driving",
}


def check_requirements(texts: Iterable[str]) -> None:
    """Raise ValueError for a requirement that is neither a program nor a package."""
    for text in texts:
        if not text.startswith(PROGRAM):
            _parse_package(text)


def describe_missing_package(text: str) -> str:
    """Return why a required package is missing, with the command that installs it; empty if it is not."""
    name, requirement = _parse_package(text)
    if requirement is not None and requirement.marker is not None and not requirement.marker.evaluate():
        return ""
    installed = installed_version(name)
    if not (installed or _has_module(name)):
        if name in EXTRAS:
            command = distribution.extra_install_command(EXTRAS[name])
        else:
            command = distribution.package_install_command(text.strip())
        return f"needs the Python module {name!r}, which is not installed: {command}"
    if requirement is None or requirement.specifier.contains(installed or "0", prereleases=True):
        return ""
    needed = f"{name}{requirement.specifier}"
    return f"needs {needed}, and {name} {installed or 'of unknown version'} is installed: " + (
        distribution.package_install_command(needed)
    )


def package_versions(texts: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of required packages by name, as far as they are known."""
    names = [_parse_package(text)[0] for text in texts if not text.startswith(PROGRAM)]
    return {name: installed for name in names if (installed := installed_version(name))}


def describe_mixture(recorded: Mapping[str, str], present: Mapping[str, str]) -> str:
    """Return the packages whose versions differ from recorded ones, in one line; empty for none."""
    differing = [
        f"{name} {then}, and not {present.get(name, 'none')}"
        for name, then in sorted(recorded.items())
        if present.get(name) != then
    ]
    return escape_text("; ".join(differing))[:500]


@cache
def installed_version(name: str) -> str:
    """Return the version of a distribution, or of the distribution of a module; empty if it is unknown."""
    try:
        return version(name)
    except PackageNotFoundError:
        owners = packages_distributions().get(name.partition(".")[0], ())
        return version(owners[0]) if owners else ""


def _parse_package(text: str) -> "tuple[str, Requirement | None]":
    """Return the name of a package, and its requirement; None for a name without bounds."""
    if _MODULE.fullmatch(text.strip()):
        return text.strip(), None
    # Imported here because most problems have no bounds.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
    except InvalidRequirement as problem:
        reason = " ".join(str(problem).split("\n")[0].split())
        raise ValueError(f"{text!r} is not a requirement such as pyvrp>=0.14 ({reason})") from None
    if requirement.url:
        raise ValueError(f"{text!r} names an address: name a package, such as {requirement.name}>=1")
    return requirement.name, requirement


def _has_module(name: str) -> bool:
    try:
        return find_spec(name.partition(".")[0]) is not None
    except (ValueError, ImportError):
        return False
