"""Classify revisions by kind and depth, by the rules of the public release's taxonomy."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import shorten


class Type(StrEnum):
    """Types of revision; codes and names disagree in the release, the names are those of the paper."""

    R1 = "parameter perturbation"
    R2 = "objective function transformation"
    R3 = "constraint modification"
    R4 = "penalty or fixed cost addition"
    R5 = "scenario restructuring"


class RevisionOperation(StrEnum):
    """Kinds of operation on a model."""

    ADD_VARIABLE = "+variable"
    REMOVE_VARIABLE = "-variable"
    ADD_CONSTRAINT = "+constraint"
    REMOVE_CONSTRAINT = "-constraint"
    MODIFY_CONSTRAINT = "modify_constraint"
    MODIFY_OBJECTIVE = "modify_objective"
    MODIFY_DATA = "modify_data"


class Depth(IntEnum):
    """Depth of a revision, from one operation to a new structure."""

    L1 = 1
    L2 = 2
    L3 = 3
    L4 = 4
    L5 = 5


REMARK = re.compile(r"\([^()]*\)")  # as in +1var(z)
SUMMARIES = {
    RevisionOperation.ADD_VARIABLE: re.compile(r"\+([0-9]+)var(?:_[a-z]+)?"),
    RevisionOperation.REMOVE_VARIABLE: re.compile(r"-([0-9]+)var(?:_[a-z]+)?"),
    RevisionOperation.ADD_CONSTRAINT: re.compile(r"\+([0-9]+)constr"),
    RevisionOperation.REMOVE_CONSTRAINT: re.compile(r"-([0-9]+)constr"),
    RevisionOperation.MODIFY_CONSTRAINT: re.compile(r"mod_([0-9]+)constr"),
    RevisionOperation.MODIFY_OBJECTIVE: re.compile(r"mod_([0-9]*)obj"),
    RevisionOperation.MODIFY_DATA: re.compile(r"mod_([0-9]+)data"),
}


@dataclass(frozen=True)
class Diff:
    """Number of operations of each kind in a revision.

    Attributes:
        counts: Number of operations by kind; kinds that are not used may be left out.
    """

    counts: Mapping[RevisionOperation, int]

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.counts.values()):
            raise WorkspaceError("a count of operations is negative; expected 0 or more of each kind")

    def has_operation(self, change: RevisionOperation) -> bool:
        """Return True if there is an operation of this kind."""
        return self.counts.get(change, 0) > 0

    @property
    def operation_count(self) -> int:
        """Number of operations, changes of data included."""
        return sum(self.counts.values())

    @property
    def kind_count(self) -> int:
        """Number of kinds of operation, without changes of data."""
        return sum(
            self.has_operation(change) for change in RevisionOperation if change is not RevisionOperation.MODIFY_DATA
        )

    @property
    def is_coupled(self) -> bool:
        """True if variables are added or removed, and constraints are added or changed with them."""
        variables = self.has_operation(RevisionOperation.ADD_VARIABLE) or self.has_operation(
            RevisionOperation.REMOVE_VARIABLE
        )
        return variables and (
            self.has_operation(RevisionOperation.ADD_CONSTRAINT)
            or self.has_operation(RevisionOperation.MODIFY_CONSTRAINT)
        )

    @property
    def is_cascading(self) -> bool:
        """True if one operation forces another: a removed variable, or constraints changed for a new variable."""
        replaced = self.has_operation(RevisionOperation.ADD_CONSTRAINT) and self.has_operation(
            RevisionOperation.REMOVE_CONSTRAINT
        )
        bent = self.has_operation(RevisionOperation.MODIFY_CONSTRAINT) and self.has_operation(
            RevisionOperation.ADD_VARIABLE
        )
        return self.has_operation(RevisionOperation.REMOVE_VARIABLE) or replaced or bent

    @property
    def depth(self) -> Depth:
        """The deepest level whose rule holds."""
        kinds, operations = self.kind_count, self.operation_count
        rules = {
            Depth.L5: kinds >= 4 or (self.is_coupled and self.is_cascading and operations >= 5),
            Depth.L4: kinds >= 3 or (self.is_coupled and operations >= 4),
            Depth.L3: kinds >= 2 or operations >= 3,
            Depth.L2: operations >= 2,
        }
        return next((depth for depth, holds in rules.items() if holds), Depth.L1)


def read_summary(summary: str) -> Diff:
    """Read a diff as the release sums it up: ``+4var_binary, -2constr, mod_5constr, mod_obj, mod_3data``.

    Raises:
        WorkspaceError: if a part of it is none of these.
    """
    counts = dict.fromkeys(RevisionOperation, 0)
    for part in filter(None, (piece.strip() for piece in REMARK.sub("", summary).split(","))):
        matches = [(change, match) for change, form in SUMMARIES.items() if (match := form.fullmatch(part))]
        if not matches:
            raise WorkspaceError(
                f"{shorten(part)!r} is no operation; expected such as +2var, -1constr, mod_obj, mod_1data"
            )
        change, match = matches[0]
        counts[change] += int(match[1] or 1)
    return Diff(counts)
