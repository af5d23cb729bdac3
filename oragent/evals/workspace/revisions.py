"""What kind of revision a change is, and how deep it goes: the taxonomy of the public release, as rules."""

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
    """How deep a revision goes, from one operation to a new structure."""

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
    """How many operations of each kind a revision has.

    Attributes:
        counts: Number of operations by kind; kinds that are not used may be left out.
    """

    counts: Mapping[RevisionOperation, int]

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.counts.values()):
            raise WorkspaceError("a count of operations is negative; expected 0 or more of each kind")

    def uses(self, change: RevisionOperation) -> bool:
        """Whether there is an operation of this kind."""
        return self.counts.get(change, 0) > 0

    @property
    def operations(self) -> int:
        """How many operations, changes of data included."""
        return sum(self.counts.values())

    @property
    def kinds(self) -> int:
        """How many kinds of operation, changes of data aside."""
        return sum(self.uses(change) for change in RevisionOperation if change is not RevisionOperation.MODIFY_DATA)

    @property
    def coupling(self) -> bool:
        """Whether variables come or go and constraints come or change with them."""
        variables = self.uses(RevisionOperation.ADD_VARIABLE) or self.uses(RevisionOperation.REMOVE_VARIABLE)
        return variables and (
            self.uses(RevisionOperation.ADD_CONSTRAINT) or self.uses(RevisionOperation.MODIFY_CONSTRAINT)
        )

    @property
    def cascading(self) -> bool:
        """Whether one operation forces another: a variable gone, constraints replaced or bent around a new variable."""
        replaced = self.uses(RevisionOperation.ADD_CONSTRAINT) and self.uses(RevisionOperation.REMOVE_CONSTRAINT)
        bent = self.uses(RevisionOperation.MODIFY_CONSTRAINT) and self.uses(RevisionOperation.ADD_VARIABLE)
        return self.uses(RevisionOperation.REMOVE_VARIABLE) or replaced or bent

    @property
    def depth(self) -> Depth:
        """The deepest level whose rule holds."""
        kinds, operations = self.kinds, self.operations
        rules = {
            Depth.L5: kinds >= 4 or (self.coupling and self.cascading and operations >= 5),
            Depth.L4: kinds >= 3 or (self.coupling and operations >= 4),
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
        found = [(change, match) for change, form in SUMMARIES.items() if (match := form.fullmatch(part))]
        if not found:
            raise WorkspaceError(
                f"{shorten(part)!r} is no operation; expected such as +2var, -1constr, mod_obj, mod_1data"
            )
        change, match = found[0]
        counts[change] += int(match[1] or 1)
    return Diff(counts)
