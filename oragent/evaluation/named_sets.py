"""Named sets of a problem's instances, and limits of the modes that no search uses."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Gt, Le
from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass as checked

from oragent._base.settings import STRICT

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
# Modes of the contract whose limits are those of the problem.
SEARCHED_MODES = ("train", "val", "practice")
# Other modes of the contract, for which only limits may be stated.
UNSEARCHED_MODES = ("test", "fresh", "final")
# Limit of CPU time, at most some years: the kernel takes no infinite ones.
Seconds = Annotated[float, Gt(0), Le(1e8)]


@checked(frozen=True, config=STRICT)
class InstanceSet:
    """Set of instances that no search uses, unless it is protected.

    Attributes:
        data: File or folder with the instances, relative to the problem's folder or to the project root; empty if the
            evaluator knows the instances by the name of the set, which is its mode.
        kind: ``held_out``: instances like those of val; ``ood``: instances of another distribution.
        timeout_s: CPU seconds of one evaluation; None: ten times those of val.
        heuristic_s: CPU seconds of all calls of the heuristic; None: ten times those of val.
        meaning: Description in one line.
    """

    data: str = ""
    kind: Literal["held_out", "ood"] = "held_out"
    timeout_s: Seconds | None = None
    heuristic_s: Seconds | None = None
    meaning: str = ""


def is_set_name(name: str) -> bool:
    """Return True if a text can be the name of a set, which is no mode of the contract."""
    return bool(NAME.fullmatch(name)) and name not in (*SEARCHED_MODES, *UNSEARCHED_MODES)


def read_set(value: Any) -> Any:
    """Read the short forms of a set in ``problem.yaml``: the path of its data, or nothing."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"data": value}
    return value


def read_names(value: Any) -> Any:
    """Read one name or a list of names."""
    if isinstance(value, str):
        return (value,)
    return value


NamedSet = Annotated[InstanceSet, BeforeValidator(read_set)]
SetNames = Annotated[tuple[str, ...], BeforeValidator(read_names)]


def check_sets(sets: Mapping[str, InstanceSet], protect: Iterable[str]) -> None:
    """Raise ValueError for an invalid name, for data of a mode of the contract, or for an unknown protected set."""
    for name, chosen in sets.items():
        if not NAME.fullmatch(name):
            raise ValueError(f"set {name[:60]!r}: a name has small letters, digits and _, and begins with a letter")
        if name in SEARCHED_MODES:
            raise ValueError(f"set {name!r}: a search uses it, so timeout_s and heuristic_s of the problem apply")
        if name in UNSEARCHED_MODES and (chosen.data or chosen.kind != "held_out"):
            raise ValueError(f"set {name!r} is a mode of the contract: only timeout_s and heuristic_s may be stated")
    named = [name for name in sets if name not in UNSEARCHED_MODES]
    if unknown := [name for name in protect if name not in named]:
        raise ValueError(f"protect names {unknown[0]!r}, which is not in sets: {', '.join(named) or 'none'}")
