"""Exact models of a set, which are stored in its vault, to test whether a submitted model is equivalent."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import MilpError, WorkspaceError
from oragent.evals.workspace.views import VAULT
from oragent.milp import as_json
from oragent.milp.model import Milp
from oragent.workspace import tables
from oragent.workspace.reading import read_json, shorten_path
from oragent.workspace.tables import CsvTable

# Two optima differ if their relative difference exceeds this value, which is above the tolerance of an attempt.
MOVED = 0.01


@dataclass(frozen=True)
class NewFigure:
    """Figure that a revision adds. At its neutral value, the revised model has the optimum of the original."""

    name: str
    value: float
    neutral: float
    unit: str
    meaning: str

    @property
    def row(self) -> tuple[str, ...]:
        """Row of the table of general parameters."""
        return self.name, f"{self.value:.10g}", self.unit, self.meaning


@dataclass(frozen=True)
class ExactInstance:
    """Instance with its exact models. Agents never see it; it is stored in the vault as JSON."""

    number: int
    domain: str
    revision: str
    # Depth of the revision, ``L1`` to ``L5``.
    depth: str
    title: str
    # Programs of the planning team, before and after the revision.
    programs: tuple[str, str]
    # Exact model of the original.
    milp: Milp
    revised: Milp
    # Optimum of the original, confirmed by two solvers.
    optimum: float
    revised_optimum: float
    figures: tuple[NewFigure, ...]
    # Operations of the revision, such as ``+constraint safety``.
    operations: tuple[str, ...]
    # Tables without noise, by file name.
    tables: Mapping[str, CsvTable]


def has_moved(value: float, former: float) -> bool:
    """Return True if an optimum differs from a former one by more than the tolerance of an attempt."""
    return abs(value - former) > MOVED * max(1.0, abs(former))


def read_instances(root: Path) -> dict[int, ExactInstance]:
    """Return the exact models of a set by number; empty for a set without any, such as the public release.

    Raises:
        WorkspaceError: A record has another form.
    """
    folder = root / VAULT / "instances"
    instances = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        plain = read_json(path)
        try:
            plain |= {name: as_json.from_dict(plain[name]) for name in ("milp", "revised")}
            plain["figures"] = tuple(NewFigure(**part) for part in plain["figures"])
            plain["tables"] = {name: tables.read_strict(text, name) for name, text in plain["tables"].items()}
            plain["programs"], plain["operations"] = tuple(plain["programs"]), tuple(plain["operations"])
            fields = {name: plain[name] for name in ExactInstance.__dataclass_fields__}
            instances[int(plain["number"])] = ExactInstance(**fields)
        except (KeyError, TypeError, ValueError, AttributeError, MilpError) as problem:
            raise WorkspaceError(
                f"{shorten_path(path)} is not a record of an instance: {type(problem).__name__}"
            ) from None
    return instances
