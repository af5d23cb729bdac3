"""Metamorphic tests of programs: properties that every correct program has, whatever its answer is.

The tests change the data of a program that reads them (Chen et al. 1998, HKUST-CS98-01) and need no label. A correct
model with linear rows passes every test, but a model that passes all tests may still be wrong.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from oragent._base.errors import ProblemError
from oragent.formulate.data import is_table
from oragent.formulate.model_comparison import Ruling
from oragent.formulate.perturbations import (
    iterate_keys,
    iterate_numbers,
    map_numbers,
    permute_names,
    perturb_data,
    reverse_order,
    scale_data,
)
from oragent.formulate.problem import ProgramInterface
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve

# Factor for scaling money and amounts.
FACTOR = 3.0
# Relative tolerance for equal optima.
CLOSE = 1e-6
# Number of perturbed data sets on which program and checker must agree.
TRIES = 3
MAX_TIGHTENED = 8
# Seconds for solving a relaxation.
RELAXED_S = 20.0
PER = re.compile(r"\s*(?:/|\bper\b)\s*")
TEXT = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|#.*")
LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.])")
# Constants of a program that are not measured quantities, such as positions and halves.
HARMLESS = {0.0, 1.0, 2.0}
CEILING = re.compile(r"(?i)\b(at most|maximum|available|availability|budget|capacity)\b")
FLOOR = re.compile(r"(?i)\b(at least|minimum|min|required|requirement|needed)\b")


class Property(StrEnum):
    """Property of every correct program."""

    MONEY = "all money scaled, the optimum scales"
    AMOUNTS = "all amounts scaled, the optimum of the relaxation scales"
    ORDER = "data in another order, the same optimum"
    NAMES = "objects under other names, the same optimum"
    TIGHTEN = "a limit tightened, no better optimum"
    AGREE = "with other data, program and checker agree"


@dataclass(frozen=True)
class PropertyResult:
    """Result of one test."""

    property: Property
    # Whether the property holds; None if the test does not apply or could not run.
    holds: bool | None
    datum: str = ""
    # Result in words, or the reason why the test does not apply.
    note: str = ""


@dataclass(frozen=True)
class _Trial:
    """Program under test with its original data and result."""

    runner: FormulationRunner
    source: str
    interface: ProgramInterface
    data: Mapping[str, Any]
    about: Mapping[str, Any]
    checker: str
    base: ExecutionResult

    def run(self, data: Mapping[str, Any]) -> ExecutionResult:
        return self.runner.run_program(self.source, self.interface, data)


def run_metamorphic_tests(
    runner: FormulationRunner,
    source: str,
    interface: ProgramInterface,
    data: Mapping[str, Any],
    about: Mapping[str, Any],
    *,
    unit: str = "",
    checker: str = "",
    seed: int = 0,
) -> tuple[PropertyResult, ...]:
    """Run every test on a program.

    Args:
        runner: Runs programs.
        source: The program.
        interface: Function of the program.
        data: Arguments of the program.
        about: ``Unit`` and ``Definition`` by parameter, from an encoder.
        unit: Unit of the objective, in the spelling of the parameters; empty if unknown.
        checker: Text of a checker that must agree with the program; empty for none.
        seed: Seed of the perturbed figures.
    """
    try:
        base = runner.run_program(source, interface, data)
    except ProblemError as problem:
        return _refuse_all(str(problem))
    trial = _Trial(runner, source, interface, data, about, checker, base)
    if _optimum_range(base) is None:
        return _refuse_all("the program has no optimum to begin with")
    changed = trial.run(map_numbers(data, lambda value: 2 * value + 1))
    if (changed.status, changed.objective) == (base.status, base.objective):
        return _refuse_all("the program does not read its data")
    return (
        _test_money(trial, unit),
        _test_amounts(trial),
        _test_order(trial),
        _test_names(trial),
        *_test_tightened(trial),
        *_test_agreement(trial, np.random.default_rng(seed)),
    )


def _refuse_all(note: str) -> tuple[PropertyResult, ...]:
    return tuple(PropertyResult(property_name, None, note=note) for property_name in Property)


def _test_money(trial: _Trial, unit: str) -> PropertyResult:
    units = {name: PER.split(_parameter_unit(trial, name))[0].strip() for name in trial.data}
    names = [name for name in trial.data if unit and units[name] == unit.strip().lower()]
    if not names:
        return PropertyResult(Property.MONEY, None, note="no parameter has the objective's unit")
    if why := _why_unscalable(trial):
        return PropertyResult(Property.MONEY, None, note=why)
    ran = trial.run(scale_data(trial.data, names, FACTOR))
    return _compare(Property.MONEY, names, ran, trial.base, FACTOR)


def _test_amounts(trial: _Trial) -> PropertyResult:
    units = {name: _parameter_unit(trial, name) for name in trial.data}
    names = [name for name, unit in units.items() if unit and not PER.search(unit) and unit != "%"]
    milp = trial.base.milp
    if not names or milp is None:
        return PropertyResult(Property.AMOUNTS, None, note="not every parameter has a unit")
    if why := _why_unscalable(trial):
        return PropertyResult(Property.AMOUNTS, None, note=why)
    if any(variable.is_integer and math.isfinite(variable.high) for variable in milp.variable_records):
        return PropertyResult(
            Property.AMOUNTS, None, note="the model has bounded integers, whose bounds may not be in the data"
        )
    base, moved = _relaxed_objective(trial.base), _relaxed_objective(trial.run(scale_data(trial.data, names, FACTOR)))
    ends, expected = (None if value is None else (value, value) for value in (moved, base and FACTOR * base))
    return _compare_ranges(Property.AMOUNTS, names, ends, expected)


def _why_unscalable(trial: _Trial) -> str:
    """Return why scaled data cannot be tested; empty if they can be tested."""
    if trial.base.milp is not None and not trial.base.milp.is_purely_linear:
        return "the model is not linear"
    figures = [name for name in trial.data if any(True for _ in iterate_numbers(trial.data[name]))]
    if any(not _parameter_unit(trial, name) for name in figures):
        return "not every parameter has a unit"
    if table := next((name for name in figures if is_table(trial.data[name])), ""):
        return f"the columns of {quoted(table)} may have units of their own"
    data_values = {abs(value) for value in iterate_numbers(trial.data)}
    literals = {float(text) for text in LITERAL.findall(TEXT.sub("", trial.source))} - HARMLESS - data_values
    if literals:
        return f"the program has figures that are not in the data, such as {number(min(literals))}"
    return ""


def _differ_in_limits(base: IndexedModel, milp: IndexedModel | None) -> bool:
    """Return True if two models differ only in right-hand sides and bounds."""
    if milp is None or milp.objective_record != base.objective_record:
        return False
    rows = [[(row.name, row.relation, dict(row.terms)) for row in model.row_records] for model in (base, milp)]
    kinds = [[(variable.name, variable.kind) for variable in model.variable_records] for model in (base, milp)]
    return rows[0] == rows[1] and kinds[0] == kinds[1]


def _test_order(trial: _Trial) -> PropertyResult:
    reordered = reverse_order(trial.data)
    if reordered == trial.data and list(iterate_keys(reordered)) == list(iterate_keys(trial.data)):
        return PropertyResult(Property.ORDER, None, note="the data have no order to change")
    ran = trial.run(reordered)
    return _compare(Property.ORDER, list(trial.data), ran, trial.base)


def _test_names(trial: _Trial) -> PropertyResult:
    data, labels = permute_names(trial.data)
    if not labels:
        return PropertyResult(Property.NAMES, None, note="the data contain no names of objects")
    if any(f"{mark}{label}{mark}" in trial.source for label in labels for mark in "'\""):
        return PropertyResult(Property.NAMES, None, note="the program contains names of the data")
    ran = trial.run(data)
    if ran.verdict is not None:
        return PropertyResult(Property.NAMES, None, note=f"the program does not run with other names: {ran.message}")
    return _compare(Property.NAMES, list(labels), ran, trial.base)


def _test_tightened(trial: _Trial) -> Iterator[PropertyResult]:
    milp = trial.base.milp
    assert milp is not None
    assert trial.base.objective is not None
    for name in list(trial.data)[:MAX_TIGHTENED]:
        value, words = trial.data[name], str(_parameter_facts(trial, name).get("Definition", ""))
        ceiling, floor = CEILING.search(words) is not None, FLOOR.search(words) is not None
        if ceiling == floor or isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            continue
        ran = trial.run({**trial.data, name: value * (0.9 if ceiling else 1.1)})
        if not _differ_in_limits(milp, ran.milp):
            # The figure is more than a limit, for example also a yield or a price.
            continue
        if ran.solution is None or not ran.solution.status.has_point or ran.objective is None:
            # A relaxation without a feasible point does not count as a better optimum.
            continue
        ends = _optimum_range(trial.base)
        assert ends is not None
        best = min(ends) if milp.sense.sign > 0 else max(ends)
        gain = milp.sense.sign * (best - ran.objective)
        holds = gain <= CLOSE * max(1.0, abs(trial.base.objective))
        sentence = f"{'less' if ceiling else 'more'} of {quoted(name)}: {number(ran.objective)}"
        yield PropertyResult(Property.TIGHTEN, holds, name, f"{sentence}, before {number(trial.base.objective)}")


def _test_agreement(trial: _Trial, rng: np.random.Generator) -> Iterator[PropertyResult]:
    if not trial.checker:
        return
    shared = [name for name in trial.data if f"'{name}'" in trial.checker or f'"{name}"' in trial.checker]
    if not shared:
        yield PropertyResult(Property.AGREE, None, note="the checker reads no parameter that the program reads")
        return
    for index in range(TRIES):
        data = {**trial.data, **perturb_data({name: trial.data[name] for name in shared}, rng)}
        ran = trial.run(data)
        if ran.milp is None:
            yield PropertyResult(Property.AGREE, None, f"try {index + 1}", f"the program did not run: {ran.message}")
            continue
        report = trial.runner.run_checker(trial.checker, ran, data)
        if report.comparison is None or report.comparison.ruling is Ruling.UNDECIDED:
            yield PropertyResult(Property.AGREE, None, f"try {index + 1}", report.problem or report.note or "undecided")
            continue
        holds = report.comparison.ruling is Ruling.AGREES
        datum = ", ".join(map(quoted, report.comparison.names[:5]))
        yield PropertyResult(Property.AGREE, holds, "" if holds else datum, "" if holds else report.comparison.reason)
        if not holds:
            return


def _compare(
    which: Property, names: list[str], ran: ExecutionResult, base: ExecutionResult, factor: float = 1.0
) -> PropertyResult:
    """Compare two optima, possibly proven only as ranges; the second one is multiplied by a factor."""
    expected, ends = _optimum_range(base), _optimum_range(ran)
    if ran.status in (SolveStatus.FEASIBLE, SolveStatus.UNKNOWN) and ends is None:
        return PropertyResult(which, None, ", ".join(map(quoted, names[:6])), "not solved in time")
    scaled = None if expected is None else (factor * expected[0], factor * expected[1])
    return _compare_ranges(which, names, ends, scaled)


def _compare_ranges(
    which: Property, names: list[str], ends: tuple[float, float] | None, expected: tuple[float, float] | None
) -> PropertyResult:
    datum = ", ".join(map(quoted, names[:6]))
    if expected is None:
        return PropertyResult(which, None, datum, "there is no optimum to compare with")
    if ends is None:
        return PropertyResult(which, False, datum, f"no optimum, expected {_range_text(expected)}")
    distance = max(ends[0] - expected[1], expected[0] - ends[1])
    holds = distance <= CLOSE * max(1.0, *map(abs, expected))
    return PropertyResult(
        which, holds, datum, "" if holds else f"{_range_text(ends)}, expected {_range_text(expected)}"
    )


def _range_text(ends: tuple[float, float]) -> str:
    if ends[0] == ends[1]:
        return number(ends[0])
    return f"{number(ends[0])} to {number(ends[1])}"


def _optimum_range(ran: ExecutionResult) -> tuple[float, float] | None:
    if ran.solution:
        return ran.solution.optimum_span
    return None


def _relaxed_objective(ran: ExecutionResult) -> float | None:
    if ran.milp is None:
        return None
    solution = solve(ran.milp.without_integrality(), RELAXED_S, duals=False)
    if solution.status is SolveStatus.OPTIMAL:
        return solution.objective
    return None


def _parameter_facts(trial: _Trial, name: str) -> Mapping[str, Any]:
    facts = trial.about.get(name)
    if isinstance(facts, Mapping):
        return facts
    return {}


def _parameter_unit(trial: _Trial, name: str) -> str:
    return str(_parameter_facts(trial, name).get("Unit") or "").strip().lower()
