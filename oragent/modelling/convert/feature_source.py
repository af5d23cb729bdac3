"""Source code of the nonlinear parts of a model. Gurobipy supports all, Pyomo and MathOpt some, PuLP none."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from oragent._base.errors import ModellingError
from oragent.modelling.convert.writer import SourceWriter, key_text, number
from oragent.modelling.data.features import Indicator, OrderedSet, QuadraticRow, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation
from oragent.modelling.data.objectives import effective_weights

# Fields of ``ModelFeatures`` that a library's source can have; "goals" stands for further objectives.
ABLE = {
    "pulp": frozenset[str](),
    "pyomo": frozenset({"quadratic", "quadratic_rows", "ordered_sets"}),
    "gurobipy": frozenset(
        {
            "quadratic",
            "quadratic_rows",
            "indicators",
            "ordered_sets",
            "semi_continuous",
            "piecewise",
            "absolutes",
            "extremes",
            "products",
            "goals",
        }
    ),
    "mathopt": frozenset({"quadratic", "quadratic_rows", "indicators"}),
}
SIGNS = {Relation.AT_MOST: "<=", Relation.EQUAL: "==", Relation.AT_LEAST: ">="}


def used_features(model: IndexedModel) -> frozenset[str]:
    """Return the fields of ``ModelFeatures`` that a model uses, and "goals" for weighted further objectives."""
    used = {name for name, part in vars(model.features).items() if part}
    if model.objectives[0].quadratic:
        used |= {"quadratic"}
    if any(goal.weight for goal in model.objectives[1:]):
        used |= {"goals"}
    return frozenset(used)


def check_features(model: IndexedModel, form: str) -> None:
    """Raise ``ModellingError`` if a library does not support a part of a model; the message names libraries that do."""
    used = used_features(model)
    if "goals" in used and any(goal.quadratic for goal in model.objectives):
        raise ModellingError(
            "several objectives, one of them quadratic: source can have linear ones only; convert to .json"
        )
    lacking = sorted(used - ABLE[form])
    if not lacking:
        return
    able = [name for name, features in ABLE.items() if used <= features]
    hint = f"convert to {' or '.join(able)}, .lp or .json" if able else "convert to .lp or .json"
    parts = ", ".join(name.replace("_", " ") for name in lacking)
    raise ModellingError(f"source for {form} does not support {parts}: {hint}")


class FeatureWriter:
    """Writes statements for features, with the variable names of a source writer."""

    def __init__(self, model: IndexedModel, form: str, writer: SourceWriter) -> None:
        self._model, self._form, self._writer = model, form, writer
        self._column: dict[int, str] = {}
        for family in model.variables:
            name = writer.variable(family.name)
            for member, position in enumerate(family.positions.tolist()):
                labels = model.labels_of(family, member)
                if labels:
                    self._column[position] = f"{name}[{key_text(labels)}]"
                else:
                    self._column[position] = name

    def objective_terms(self) -> list[str]:
        """Return the quadratic terms of the objective."""
        return [self._product(term) for term in self._model.objectives[0].quadratic]

    def lines(self) -> Iterator[str]:
        """Yield a statement for each feature."""
        features = self._model.features
        if self._form == "gurobipy":
            # Attributes of variables can be read only after an update.
            yield "m.update()"
        written: list[tuple[Iterable[object], Callable[..., str]]] = [
            (features.quadratic_rows, self._quadratic_row),
            (features.indicators, self._indicator),
            (features.ordered_sets, self._ordered_set),
        ]
        for parts, write in written:
            for at, part in enumerate(parts):
                yield write(part, at)
        if self._form == "gurobipy":
            yield from self._gurobi_lines()

    def _linear(self, terms: Mapping[int, float]) -> str:
        parts = [f"{number(value)} * {self._column[column]}" for column, value in terms.items() if value]
        return " + ".join(parts) or "0"

    def _product(self, term: QuadraticTerm[int]) -> str:
        return f"{number(term.value)} * {self._column[term.first]} * {self._column[term.second]}"

    def _quadratic_row(self, row: QuadraticRow[int], at: int) -> str:
        terms = " + ".join([self._linear(row.terms), *map(self._product, row.quadratic)])
        relation = f"{terms} {SIGNS[row.relation]} {number(row.rhs)}"
        if self._form == "pyomo":
            return f"m.{self._writer.name('rows', row.name)} = pe.Constraint(expr={relation})"
        method = "addQConstr" if self._form == "gurobipy" else "add_quadratic_constraint"
        return f"m.{method}({relation}, name={row.name!r})"

    def _indicator(self, part: Indicator[int], at: int) -> str:
        left, right, binary = self._linear(part.terms), number(part.rhs), self._column[part.binary]
        if self._form == "gurobipy":
            relation = f"{left} {SIGNS[part.relation]} {right}"
            return f"m.addGenConstrIndicator({binary}, {part.active}, {relation}, name={part.name!r})"
        zero = "" if part.active else ", activate_on_zero=True"
        sides = {SIGNS[part.relation]: part.name}
        if part.relation is Relation.EQUAL:
            # SCIP in OR-Tools takes no equation here.
            sides = {"<=": f"{part.name}_most", ">=": f"{part.name}_least"}
        return "\n".join(
            f"m.add_indicator_constraint("
            f"indicator={binary}, implied_constraint={left} {sign} {right}{zero}, name={name!r})"
            for sign, name in sides.items()
        )

    def _ordered_set(self, part: OrderedSet[int], at: int) -> str:
        members = ", ".join(self._column[column] for column in part.order)
        weights = ", ".join(number(part.members[column]) for column in part.order)
        if self._form == "gurobipy":
            return f"m.addSOS(gp.GRB.SOS_TYPE{part.kind}, [{members}], [{weights}])"
        # Only the order of the weights counts, and Pyomo accepts no weight below 0.
        rule = f"lambda m: ([{members}], {list(range(1, len(part.members) + 1))})"
        return f"m.{self._writer.name('rows', part.name)} = pe.SOSConstraint(rule={rule}, sos={part.kind})"

    def _gurobi_lines(self) -> Iterator[str]:
        features, column = self._model.features, self._column
        for semi in features.semi_continuous:
            kind = "SEMIINT" if self._model.integer[semi.variable] else "SEMICONT"
            yield f"{column[semi.variable]}.VType = gp.GRB.{kind}"
        for absolute in features.absolutes:
            yield f"m.addGenConstrAbs({column[absolute.output]}, {column[absolute.input]}, name={absolute.name!r})"
        for extreme in features.extremes:
            inputs = ", ".join(column[input_name] for input_name in extreme.inputs)
            constant = "" if extreme.constant is None else f"constant={number(extreme.constant)}, "
            method = "addGenConstrMax" if extreme.largest else "addGenConstrMin"
            yield f"m.{method}({column[extreme.output]}, [{inputs}], {constant}name={extreme.name!r})"
        for product in features.products:
            inputs = ", ".join(column[input_name] for input_name in product.inputs)
            yield f"m.addGenConstrAnd({column[product.output]}, [{inputs}], name={product.name!r})"
        for curve in features.piecewise:
            steps = ", ".join(number(x) for x, _ in curve.points)
            values = ", ".join(number(y) for _, y in curve.points)
            ends = f"{column[curve.input]}, {column[curve.output]}"
            yield f"m.addGenConstrPWL({ends}, [{steps}], [{values}], name={curve.name!r})"
            yield f"{column[curve.input]}.LB = max({column[curve.input]}.LB, {number(curve.points[0][0])})"
            yield f"{column[curve.input]}.UB = min({column[curve.input]}.UB, {number(curve.points[-1][0])})"
        yield from self._gurobi_objectives()

    def _gurobi_objectives(self) -> Iterator[str]:
        model = self._model
        ranked = list(zip(effective_weights(model.objectives), model.objectives, strict=True))
        if all(weight == 0 for weight, _ in ranked[1:]):
            return
        # Gurobi takes the first objective's sense as that of the model.
        for at, (weight, goal) in enumerate((weight, goal) for weight, goal in ranked if weight):
            terms = {column: value for column, value in enumerate(goal.cost.evaluate(model.cells).tolist()) if value}
            expression = "m.getObjective()" if at == 0 else f"{self._linear(terms)} + {number(goal.constant)}"
            factor = weight if goal.sense is ranked[0][1].sense else -weight
            limits = f"priority={goal.priority}, weight={number(factor)}"
            slack = f"reltol={number(goal.slack)}, abstol={number(goal.slack_amount)}"
            yield f"m.setObjectiveN({expression}, {at}, {limits}, {slack}, name={goal.name!r})"
