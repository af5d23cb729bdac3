"""Writers of MPS and LP files, with nonlinear parts in the forms of CPLEX and Gurobi.

MPS: sections SOS, QUADOBJ, QCMATRIX and INDICATORS, and further objectives as N rows with weight and priority in a
comment. LP: quadratic rows, ``b = 1 -> row``, SOS, general constraints, and several objectives.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from oragent._base.errors import ModellingError
from oragent.modelling.data.features import (
    FurtherObjective,
    Indicator,
    ModelFeatures,
    QuadraticRow,
    QuadraticTerm,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, free_name
from oragent.modelling.files.mps_reader import GOAL_KEYS

KINDS = {Relation.AT_MOST: "L", Relation.AT_LEAST: "G", Relation.EQUAL: "E"}
# End of a line of an LP file, some of whose readers have limits on its length.
LONG_LINE = re.compile(r"(.{200}\S*) ")


def write_mps(model: IndexedModel) -> str:
    """Return a model with names of the form as MPS, whose objective is the row Obj."""
    objective, features = model.objective_record, model.named_features
    taken = {"Obj", *model.flat_row_names}
    # Rows of the file for the linear terms of parts. Gurobi 13 crashes on indicators after quadratic rows.
    goals = {free_name(part.name, taken): part for part in features.goals}
    indicators = {free_name(part.name, taken): part for part in features.indicators}
    quadratic = {free_name(part.name, taken): part for part in features.quadratic_rows}
    rows: dict[str, Row | Indicator[str] | QuadraticRow[str]] = {row.name: row for row in model.row_records}
    rows |= {**indicators, **quadratic}
    by_column: dict[str, list[str]] = defaultdict(list)
    costs = {"Obj": objective.terms, **{name: goal.terms for name, goal in goals.items()}}
    for row, terms in (costs | {name: part.terms for name, part in rows.items()}).items():
        for column, value in terms.items():
            if value:
                by_column[column].append(f"    {column}  {row}  {_number(value)}")
    lines = []
    for name, goal in goals.items():
        lines.append(f"* oragent goal {name} {json.dumps({key: getattr(goal, key) for key in sorted(GOAL_KEYS)})}")
    lines += ["NAME", "OBJSENSE", f"    {'MAX' if model.sense is Sense.MAXIMIZE else 'MIN'}", "ROWS"]
    lines += [f" N  {name}" for name in costs]
    lines += [f" {KINDS[part.relation]}  {name}" for name, part in rows.items()]
    lines.append("COLUMNS")
    is_integer = False
    for variable in model.variable_records:
        if variable.is_integer is not is_integer:
            is_integer = variable.is_integer
            lines.append(f"    MARKER  'MARKER'  '{'INTORG' if is_integer else 'INTEND'}'")
        lines += by_column.get(variable.name) or [f"    {variable.name}  Obj  0"]
    sides = {"Obj": -objective.constant} | {name: part.rhs for name, part in rows.items()}
    lines += ["RHS", *(f"    RHS  {name}  {_number(value)}" for name, value in sides.items() if value), "BOUNDS"]
    semi = {part.variable for part in features.semi_continuous}
    for variable in model.variable_records:
        lines += _mps_bounds(variable, variable.name in semi)
    lines += ["SOS"] if features.ordered_sets else []
    for ordered in features.ordered_sets:
        lines.append(f" S{ordered.kind} {ordered.name}")
        lines += [f"    {member}  {_number(ordered.members[member])}" for member in ordered.order]
    # Gurobi reads SOS only before quadratic terms.
    if features.quadratic:
        lines.append("QUADOBJ")
    for term in features.quadratic:
        lines.append(f"    {term.first}  {term.second}  {_number(term.value * (1 + (term.first == term.second)))}")
    for name, part in quadratic.items():
        lines.append(f"QCMATRIX   {name}")
        for term in part.quadratic:
            pairs = dict.fromkeys([(term.first, term.second), (term.second, term.first)])
            lines += [f"    {one}  {other}  {_number(term.value / len(pairs))}" for one, other in pairs]
    if indicators:
        lines.append("INDICATORS")
    lines += [f" IF {name}  {part.binary}  {int(part.active)}" for name, part in indicators.items()]
    return "\n".join([*lines, "ENDATA", ""])


def _mps_bounds(variable: Variable, is_semi: bool) -> Iterator[str]:
    name, low, high = f"BOUND  {variable.name}", variable.low, variable.high
    if math.isinf(low):
        yield f" {'FR' if math.isinf(high) else 'MI'} {name}"
    elif low or (variable.is_integer and math.isinf(high)):
        # Without a bound, an integer variable is binary.
        yield f" LO {name}  {_number(low)}"
    if is_semi:
        yield f" {'SI' if variable.is_integer else 'SC'} {name}  {_number(min(high, 1e30))}"
    elif not math.isinf(high):
        yield f" UP {name}  {_number(high)}"


def _number(value: float) -> str:
    return f"{value:.15g}" if float(f"{value:.15g}") == value else repr(value)


def write_lp(model: IndexedModel) -> str:
    """Return a model with names of the form as LP."""
    features, first = model.named_features, model.flat_variable_names[0]
    lines = _lp_objectives(model) if features.goals else _lp_objective(model)
    lines.append("st")
    for row in model.row_records:
        lines.append(f" {row.name}: {_lp_terms(row.terms) or f'0 {first}'} {row.relation} {_number(row.rhs)}")
    for part in features.quadratic_rows:
        expression = " ".join(filter(None, (_lp_terms(part.terms), "+", _lp_products(part.quadratic))))
        lines.append(f" {part.name}: {expression} {part.relation} {_number(part.rhs)}")
    for rule in features.indicators:
        condition = f"{rule.binary} = {int(rule.active)} -> {_lp_terms(rule.terms) or f'0 {rule.binary}'}"
        lines.append(f" {rule.name}: {condition} {rule.relation} {_number(rule.rhs)}")
    lines.append("bounds")
    for variable in model.variable_records:
        if (variable.low, variable.high) == (-math.inf, math.inf):
            lines.append(f" {variable.name} free")
        elif (variable.low, variable.high) != (0.0, math.inf):
            lines.append(f" {_number(variable.low)} <= {variable.name} <= {_number(variable.high)}")
    lists = {
        "bin": [variable.name for variable in model.variable_records if variable.is_binary],
        "gen": [variable.name for variable in model.variable_records if variable.is_integer and not variable.is_binary],
        "semi": [part.variable for part in features.semi_continuous],
    }
    for word, names in lists.items():
        lines += [word, f" {' '.join(names)}"] if names else []
    for at, ordered in enumerate(features.ordered_sets):
        members = " ".join(f"{name} : {_number(ordered.members[name])}" for name in ordered.order)
        lines += [*([] if at else ["SOS"]), f" {ordered.name}: S{ordered.kind} :: {members}"]
    general = list(_lp_general(features))
    lines += ["General Constraints", *general] if general else []
    return "\n".join(LONG_LINE.sub(r"\1\n  ", line) for line in [*lines, "end", ""])


def _lp_terms(terms: Mapping[str, float]) -> str:
    return " ".join(f"{'-' if value < 0 else '+'} {_number(abs(value))} {name}" for name, value in terms.items())


def _lp_products(terms: Iterable[QuadraticTerm[str]]) -> str:
    parts: dict[str, float] = defaultdict(float)
    for term in terms:
        product = f"{term.first} ^ 2" if term.first == term.second else f"{term.first} * {term.second}"
        parts[product] += term.value
    return f"[ {_lp_terms(parts)} ]"


def _lp_general(features: ModelFeatures[str]) -> Iterator[str]:
    for absolute in features.absolutes:
        yield f" {absolute.name}: {absolute.output} = ABS ( {absolute.input} )"
    for extreme in features.extremes:
        constant = [] if extreme.constant is None else [_number(extreme.constant)]
        inputs = " , ".join([*extreme.inputs, *constant])
        yield f" {extreme.name}: {extreme.output} = {'MAX' if extreme.largest else 'MIN'} ( {inputs} )"
    for product in features.products:
        yield f" {product.name}: {product.output} = AND ( {' , '.join(product.inputs)} )"
    for curve in features.piecewise:
        points = " ".join(f"({_number(x)}, {_number(y)})" for x, y in curve.points)
        yield f" {curve.name}: {curve.output} = PWL ( {curve.input} ) : {points}"


def _lp_objective(model: IndexedModel) -> list[str]:
    """Return the section of one objective."""
    objective = model.objective_record
    square = [replace(term, value=2 * term.value) for term in model.named_features.quadratic]
    # Some readers take a constant after the bracket for a variable.
    parts = [
        _lp_terms(_lp_costs(model)),
        _lp_constant(objective.constant),
        f"+ {_lp_products(square)} / 2" if square else "",
    ]
    word = "max" if model.sense is Sense.MAXIMIZE else "min"
    return [word, f" {objective.name or 'obj'}: {' '.join(filter(None, parts))}"]


def _lp_costs(model: IndexedModel) -> dict[str, float]:
    """Return the coefficients of the objective, with 0 for variables without a row.

    Readers would ignore the bounds of a variable without terms.
    """
    used = {name for row in model.row_records for name in row.terms}
    costs = {name: 0.0 for name in model.flat_variable_names if name not in used}
    return costs | dict(model.objective_record.terms)


def _lp_constant(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {_number(abs(value))}" if value else ""


def _lp_objectives(model: IndexedModel) -> list[str]:
    """Return the section of several objectives. The model's own one comes first, with priority 0 and weight 1."""
    if model.named_features.quadratic:
        raise ModellingError("an LP file can contain a quadratic objective or several objectives, but not both")
    lines = ["Maximize multi-objectives" if model.sense is Sense.MAXIMIZE else "Minimize multi-objectives"]
    objective = model.objective_record
    first = FurtherObjective(objective.name or "obj", _lp_costs(model), model.sense, objective.constant)
    for goal in (first, *model.named_features.goals):
        weight = goal.weight if goal.sense is model.sense else -goal.weight
        terms = _lp_terms(goal.terms) or f"0 {model.flat_variable_names[0]}"
        slack = f"AbsTol={_number(goal.slack_amount)} RelTol={_number(goal.slack)}"
        lines.append(f" {goal.name}: Priority={goal.priority} Weight={_number(weight)} {slack}")
        lines.append(f"  {terms} {_lp_constant(goal.constant)}".rstrip())
    return lines
