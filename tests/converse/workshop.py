"""A production model of a person's own, and its optimum by an independent solver."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from oragent.converse.agents.rules import RulesAgent
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.solving import StateSolver
from oragent.converse.tools import Toolbox
from oragent.milp import Milp, Relation, Sense, files

LP = """\\ a workshop
Maximize
 profit: 72 tables + 55 chairs
Subject To
 carpentry: 4 tables + 6 chairs <= 40
 finishing: 5 tables + 3 chairs <= 46
 chairs_sold: chairs <= 8
General
 tables chairs
End
"""


def workshop(folder: Path) -> Milp:
    """The workshop, read from an LP file."""
    path = folder / "workshop.lp"
    path.write_text(LP)
    return files.read(path)


def optimum(model: Milp) -> float | None:
    """The optimum of a model by SciPy; None where it has none."""
    place = {variable.name: index for index, variable in enumerate(model.variables)}
    matrix = np.zeros((len(model.rows) + 1, len(place)))
    low, high = np.full(len(matrix), -np.inf), np.full(len(matrix), np.inf)
    for index, row in enumerate(model.rows):
        for name, value in row.terms.items():
            matrix[index, place[name]] = value
        if row.relation is not Relation.AT_LEAST:
            high[index] = row.rhs
        if row.relation is not Relation.AT_MOST:
            low[index] = row.rhs
    cost = np.zeros(len(place))
    for name, value in model.objective.terms.items():
        cost[place[name]] = value
    sign = 1 if model.sense is Sense.MINIMIZE else -1
    bounds = Bounds([one.low for one in model.variables], [one.high for one in model.variables])
    whole = [int(one.is_integer) for one in model.variables]
    # SciPy before 1.17 brings a HiGHS whose presolve loses the optimum of some mixed models.
    found = milp(
        sign * cost, constraints=LinearConstraint(matrix, low, high), bounds=bounds, integrality=whole,
        options={"presolve": False},
    )  # fmt: skip
    return None if found.x is None else sign * float(found.fun) + model.objective.constant


def rules(model: Milp) -> RulesAgent:
    """An agent that takes commands about a model."""
    return RulesAgent(Toolbox(StateSolver(FormulatedProblem(model)), extended=True))


def said(agent: RulesAgent, message: str) -> str:
    """What it answers."""
    return asyncio.run(agent.answer(message)).text


def with_rows(model: Milp, limits: Mapping[str, float]) -> Milp:
    """The model with other right-hand sides, written by hand."""
    from dataclasses import replace

    return replace(model, rows=tuple(replace(row, rhs=limits.get(row.name, row.rhs)) for row in model.rows))
