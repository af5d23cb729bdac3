"""Table of scenarios: objective, gap, totals of families and changes; as text, CSV, a workbook or one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ModellingError
from oragent._base.files import replace_file
from oragent._base.spreadsheets import write_csv, write_workbook
from oragent.converse.models.workbench import Workbench
from oragent.modelling.data.display import plain
from oragent.modelling.data.model_values import round_digits
from oragent.modelling.operations.outcomes import Outcome
from oragent.modelling.operations.results import Figure
from oragent.modelling.operations.state import BASE, Changes, ModelScenario, ModelStudy, lines_of
from oragent.modelling.references.figures import format_figure
from oragent.report.pages.html import make_environment

# Maximum number of families with totals, the largest totals first.
MAX_TOTALS = 6
# Significant digits of figures in files: more are noise of the solver.
FIGURE_DIGITS = 12
ENDINGS = (".csv", ".xlsx", ".html")
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


def _shown_families(rows: Sequence[ScenarioRow]) -> list[str]:
    """Return the families with totals, those first whose totals differ most."""
    names = {name for row in rows for name in row.totals}

    def spread(name: str) -> float:
        values = [row.totals[name].value or 0.0 for row in rows if name in row.totals]
        return max(values) - min(values)

    return sorted(names, key=lambda name: (-spread(name), name))[:MAX_TOTALS]


def table_cells(rows: Sequence[ScenarioRow]) -> list[list[str]]:
    """Return the table as texts, with its header first."""
    shown = _shown_families(rows)
    header = ["scenario", "status", "objective", "gap", *(f"total {plain(name, 40)}" for name in shown), "changes"]
    cells = [header]
    for row in rows:
        objective = format_figure(row.objective) if row.objective.value is not None else ""
        gap = f"{row.gap:.2%}" if row.gap and objective else ""
        totals = [format_figure(row.totals[name]) if name in row.totals else "" for name in shown]
        cells.append([row.name, row.status, objective, gap, *totals, "; ".join(row.changes)])
    return cells


def table_values(rows: Sequence[ScenarioRow]) -> list[list[str | float | None]]:
    """Return the table with numbers for spreadsheets, and its header first, which has the units.

    The ends of an objective's interval have columns of their own if any objective has an open gap.
    """
    shown = _shown_families(rows)
    is_open = any(not row.objective.is_exact for row in rows if row.objective.value is not None)
    ends = ["low", "high"] if is_open else []
    units = {name: row.totals[name].unit for row in rows for name in row.totals}
    titles = [_title("objective", rows[0].objective.unit), *ends, "gap"]
    titles += [_title(f"total {plain(name, 40)}", units[name]) for name in shown]
    values: list[list[str | float | None]] = [["scenario", "status", *titles, "changes"]]
    for row in rows:
        figures = [row.objective.value, *(getattr(row.objective, end) for end in ends), row.gap]
        figures += [row.totals[name].value if name in row.totals else None for name in shown]
        numbers = [None if figure is None else round_digits(figure, FIGURE_DIGITS) for figure in figures]
        values.append([row.name, row.status, *numbers, "; ".join(row.changes)])
    return values


def _title(text: str, unit: str) -> str:
    return f"{text} ({plain(unit, 40)})" if unit else text


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
    rows = scenario_rows(workbench)
    if path.suffix == ".csv":
        content: str | bytes = write_csv(table_values(rows))
    elif path.suffix == ".xlsx":
        try:
            content = write_workbook({"scenarios": table_values(rows)})
        except ImportError:
            raise ModellingError("a workbook needs openpyxl: install it, or export to .csv") from None
    else:
        cells = table_cells(rows)
        page = make_environment(Path(__file__).parent).get_template("summary.html")
        content = page.render(name=workbench.model.name or "model", header=cells[0], rows=cells[1:])
    try:
        replace_file(path, content)
    except OSError as problem:
        raise ModellingError(f"cannot write {path}: {problem.strerror}") from None
    return path
