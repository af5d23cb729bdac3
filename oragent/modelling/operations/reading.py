"""Operations that read: structure, data, values, totals, order, slack."""

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import RELATIONS, Family, IndexedModel, IndexSet, ParameterFamily, VariableFamily
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.expressions import group_members
from oragent.modelling.operations.results import (
    DescribeResult,
    FamilyInfo,
    Figure,
    GroupTotal,
    MemberFigures,
    MembersResult,
    ObjectiveInfo,
    SetInfo,
    TotalResult,
)
from oragent.modelling.operations.rows import binding_rows, price_members, row_members, row_slacks
from oragent.modelling.operations.slices import Slice, find_family, find_set_place, find_slice, fold, kind_of
from oragent.modelling.operations.stages import ranked_objectives
from oragent.modelling.operations.state import (
    BASE,
    ModelScenario,
    ModelStudy,
    solved,
)

# Maximum number of members in one result.
SHOWN = 1000
# Maximum number of labels of a set in a description.
SHOWN_LABELS = 200
ORDERS = ("value", "cost", "coefficient", "price")


def describe(study: ModelStudy, request: ops.DescribeRequest) -> DescribeResult:
    """List the sets, families and objectives of the present model, or those of one family or one set."""
    model = study.present.model
    families: list[Family] = list(model.families())
    sets = list(model.sets)
    if named := _find_set(model, request.reference):
        families = [family for family in families if named.name in family.sets]
        sets = [named]
    elif request.reference is not None:
        chosen = find_slice(model, request.reference)
        families = [chosen.family]
        sets = [index_set for index_set in sets if index_set.name in chosen.family.sets]
    return DescribeResult(
        scenario=study.label(study.changes),
        name=model.name,
        columns=model.shape[1],
        row_count=model.shape[0],
        integers=int(model.integer.sum()),
        nonzeros=len(model.columns),
        sets=tuple(
            SetInfo(
                name=listed_set.name,
                size=len(listed_set.labels),
                labels=listed_set.labels[:SHOWN_LABELS],
                ordered=listed_set.is_ordered,
                time=listed_set.is_time,
                guessed=listed_set.is_guessed,
            )
            for listed_set in sets
        ),
        families=tuple(_family_info(model, family) for family in families),
        objectives=_objective_infos(model),
        features=model.feature_counts,
        scenarios=(BASE, *study.scenarios),
    )


def _find_set(model: IndexedModel, reference: ops.MemberReference | None) -> IndexSet | None:
    """Return the set that a reference names; None if it names a family, or neither."""
    if reference is None or reference.indices is not None or reference.kind is not None:
        return None
    name = reference.name.casefold()
    if any(family.name.casefold() == name for family in model.families()):
        return None
    return next((index_set for index_set in model.sets if index_set.name.casefold() == name), None)


def _objective_infos(model: IndexedModel) -> tuple[ObjectiveInfo, ...]:
    return tuple(
        ObjectiveInfo(
            name=goal.name,
            sense=str(goal.sense),
            unit=goal.unit,
            terms=int(np.count_nonzero(goal.cost.evaluate(model.cells))) + len(goal.quadratic),
            stage=stage,
            weight=weight,
            within=100 * goal.slack,
            within_amount=goal.slack_amount,
        )
        for goal, stage, weight in ranked_objectives(model)
    )


def _family_info(model: IndexedModel, family: Family) -> FamilyInfo:
    form = "data"
    if isinstance(family, VariableFamily):
        whole = model.integer[family.positions]
        low, high = (side.evaluate(model.cells)[family.positions] for side in (model.low, model.high))
        form = "continuous"
        if whole.all():
            form = "binary" if (low >= 0).all() and (high <= 1).all() else "integer"
        elif whole.any():
            form = "mixed"
    elif not isinstance(family, ParameterFamily):
        codes = dict.fromkeys(model.relations[family.positions].tolist())
        form = " ".join(str(RELATIONS[code]) for code in codes)
    return FamilyInfo(
        name=family.name,
        kind=kind_of(family),  # type: ignore[arg-type]  # one of the three
        sets=family.sets,
        members=len(family),
        unit=family.unit,
        meaning=family.meaning,
        form=form,
        guessed=family.is_guessed,
    )


def data(study: ModelStudy, request: ops.DataRequest) -> MembersResult:
    """List cells of data, bounds of variables, or right-hand sides of rows."""
    model = study.present.model
    chosen = find_slice(model, request.reference)
    members = tuple(_data_member(model, chosen, member) for member in chosen.members[:SHOWN].tolist())
    return MembersResult(scenario=study.label(study.changes), members=members, size=len(chosen))


def _data_member(model: IndexedModel, chosen: Slice, member: int) -> MemberFigures:
    family = chosen.family
    position = int(family.positions[member])
    name, labels = model.member_name(family, member), model.labels_of(family, member)
    if isinstance(family, ParameterFamily):
        source = ""
        if family.source is not None:
            where = family.source
            source = f"{where.file} {where.sheet} row {where.row} column {where.column}"
        value = Figure.exact(float(model.cells[position]), family.unit)
        return MemberFigures(name=name, labels=labels, value=value, source=source)
    if isinstance(family, VariableFamily):
        low, high = (float(side.evaluate(model.cells)[position]) for side in (model.low, model.high))
        cost = float(model.objective.cost.evaluate(model.cells)[position])
        return MemberFigures(
            name=name,
            labels=labels,
            low=Figure.exact(low, family.unit),
            high=Figure.exact(high, family.unit),
            coefficient=Figure.exact(cost, model.objective.unit),
        )
    relation = str(RELATIONS[int(model.relations[position])])
    value = Figure.exact(float(model.rhs_values[position]), family.unit)
    return MemberFigures(name=name, labels=labels, value=value, relation=relation)


def value(study: ModelStudy, request: ops.ValueRequest) -> MembersResult:
    """List the nonzero values, each with its contribution to the objective."""
    scenario = study.present
    chosen = find_slice(scenario.model, request.reference)
    if chosen.kind == "parameters":
        return data(study, ops.DataRequest(reference=request.reference))
    if chosen.kind == "rows":
        return slack(study, ops.SlackRequest(reference=request.reference))
    point = study.point(scenario)
    used = chosen.members[np.abs(point[chosen.positions]) > 1e-9]
    members = tuple(value_member(scenario, chosen.family, position, point) for position in used[:SHOWN].tolist())
    return solved(study, scenario, MembersResult(members=members, size=len(chosen), warnings=study.warn(scenario)))


def value_member(scenario: ModelScenario, family: Family, member: int, point: Vector) -> MemberFigures:
    """Return a variable with its value, its coefficient of the objective and its contribution."""
    model = scenario.model
    column = int(family.positions[member])
    cost, figure = float(scenario.known.arrays.cost[column]), float(point[column])
    return MemberFigures(
        name=model.member_name(family, member),
        labels=model.labels_of(family, member),
        value=Figure.exact(figure, family.unit),
        coefficient=Figure.exact(cost, model.objective.unit),
        contribution=Figure.exact(cost * figure, model.objective.unit),
    )


def total(study: ModelStudy, request: ops.TotalRequest) -> TotalResult:
    """Sum values of variables, or data, over a slice."""
    scenario = study.present
    chosen = find_slice(scenario.model, request.reference, ["variables", "parameters"])
    contribution = None
    if chosen.kind == "variables":
        point = study.point(scenario)
        figures = point[chosen.positions]
        costs = scenario.known.arrays.cost[chosen.positions] * figures
        contribution = Figure.exact(float(costs.sum()), scenario.model.objective.unit)
        warnings = study.warn(scenario)
    else:
        figures = scenario.model.cells[chosen.positions]
        warnings = ()
    groups: tuple[GroupTotal, ...] = ()
    if request.by is not None:
        groups = _groups(scenario.model, chosen, figures, request.by)
    unit = chosen.family.unit
    result = TotalResult(
        scenario=study.label(study.changes),
        total=Figure.exact(float(figures.sum()), unit),
        contribution=contribution,
        groups=groups,
        warnings=warnings,
    )
    return result if contribution is None else solved(study, scenario, result)


def _groups(model: IndexedModel, chosen: Slice, figures: Vector, by: str) -> tuple[GroupTotal, ...]:
    position = find_set_place(model, chosen.family, by)
    labels = model.index_set(chosen.family.sets[position]).labels
    keys, lines = group_members(chosen.family, chosen.members, [position])
    sums, counts = np.bincount(lines, figures), np.bincount(lines)
    groups = [
        GroupTotal(label=labels[key], total=Figure.exact(float(amount), chosen.family.unit), members=int(count))
        for (key,), amount, count in zip(keys.tolist(), sums, counts, strict=True)
    ]
    return tuple(sorted(groups, key=lambda group: -(group.total.value or 0.0)))


def top(study: ModelStudy, request: ops.TopRequest) -> MembersResult:
    """List the members with the largest figures, or with the smallest for a negative count."""
    scenario = study.present
    chosen = find_slice(scenario.model, request.reference)
    order = fold(request.by)
    if order == "price":
        members = price_members(study, chosen, 1.0)
        # A capacity whose next unit saves 5 counts as much as a demand whose next unit costs 5.
        sizes = [None if member.price_up is None else member.price_up.value for member in members]
        priced = [(abs(size), member) for size, member in zip(sizes, members, strict=True) if size is not None]
        priced.sort(key=lambda pair: -np.sign(request.count) * pair[0])
        left_out = tuple(
            f"{member.name} with a unit more is not solved to a point"
            for size, member in zip(sizes, members, strict=True)
            if size is None
        )
        return solved(
            study,
            scenario,
            MembersResult(
                members=tuple(member for _, member in priced[: abs(request.count)]),
                size=len(chosen),
                warnings=left_out[:5],
            ),
        )
    figures = _figures_to_rank(study, scenario, chosen, order, request.by)
    ranks = np.argsort(-np.sign(request.count) * figures, kind="stable")[: abs(request.count)]
    places = chosen.members[ranks].tolist()
    members = tuple(
        _ranked_member(study, scenario, chosen, position, float(figures[rank]), order)
        for position, rank in zip(places, ranks.tolist(), strict=True)
    )
    result = MembersResult(scenario=study.label(study.changes), members=members, size=len(chosen))
    if chosen.kind == "parameters" or order not in ("value", "cost"):
        return result
    return solved(study, scenario, result.model_copy(update={"warnings": study.warn(scenario)}))


def _figures_to_rank(study: ModelStudy, scenario: ModelScenario, chosen: Slice, order: str, name: str) -> Vector:
    model = scenario.model
    if order not in ORDERS:
        return _parameter_figures(model, chosen, name)
    if chosen.kind == "parameters" and order == "value":
        return model.cells[chosen.positions]
    if chosen.kind == "rows" and order == "value":
        return row_slacks(scenario, study.point(scenario))[0][chosen.positions]
    if chosen.kind != "variables":
        raise ModellingError(f"{quoted(chosen.family.name)} has no {order}: expected variables, or by value or price")
    costs = scenario.known.arrays.cost[chosen.positions]
    if order == "coefficient":
        return costs
    figures = study.point(scenario)[chosen.positions]
    return figures if order == "value" else costs * figures


def _parameter_figures(model: IndexedModel, chosen: Slice, name: str) -> Vector:
    """Return for each member the cell of a parameter whose index sets it has."""
    family = find_family(model, ops.MemberReference(name=name), ["parameters"])
    places = [find_set_place(model, chosen.family, set_name) for set_name in family.sets]
    cell_of = {tuple(key): float(model.cells[at]) for key, at in zip(family.keys, family.positions, strict=True)}
    try:
        return np.array([cell_of[tuple(key)] for key in chosen.family.keys[chosen.members][:, places]])
    except KeyError:
        raise ModellingError(
            f"{quoted(family.name)} has no cell for some members of {quoted(chosen.family.name)}"
        ) from None


def _ranked_member(
    study: ModelStudy, scenario: ModelScenario, chosen: Slice, rank: int, figure: float, order: str
) -> MemberFigures:
    if chosen.kind == "variables" and order in ("value", "cost"):
        return value_member(scenario, chosen.family, rank, study.point(scenario))
    member = _data_member(scenario.model, chosen, rank)
    if order in ORDERS and chosen.kind != "rows":
        return member
    return member.model_copy(update={"value": Figure.exact(figure)})


def binding(study: ModelStudy, request: ops.BindingRequest) -> MembersResult:
    """List the rows that have no slack, including equations."""
    scenario = study.present
    reference = request.reference
    chosen = None if reference is None else find_slice(scenario.model, reference, ["rows"])
    point = study.point(scenario)
    binds = binding_rows(scenario, point)
    if chosen is not None:
        pairs = [(chosen.family, position) for position in chosen.members.tolist()]
    else:
        pairs = [(family, position) for family in scenario.model.rows for position in range(len(family))]
    bound = [(family, position) for family, position in pairs if binds[family.positions[position]]]
    return solved(
        study,
        scenario,
        MembersResult(
            members=row_members(study, scenario, bound[:SHOWN], point),
            size=len(pairs),
            warnings=study.warn(scenario),
        ),
    )


def slack(study: ModelStudy, request: ops.SlackRequest) -> MembersResult:
    """List left side, right-hand side and slack of rows."""
    scenario = study.present
    chosen = find_slice(scenario.model, request.reference, ["rows"])
    pairs = [(chosen.family, position) for position in chosen.members[:SHOWN].tolist()]
    return solved(
        study,
        scenario,
        MembersResult(
            members=row_members(study, scenario, pairs, study.point(scenario)),
            size=len(chosen),
            warnings=study.warn(scenario),
        ),
    )
