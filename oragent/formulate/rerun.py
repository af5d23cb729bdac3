"""Apply the stored program and checker of a formulation to new data, without a language model."""

import asyncio
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import replace_file
from oragent.formulate.checks import Checked, CheckStatus, judge
from oragent.formulate.data import is_table, read_data, show_path
from oragent.formulate.folder import (
    CASE,
    FormulationEnd,
    FormulationRequest,
    create_folder,
    read_request,
    run_in_folder,
)
from oragent.formulate.formulation import FormulationResult, collect_result
from oragent.formulate.options import Options
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import CommentPool
from oragent.formulate.running import FormulationRunner
from oragent.formulate.session import FormulationAttempt, FormulationSession
from oragent.formulate.table_fitting import FormerTable, fit_table, fit_value
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import finished_results
from oragent.llm.model_settings import RuntimeSettings
from oragent.modelling.files.model_json import model_dict

# Relative difference up to which two values are equal.
SAME = 1e-6
UNREAD = "the program builds the same model for the new data: it does not read what changed"


@dataclass(frozen=True)
class Rerun:
    """Result on new data, and the earlier result for comparison.

    Attributes:
        changes: Old and new value of each changed variable; None if one model does not have the variable.
    """

    folder: Path
    request: FormulationRequest
    outcome: FormulationEnd
    old: FormulationResult
    changes: Mapping[str, tuple[float | None, float | None]]


def rerun_formulation(folder: Path, paths: Sequence[Path], outputs: Path, **changes: object) -> Rerun:
    """Run the program and the checker of a formulation on new data.

    Args:
        folder: Folder of a finished formulation.
        paths: Data files; each replaces the data of the same name.
        outputs: Folder for the new folder.
        changes: Fields of ``Options`` that replace those of the formulation; None changes nothing.

    Raises:
        ConfigError: No data file is given, or the formulation has no data of that name.
        ProblemError: New data do not fit the reading of the earlier data.
        StoreError: The formulation has not finished or has no program.
    """
    request, old = read_request(folder), _read_old(folder)
    if not paths:
        raise ConfigError("rerun needs new data: add --data FILE")
    problem = _fit_data(request.problem, old.data, paths)
    changed: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    options = replace(request.options, metamorphic=False, review=False, **changed)
    new_request = FormulationRequest(problem, options, RuntimeSettings(), request.tolerance, "rerun")
    opened: list[Path] = []

    def open_folder() -> Path:
        opened.append(create_folder(outputs, new_request))
        return opened[0]

    async def work(case: LedgerCase, runner: FormulationRunner) -> FormulationResult:
        return await asyncio.to_thread(_run_stored, case, problem, options, runner, old)

    outcome = run_in_folder(open_folder, new_request, work, is_asking=False)
    assert outcome.result is not None
    moved = _compare_values(old, outcome.result)
    replace_file(opened[0] / "changes.csv", _changes_text(moved))
    return Rerun(opened[0], new_request, outcome, old, moved)


def _fit_data(problem: ProblemText, data: Mapping[str, Any], paths: Sequence[Path]) -> ProblemText:
    """Return the problem with the data of files, read as the earlier data were.

    Args:
        problem: Problem of the formulation.
        data: Data that its program got.
        paths: The new files.
    """
    values, notes = dict(problem.data), list[str]()
    for path in paths:
        file, where = read_data(path), show_path(path)
        notes += file.notes
        for name, value in file.values.items():
            if name not in data:
                names = ", ".join(data) or "none: the figures are in the text"
                raise ConfigError(f"{where}: the formulation has no data {name!r}; it has {names}")
            if is_table(data[name]) and (is_table(value) or name in file.tables):
                reading = FormerTable(data[name], problem.units.get(name, {}))
                values[name], left_out = fit_table(where, name, reading, value, file.tables.get(name))
                notes += left_out
            else:
                values[name] = fit_value(where, name, data[name], value)
    return replace(problem, data=values, notes=tuple(notes))


def _read_old(folder: Path) -> FormulationResult:
    results = finished_results(folder)
    if CASE not in results:
        raise StoreError(f"the formulation at {folder} is not finished: continue it with 'oragent resume {folder}'")
    old = FormulationResult.from_plain(results[CASE])
    if not old.program:
        raise StoreError(f"the formulation at {folder} has no program: formulate the problem again with the new data")
    return old


def _run_stored(
    case: LedgerCase, problem: ProblemText, options: Options, runner: FormulationRunner, old: FormulationResult
) -> FormulationResult:
    """Run and check the stored program; pool entries keep units and sentences."""
    session = FormulationSession(case, problem, options, runner, CommentPool(old.pool))
    session.checker = old.checker
    # Values that an encoder read from the text are kept from the first run.
    ran = runner.run_program(old.program, problem.interface, {**old.data, **problem.data})
    attempt = FormulationAttempt(0, "rerun", old.program, ran, gap=options.gap)
    if ran.milp is None or not old.checker:
        checked = Checked(CheckStatus.UNCHECKED, note="no solution to check" if old.checker else "no checker is stored")
    else:
        report = runner.run_checker(old.checker, ran, problem.data)
        checked = judge(ran, report, options.for_form(problem.interface.form))
    session.attempts.append(replace(attempt, checked=checked))
    result = replace(collect_result(session, session.newest), readings=())
    if _is_same_model(result, old) and dict(problem.data) != dict(old.data):
        unread = replace(checked, state=CheckStatus.UNCHECKED, note=UNREAD)
        result = replace(result, checks=asdict(unread))
    return result


def _is_same_model(first: FormulationResult, second: FormulationResult) -> bool:
    if first.milp is None or second.milp is None:
        return False
    return model_dict(first.milp) == model_dict(second.milp)


def _compare_values(old: FormulationResult, new: FormulationResult) -> dict[str, tuple[float | None, float | None]]:
    before, after = ((result.solution or {}).get("values") or {} for result in (old, new))
    changes = {}
    for name in dict.fromkeys((*before, *after)):
        pair = (before.get(name), after.get(name))
        first, second = pair
        if first is None or second is None or abs(first - second) > SAME * max(1.0, abs(first)):
            changes[name] = pair
    return changes


def _changes_text(changes: Mapping[str, tuple[float | None, float | None]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["variable", "old", "new"])
    writer.writerows((name, *pair) for name, pair in changes.items())
    return out.getvalue()
