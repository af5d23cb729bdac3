"""Models that the tests of oragent.modelling share."""

from dataclasses import replace

from hypothesis import strategies as st

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind

RATES = {"bands": 200, "coils": 140, "plate": 160}  # tons an hour
PROFITS = {"bands": 25, "coils": 30, "plate": 29}
LEAST = {"bands": 1000, "coils": 500, "plate": 750}
MOST = {"bands": 6000, "coils": 4000, "plate": 3500}


def steel(hours: float = 40, bounds_as_rows: bool = False) -> IndexedModel:
    """The problem steel3 of AMPL's book, as a linear programme."""
    rows = [Row("hours", {name: 1 / rate for name, rate in RATES.items()}, Relation.AT_MOST, hours)]
    if bounds_as_rows:
        rows += [Row(f"least {name}", {name: 1}, Relation.AT_LEAST, value) for name, value in LEAST.items()]
        rows += [Row(f"most {name}", {name: 1}, Relation.AT_MOST, value) for name, value in MOST.items()]
    variables = [
        Variable(name, unit="tons") if bounds_as_rows else Variable(name, LEAST[name], MOST[name], unit="tons")
        for name in RATES
    ]
    return IndexedModel.from_records(
        tuple(variables), tuple(rows), Objective(PROFITS, unit="dollars"), Sense.MAXIMIZE, "steel3"
    )


def pharmacy(first_draft: bool = False) -> IndexedModel:
    """Painkillers and sleeping pills; the first draft has the published error in its 70 % row."""
    share = {"painkillers": 2.3, "sleeping pills": 4.3} if first_draft else {"sleeping pills": 0.3, "painkillers": -0.7}
    return IndexedModel.from_records(
        (
            Variable("painkillers", kind=VariableKind.INTEGER, unit="pills"),
            Variable("sleeping pills", kind=VariableKind.INTEGER, unit="pills"),
        ),
        (
            Row("morphine", {"painkillers": 10, "sleeping pills": 6}, Relation.AT_MOST, 3000),
            Row("least painkillers", {"painkillers": 1}, Relation.AT_LEAST, 50),
            Row("70 % sleeping pills", share, Relation.AT_LEAST, 0),
        ),
        Objective({"painkillers": 3, "sleeping pills": 5}, unit="units of digestive medicine"),
        Sense.MINIMIZE,
        "pharmacy",
    )


small = st.integers(-5, 5).map(float)
halves = st.integers(-12, 12).map(lambda twice: twice / 2)


@st.composite
def models(draw: st.DrawFn, integers: bool = True, box: bool = False, rows: int = 4, columns: int = 4) -> IndexedModel:
    """A small model of any status; with a box, every variable has bounds from within -4 to 4.

    At most one integer variable has no end: with two there are models that branching never ends with, such as
    5 x - 7 y = 0.5.
    """
    count, endless = draw(st.integers(1, columns)), False
    variables = []
    for place in range(count):
        low = draw(st.integers(-4, 2)) if box else draw(st.sampled_from([0.0, -3.0, -float("inf"), 1.5]))
        high = low + draw(st.integers(0, 4)) if box else max(low, draw(st.sampled_from([float("inf"), 4.0, 2.5])))
        kind = draw(st.sampled_from(VariableKind)) if integers else VariableKind.CONTINUOUS
        if kind is VariableKind.INTEGER and high - low == float("inf"):
            low, high = (max(low, -50.0), min(high, 50.0)) if endless else (low, high)
            endless = True
        variables.append(Variable(f"x{place}", low, high, kind))
    names = [variable.name for variable in variables]
    found = [
        Row(
            f"r{place}",
            {name: draw(small) for name in names},
            draw(st.sampled_from(Relation)),
            draw(halves),
        )
        for place in range(draw(st.integers(0, rows)))
    ]
    objective = Objective({name: draw(small) for name in names}, draw(halves))
    return IndexedModel.from_records(tuple(variables), tuple(found), objective, draw(st.sampled_from(Sense)))


def with_rhs(milp: IndexedModel, values: dict[str, float]) -> IndexedModel:
    """The same model with other right-hand sides, by row."""
    rows = tuple(replace(row, rhs=values[row.name]) if row.name in values else row for row in milp.row_records)
    return milp.with_records(rows=rows)


def facts(model: IndexedModel) -> tuple[object, ...]:
    """All that a model states by its flat names, to compare two models."""
    return (
        (model.name, model.meaning, model.sense),
        model.objective_record,
        model.variable_records,
        model.row_records,
        model.named_features,
    )
