"""Nonlinear parts of gurobipy's models: quadratic terms, sets, general constraints, objectives."""

import math
from typing import Any

from oragent.modelling.capture.snapshot import Snapshot, quadratic_term

RELATIONS = {"<": "<=", ">": ">=", "=": "="}
# Default of ObjNAbsTol.
GUROBI_TOLERANCE = 1e-6


def add_features(gurobipy: Any, model: Any, snapshot: Snapshot) -> None:
    """Add the parts to a snapshot that has the model's columns. Parts that cannot be captured are named as missing."""
    if model.NumObj > 1:
        _add_objectives(model, snapshot)
    elif model.NumQNZs:
        for term in _quadratic_terms(model.getObjective()):
            snapshot.add_feature("quadratic", **term)
    for row in model.getQConstrs() if model.NumQConstrs else ():
        expression = model.getQCRow(row)
        low = -math.inf if row.QCSense == "<" else row.QCRHS
        high = math.inf if row.QCSense == ">" else row.QCRHS
        linear = expression.getLinExpr()
        low, high = low - linear.getConstant(), high - linear.getConstant()
        snapshot.add_quadratic_row(row.QCName, _linear_terms(linear), _quadratic_terms(expression), low, high)
    for number, ordered in enumerate(model.getSOSs() if model.NumSOS else ()):
        kind, members, weights = model.getSOS(ordered)
        by_column = {member.index: weight for member, weight in zip(members, weights, strict=True)}
        snapshot.add_feature("ordered_sets", name=f"sos{number}", kind=int(kind), members=by_column)
    for constraint in model.getGenConstrs() if model.NumGenConstrs else ():
        _add_general(gurobipy.GRB, model, snapshot, constraint)


def _linear_terms(expression: Any) -> dict[int, float]:
    terms: dict[int, float] = {}
    for at in range(expression.size()):
        column = int(expression.getVar(at).index)
        terms[column] = terms.get(column, 0.0) + expression.getCoeff(at)
    return terms


def _quadratic_terms(expression: Any) -> list[dict[str, Any]]:
    return [
        quadratic_term(expression.getVar1(at).index, expression.getVar2(at).index, expression.getCoeff(at))
        for at in range(expression.size())
    ]


def _add_general(codes: Any, model: Any, snapshot: Snapshot, constraint: Any) -> None:
    kind, name = constraint.GenConstrType, constraint.GenConstrName
    if kind in (codes.GENCONSTR_MAX, codes.GENCONSTR_MIN):
        is_largest = kind == codes.GENCONSTR_MAX
        read = model.getGenConstrMax if is_largest else model.getGenConstrMin
        output, inputs, constant = read(constraint)
        fixed = constant if abs(constant) < codes.INFINITY else None
        columns = [one.index for one in inputs]
        snapshot.add_feature(
            "extremes", name=name, output=output.index, inputs=columns, largest=is_largest, constant=fixed
        )
    elif kind == codes.GENCONSTR_ABS:
        output, argument = model.getGenConstrAbs(constraint)
        snapshot.add_feature("absolutes", name=name, output=output.index, input=argument.index)
    elif kind == codes.GENCONSTR_AND:
        output, inputs = model.getGenConstrAnd(constraint)
        snapshot.add_feature("products", name=name, output=output.index, inputs=[one.index for one in inputs])
    elif kind == codes.GENCONSTR_OR:
        output, inputs = model.getGenConstrOr(constraint)
        columns = [one.index for one in inputs]
        snapshot.add_feature("extremes", name=name, output=output.index, inputs=columns, largest=True)
    elif kind == codes.GENCONSTR_INDICATOR:
        binary, value, expression, sense, rhs = model.getGenConstrIndicator(constraint)
        terms = _linear_terms(expression)
        snapshot.add_feature(
            "indicators",
            name=name,
            binary=binary.index,
            active=bool(value),
            terms=terms,
            relation=RELATIONS[sense],
            rhs=rhs - expression.getConstant(),
        )
    elif kind == codes.GENCONSTR_PWL:
        argument, output, steps, values = model.getGenConstrPWL(constraint)
        points = [list(point) for point in zip(steps, values, strict=True)]
        snapshot.add_feature("piecewise", name=name, input=argument.index, output=output.index, points=points)
    else:
        snapshot.missing.append(f"a general constraint of Gurobi's type {kind}")


def _add_objectives(model: Any, snapshot: Snapshot) -> None:
    """Add several linear objectives. The one with the lowest priority becomes the model's own, with priority 0."""
    variables = model.getVars()
    chosen = model.Params.ObjNumber
    found = []
    for number in range(model.NumObj):
        model.Params.ObjNumber = number
        costs = model.getAttr("ObjN", variables)
        limits = (model.ObjNPriority, model.ObjNWeight, (model.ObjNRelTol, model.ObjNAbsTol))
        found.append((model.ObjNName or f"objective {number + 1}", *limits, costs, model.ObjNCon))
    model.Params.ObjNumber = chosen
    last = min((one for one in found if one[2]), key=lambda one: one[1], default=None)
    if last is None:
        snapshot.missing.append("objectives of weight 0 alone")
        return
    snapshot.objective, lowest, unit, _, costs, constant = last
    if unit < 0:
        snapshot.maximize = not snapshot.maximize
    snapshot.cost, snapshot.constant = list(costs), float(constant)
    for one in found:
        if one is last:
            continue
        name, priority, weight, (share, amount), costs, constant = one
        is_maximized = (model.ModelSense == -1) is not (weight < 0)
        snapshot.add_feature(
            "goals",
            name=name,
            terms={at: cost for at, cost in enumerate(costs) if cost},
            sense="maximize" if is_maximized else "minimize",
            constant=constant,
            weight=abs(weight / unit),
            priority=priority - lowest,
            slack=share,
            # Gurobi's default is a tolerance of its arithmetic.
            slack_amount=amount if amount > GUROBI_TOLERANCE else 0.0,
        )
