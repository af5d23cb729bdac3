"""Names that other forms cannot hold, and the way back from those that stand in for them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from oragent.milp.model import Milp

SAFE = re.compile(r"(?![eE][0-9]|[eE]$)[A-Za-z_][A-Za-z0-9_]{0,99}\Z")  # "e1" would read as part of a number
RESERVED = re.compile(
    "(min|max|minimi[sz]e|maximi[sz]e|minimum|maximum|st|subject|to|such|that|bounds?|free|inf|infinity|gen|generals?|"
    "int|integers?|bin|binary|binaries|semis?|sos[12]?|s[12]|sec|end|rhs|obj|objective|name|rows|columns|ranges|endata|"
    "objsense|marker|idle_row)",
    re.IGNORECASE,
)

PROGRAM_NAMES = {"objective", "problem", "p"}  # names that generated programs use themselves


@dataclass(frozen=True)
class SafeNaming:
    """Stand-ins by own name, for those that need one."""

    variables: Mapping[str, str]
    rows: Mapping[str, str]

    @classmethod
    def for_milp(cls, milp: Milp) -> Self:
        """The stand-ins that a model needs: for names with spaces, signs, or a meaning in a file."""
        return cls(
            _stand_ins([variable.name for variable in milp.variables], "x"),
            _stand_ins([row.name for row in milp.rows], "r"),
        )

    def apply(self, milp: Milp) -> Milp:
        """The model under its stand-ins."""
        return rename_milp(milp, self.variables, self.rows)

    def undo(self, milp: Milp) -> Milp:
        """A model under its own names again; a stand-in that it does not have is passed over."""
        back = [{theirs: name for name, theirs in names.items()} for names in (self.variables, self.rows)]
        return rename_milp(milp, *back)


def rename_milp(milp: Milp, variables: Mapping[str, str], rows: Mapping[str, str]) -> Milp:
    """The same model with other names; ``MilpError`` where two become the same."""

    def rename_terms(old: Mapping[str, float]) -> dict[str, float]:
        return {variables.get(name, name): value for name, value in old.items()}

    return replace(
        milp,
        variables=tuple(
            replace(variable, name=variables.get(variable.name, variable.name)) for variable in milp.variables
        ),
        rows=tuple(replace(row, name=rows.get(row.name, row.name), terms=rename_terms(row.terms)) for row in milp.rows),
        objective=replace(milp.objective, terms=rename_terms(milp.objective.terms)),
    )


def free_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _stand_ins(names: Iterable[str], letter: str) -> dict[str, str]:
    taken = {name.lower() for name in names}
    stand_ins = {}
    number = 0
    for name in names:
        if not SAFE.match(name) or RESERVED.fullmatch(name):
            number += 1
            while f"{letter}{number}" in taken:
                number += 1
            stand_ins[name] = f"{letter}{number}"
    return stand_ins


def safe_names(milp: Milp) -> tuple[Milp, dict[str, str]]:
    """The model with names that Python and PuLP keep as they are; and each variable's own name by its new one.

    Raises:
        MilpError: if two names become the same.
    """
    variables = _unique_identifiers([variable.name for variable in milp.variables])
    rows = _unique_identifiers([row.name for row in milp.rows])
    return rename_milp(milp, variables, rows), {new: old for old, new in variables.items()}


def _unique_identifiers(names: Sequence[str]) -> dict[str, str]:
    identifiers: dict[str, str] = {}
    for name in names:
        stem = to_identifier(name)
        new, number = stem, 1
        while new in identifiers.values():
            number += 1
            new = f"{stem}_{number}"
        identifiers[name] = new
    return identifiers


def to_identifier(name: str) -> str:
    """A name as an identifier: letters, digits and underscores alone."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
    return f"n_{plain}" if plain[0].isdigit() or plain in PROGRAM_NAMES else plain
