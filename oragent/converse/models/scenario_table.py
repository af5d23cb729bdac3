"""Table of scenarios: objective, gap, totals of families and changes; as text, CSV, a workbook or one page."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ModellingError
from oragent._base.files import replace_file
from oragent.converse.models.workbench import Workbench
from oragent.modelling.data.display import plain
from oragent.modelling.operations.outcomes import Outcome
from oragent.modelling.operations.results import Figure
from oragent.modelling.operations.state import BASE, Changes, ModelScenario, ModelStudy, lines_of
from oragent.modelling.references.figures import format_figure
from oragent.report.pages.html import make_environment

# Maximum number of families with totals, the largest totals first.
MAX_TOTALS = 6
ENDINGS = (".csv", ".xlsx", ".html")
# Spreadsheets read cells with these first characters as formulas.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
PRESENT = "now"


@dataclass(frozen=True)
class ScenarioRow:
    """Row of the table: one scenario."""

    name: str
    status: str
    objective: Figure
    # Relative gap; None without a proven bound.
    gap: float | None
    # Totals by family of variables.
    totals: dict[str, Figure]
    changes: tuple[str, ...]


def scenario_rows(workbench: Workbench) -> list[ScenarioRow]:
    """Solve the base model, each named scenario and, if it is unnamed, the current state."""
    study = workbench.session.study
    named: dict[str, Changes] = {BASE: (), **study.scenarios}
    if study.label(study.changes) not in named:
        named[PRESENT] = study.changes
    return [scenario_row(study, name, study.scenario(changes)) for name, changes in named.items()]


def scenario_row(study: ModelStudy, name: str, scenario: ModelScenario) -> ScenarioRow:
    """Solve one scenario."""
    outcome = study.solve(scenario)
    totals = {}
    if outcome.point is not None:
        for family in scenario.model.variables:
            totals[family.name] = Figure.exact(float(outcome.point[family.positions].sum()), family.unit)
    return ScenarioRow(
        name, str(outcome.status), study.optimum(scenario), _gap(outcome), totals, tuple(lines_of(scenario.changes))
    )


def _gap(outcome: Outcome) -> float | None:
    """Return the relative distance of the best point to the proven bound."""
    if outcome.objective is None or outcome.bound is None:
        return None
    return abs(outcome.objective - outcome.bound) / max(1e-9, abs(outcome.objective))


def table_cells(rows: Sequence[ScenarioRow]) -> list[list[str]]:
    """Return the table as texts, with its header first; totals of the families that differ most come first."""
    names = {name for row in rows for name in row.totals}

    def spread(name: str) -> float:
        values = [row.totals[name].value or 0.0 for row in rows if name in row.totals]
        return max(values) - min(values)

    shown = sorted(names, key=lambda name: (-spread(name), name))[:MAX_TOTALS]
    header = ["scenario", "status", "objective", "gap", *(f"total {plain(name, 40)}" for name in shown), "changes"]
    cells = [header]
    for row in rows:
        objective = format_figure(row.objective) if row.objective.value is not None else ""
        gap = f"{row.gap:.2%}" if row.gap and objective else ""
        totals = [format_figure(row.totals[name]) if name in row.totals else "" for name in shown]
        cells.append([row.name, row.status, objective, gap, *totals, "; ".join(row.changes)])
    return cells


def write_scenarios(workbench: Workbench, name: str, folder: Path) -> Path:
    """Write the table into a folder as CSV, workbook or one-page summary, depending on the ending of the name.

    Raises:
        ModellingError: The name is not a plain file name with one of the endings, or the file cannot be written.
    """
    path = folder / name
    if path.name != name or path.suffix not in ENDINGS or name.startswith("."):
        raise ModellingError(
            f"cannot export to {plain(name, 60)!r}: expected a file name that ends with {', '.join(ENDINGS)}"
        )
    cells = table_cells(scenario_rows(workbench))
    if path.suffix == ".csv":
        text = io.StringIO()
        csv.writer(text).writerows([[_safe_cell(cell) for cell in row] for row in cells])
        content: str | bytes = text.getvalue()
    elif path.suffix == ".xlsx":
        content = _workbook(cells)
    else:
        page = make_environment(Path(__file__).parent).get_template("summary.html")
        content = page.render(name=workbench.model.name or "model", header=cells[0], rows=cells[1:])
    try:
        replace_file(path, content)
    except OSError as problem:
        raise ModellingError(f"cannot write {path}: {problem.strerror}") from None
    return path


def _safe_cell(text: str) -> str:
    """Escape a text that a spreadsheet would read as a formula."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def _workbook(cells: Sequence[Sequence[str]]) -> bytes:
    try:
        from openpyxl import Workbook
    except ImportError:
        raise ModellingError("a workbook needs openpyxl: install it, or export to .csv") from None
    book, content = Workbook(), io.BytesIO()
    sheet = book.active
    sheet.title = "scenarios"
    for row in cells:
        sheet.append([_safe_cell(cell) for cell in row])
    book.save(content)
    return content.getvalue()
