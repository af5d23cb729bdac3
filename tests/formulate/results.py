"""Results of formulations that are made by hand: a bakery with two products and two limits that bind."""

from dataclasses import asdict

from oragent.formulate.checks import Checked, CheckFinding, CheckStatus, Reason
from oragent.formulate.formulation import FormulationResult
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.files.solution_json import solution_dict
from oragent.modelling.solving.model_solving import solve

# Two products, two limits that bind: x = 3 and y = 6 earn 39.
ROWS = (
    Row("oven", {"x": 0.0, "y": 2.0}, Relation.AT_MOST, 12.0, "The oven has 12 hours"),
    Row("flour", {"x": 3.0, "y": 2.0}, Relation.AT_MOST, 21.0, "There are 21 kg of flour"),
    Row("dough", {"x": 1.0}, Relation.AT_MOST, 4.0),
)
BAKERY = IndexedModel.from_records(
    (Variable("x"), Variable("y")), ROWS, Objective({"x": 3.0, "y": 5.0}), Sense.MAXIMIZE, "bakery"
)
STORY = "A baker makes x and y. The oven has 12 hours. There are 21 kg of flour. Earn as much as possible."


def result_of(milp: IndexedModel, **fields: object) -> FormulationResult:
    solution = solve(milp, duals=False)
    defaults: dict[str, object] = {
        "status": str(solution.status),
        "answer": True,
        "milp": milp,
        "solution": solution_dict(solution),
        "values": dict(solution.values),
        "program": "",
        "message": "",
        "checks": None,
        "checker": "",
        "attempts": (),
        "kept": 0,
        "pool": (),
        "data": {},
    }
    return FormulationResult(**{**defaults, **fields})  # type: ignore[arg-type]


def checks_of(state: CheckStatus, *findings: CheckFinding, **fields: object) -> dict[str, object]:
    return asdict(Checked(state, findings, 3, 3 - len(findings), compared=True, compared_aims=1, **fields))  # type: ignore[arg-type]


FINDING = CheckFinding(Reason.VIOLATED, "oven", "14 <= 12 does not hold", 14.0, 12.0, "The oven has 12 hours")
