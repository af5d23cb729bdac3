"""Silent errors: whether a model that an agent wrote still is the problem; nobody in the conversation is told."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from oragent.converse.decision import DecisionProblem, format_figure
from oragent.milp.model import Milp, Objective, Relation, Row, Sense
from oragent.milp.solution import SolveStatus
from oragent.milp.solving import solve

TOLERANCE = 1e-5
MOST_ROWS = 60
CHECK_S = 5.0


def renamed_values(naming: Callable[[str], str | None], values: Mapping[str, float]) -> dict[str, float]:
    """Values by names of the base model; what it has not is left out."""
    return {base_name: value for name, value in values.items() if (base_name := naming(name)) is not None}


def silent_errors(problem: DecisionProblem, milp: Milp, values: Mapping[str, float]) -> list[str]:
    """List what is wrong with a model that was solved.

    A base row is broken where some feasible point of the model breaks it; an objective differs where its expression,
    as small as the model lets it be with the decision fixed, is not what the decision truly has.

    Args:
        problem: Problem that the model should be of.
        milp: Model, under the program's names.
        values: Values of its solution, likewise; empty where there is none.
    """
    naming, prefix = problem.program.naming, problem.program.prefix
    names = {
        base_name: variable.name for variable in milp.variables if (base_name := naming(variable.name)) is not None
    }
    integers = [variable.name for variable in problem.base.variables if variable.is_integer]
    strange = [
        variable.name
        for variable in milp.variables
        if prefix and naming(variable.name) is None and variable.name.startswith(prefix)
    ]
    errors = [f"variable {strange[0][:60]} is none of the problem's: an index is off"] if strange else []
    missing = [name for name in integers if name not in names]
    if missing:
        errors.append(f"{missing[0]} is not in the model, and {len(missing) - 1} more")
    return [*errors, *_check_rows(problem, milp, names), *_check_objectives(problem, milp, names, values)]


def _check_rows(problem: DecisionProblem, milp: Milp, names: Mapping[str, str]) -> list[str]:
    whole = {variable.name for variable in problem.base.variables if variable.is_integer}
    rows = [row for row in problem.base.rows if row.terms and row.terms.keys() <= (whole or row.terms.keys())]
    broken = []
    for row in rows[:MOST_ROWS]:
        terms = {names[name]: value for name, value in row.terms.items() if name in names}
        if any(_is_beyond_row(milp, terms, row, sense) for sense in (Sense.MINIMIZE, Sense.MAXIMIZE)):
            broken.append(f"{row.name} ({row.meaning[:60]}) does not hold")
    return broken


def _is_beyond_row(milp: Milp, terms: Mapping[str, float], row: Row, sense: Sense) -> bool:
    """Whether a feasible point of the model lies beyond the limits of a base row, on one side."""
    if row.relation is not Relation.EQUAL and (row.relation is Relation.AT_MOST) != (sense is Sense.MAXIMIZE):
        return False
    extreme = solve(replace(milp, objective=Objective(terms), sense=sense), CHECK_S, duals=False)
    if extreme.status is SolveStatus.UNBOUNDED:
        return True
    if not extreme.status.has_point or extreme.objective is None:
        return False
    over = extreme.objective - row.rhs
    return (over if sense is Sense.MAXIMIZE else -over) > TOLERANCE * max(1.0, abs(row.rhs))


def _check_objectives(
    problem: DecisionProblem, milp: Milp, names: Mapping[str, str], values: Mapping[str, float]
) -> list[str]:
    renamed = renamed_values(problem.program.naming, values)
    integers = [variable.name for variable in problem.base.variables if variable.is_integer and variable.name in names]
    if not values or not integers:
        return []
    fixed = [Row(f"at {name}", {names[name]: 1.0}, Relation.EQUAL, round(renamed[name])) for name in integers]
    truth = problem.features(problem.decision(renamed))
    errors = []
    for goal, true in zip(problem.expressions[: problem.goals], truth, strict=False):
        if not goal.terms.keys() <= names.keys():
            continue
        terms = {names[name]: value for name, value in goal.terms.items()}
        milp_at = replace(milp, rows=(*milp.rows, *fixed), objective=Objective(terms, goal.constant), sense=goal.sense)
        least = solve(milp_at, CHECK_S, duals=False)
        if least.objective is not None and abs(least.objective * goal.scale - true) > 0.01 * max(1.0, abs(true)):
            errors.append(
                f"{goal.word} is {format_figure(true)}, and {format_figure(least.objective * goal.scale)} in the model"
            )
    return errors
