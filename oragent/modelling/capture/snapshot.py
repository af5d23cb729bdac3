"""Model at the time of a solve. The recorders in the sandbox write it as lists of plain values.

The file of a program is only a claim, because the program runs in the process that writes it and can forge it.
``reading`` reads it within limits.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

FORMAT = 1
# Solvers treat a bound of this size as infinite.
NO_BOUND = 1e20
# Family, labels, and their source.
MemberKey = tuple[str, list[str], str]


@dataclass
class DataTable:
    """Numbers of the program by key, such as a dict of demands."""

    name: str
    keys: list[list[str]]
    values: list[float]
    # Names of the index sets, if the modelling library has them.
    sets: list[str] = field(default_factory=list)
    # True if ``links`` connect coefficients with its cells. False if they are compared by value.
    is_linked: bool = False


@dataclass
class SnapshotLinks:
    """References of figures to cells of tables, one element per reference in each list."""

    # Kinds of figures: "cost", "rhs" (of a row with two limits: both), "row_low", "row_high", "entry", "low" or "high".
    targets: list[str] = field(default_factory=list)
    # Positions of the columns, rows or entries.
    places: list[int] = field(default_factory=list)
    tables: list[int] = field(default_factory=list)
    # Positions of the cells in their tables.
    cells: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)

    def add(self, target: str, place: int, table: int, cell: int, factor: float) -> None:
        """Add a reference."""
        self.targets.append(target)
        self.places.append(place)
        self.tables.append(table)
        self.cells.append(cell)
        self.factors.append(factor)


@dataclass
class Snapshot:
    """A model with ``n`` columns and ``m`` linear rows."""

    # Name and version of the program's library.
    framework: str
    name: str = ""
    maximize: bool = False
    constant: float = 0.0
    # ``(n,)`` names.
    columns: list[str] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    # ``(m,)`` names.
    rows: list[str] = field(default_factory=list)
    row_low: list[float] = field(default_factory=list)
    row_high: list[float] = field(default_factory=list)
    # ``(m + 1,)`` start of each row in the next two lists.
    starts: list[int] = field(default_factory=lambda: [0])
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    # ``(n,)`` and ``(m,)`` keys; None without structure.
    column_keys: list[MemberKey | None] = field(default_factory=list)
    row_keys: list[MemberKey | None] = field(default_factory=list)
    # Labels by set name, from the framework or the program.
    sets: dict[str, list[str]] = field(default_factory=dict)
    # Names of index sets by "variable" or "row" family, if the modelling library has them.
    family_sets: dict[str, dict[str, list[str]]] = field(default_factory=lambda: {"variables": {}, "rows": {}})
    tables: list[DataTable] = field(default_factory=list)
    links: SnapshotLinks = field(default_factory=SnapshotLinks)
    # Nonlinear parts, in the JSON form of ``oragent.modelling.data.features.ModelFeatures`` by column.
    features: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # Name of the objective; empty without one.
    objective: str = ""
    # Units by family of variables, and of ``objective``, that the program defines in ``UNITS``.
    units: dict[str, str] = field(default_factory=dict)
    # True if the program's model has intervals, machines or cumulative resources.
    is_schedule: bool = False
    # Intervals in the JSON form of ``oragent.modelling.data.intervals.PlanInterval``, with columns instead of names.
    intervals: list[dict[str, Any]] = field(default_factory=list)
    # Omitted parts of the model, one line each. If there are any, the snapshot is incomplete.
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Number of parts by the name that the program gives them.
        self._names: dict[str, int] = {}

    def add_column(self, name: str, low: float, high: float, integer: bool, cost: float = 0.0) -> int:
        """Add a column and return its position."""
        self.columns.append(name)
        self.low.append(float(low))
        self.high.append(float(high))
        self.integer.append(bool(integer))
        self.cost.append(float(cost))
        return len(self.columns) - 1

    def add_row(self, name: str, terms: dict[int, float], low: float, high: float) -> int:
        """Add a row with coefficients by column and return its position."""
        self.rows.append(name)
        self.row_low.append(float(low))
        self.row_high.append(float(high))
        self.indices.extend(terms)
        self.values.extend(map(float, terms.values()))
        self.starts.append(len(self.indices))
        return len(self.rows) - 1

    def add_feature(self, feature: str, /, **parts: Any) -> None:
        """Add a nonlinear part to a field of ``ModelFeatures``. Its name is made unique."""
        if "name" in parts:
            stem = str(parts["name"] or feature.rstrip("s"))
            count = self._names.get(stem, 0) + 1
            self._names[stem] = count
            if count == 1:
                parts["name"] = stem
            else:
                parts["name"] = f"{stem}_{count}"
        self.features.setdefault(feature, []).append(parts)

    def add_quadratic_row(
        self, name: str, terms: dict[int, float], quadratic: list[dict[str, Any]], low: float, high: float
    ) -> None:
        """Add a quadratic row for each of its limits, with terms as ``quadratic_term`` returns them."""
        sides = [("=", low)] if low == high else [(">=", low), ("<=", high)]
        finite = [(relation, rhs) for relation, rhs in sides if math.isfinite(rhs)]
        for relation, rhs in finite:
            side = "least" if relation == ">=" else "most"
            shown = f"{name}_{side}" if len(finite) > 1 else name
            self.add_feature(
                "quadratic_rows", name=shown, terms=terms, quadratic=quadratic, relation=relation, rhs=float(rhs)
            )

    def to_text(self) -> str:
        """Return the snapshot as JSON."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        parts["tables"] = list(map(asdict, self.tables))
        parts["links"] = vars(self.links)
        return json.dumps({"format": FORMAT, **parts}, default=_to_plain)


def quadratic_term(first: int, second: int, value: float) -> dict[str, Any]:
    """Return the product of two columns with a coefficient, for features."""
    return {"first": first, "second": second, "value": float(value)}


def without_huge(value: float) -> float:
    """Return a bound or limit, which is infinite for solvers from 1e20 on."""
    return math.copysign(math.inf, value) if abs(value) >= NO_BOUND else float(value)


def _to_plain(value: Any) -> Any:
    """Convert numbers of numpy to Python's, and other values to text."""
    convert: Callable[[], Any] | None = getattr(value, "item", None)
    if convert is not None:
        return convert()
    return str(value)
