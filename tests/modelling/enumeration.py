"""Small models as plain numbers, solved by enumeration: all values of the integers, all vertices of the rest."""

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.optimize

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names

NEAR = 1e-9
RELATIONS = {-1: Relation.AT_MOST, 0: Relation.EQUAL, 1: Relation.AT_LEAST}


@dataclass(frozen=True, eq=False)
class Plain:
    """A model whose optimum is at a vertex. Relations are -1 for at most, 0 for equal, 1 for at least."""

    sign: int
    cost: np.ndarray
    low: np.ndarray
    high: np.ndarray
    matrix: np.ndarray
    relations: np.ndarray
    rhs: np.ndarray
    integer: np.ndarray
    constant: float = 0.0
    columns: tuple[str, ...] = field(default=("alpha", "beta", "gamma", "delta", "eps", "zeta", "eta"))
    rows: tuple[str, ...] = field(default=("cap", "need", "mix", "rule", "sum", "tie"))

    def worth(self, point: np.ndarray) -> float:
        """The objective of a point."""
        return float(self.cost @ point) + self.constant

    def feasible(self, points: np.ndarray) -> np.ndarray:
        """Which of ``(k, n)`` points satisfy rows, bounds and integrality."""
        excess = points @ self.matrix.T - self.rhs
        rows = np.where(self.relations == 0, np.abs(excess), -self.relations * excess)
        inside = (points >= self.low - NEAR) & (points <= self.high + NEAR)
        whole = ~self.integer | (np.abs(points - np.round(points)) <= NEAR)
        return (rows <= NEAR).all(axis=1) & inside.all(axis=1) & whole.all(axis=1)

    def points(self) -> np.ndarray:
        """``(k, n)`` feasible points: for all values of the integers, the vertices of the rest."""
        if (self.low > self.high).any():
            return np.zeros((0, len(self.cost)))
        whole = np.flatnonzero(self.integer)
        spans = [np.arange(np.ceil(self.low[j] - NEAR), np.floor(self.high[j] + NEAR) + 1) for j in whole]
        candidates = [self._vertices(whole, np.array(values)) for values in itertools.product(*spans)]
        every = np.concatenate(candidates) if candidates else np.zeros((0, len(self.cost)))
        return every[self.feasible(every)]

    def _vertices(self, whole: np.ndarray, values: np.ndarray) -> np.ndarray:
        free = np.flatnonzero(~self.integer)
        if not len(free):
            return values.reshape(1, -1)
        rest = self.rhs - self.matrix[:, whole] @ values
        identity = np.eye(len(free))
        planes = np.concatenate([self.matrix[:, free], identity, identity])
        sides = np.concatenate([rest, self.low[free], self.high[free]])
        chosen = np.array(list(itertools.combinations(np.flatnonzero(np.isfinite(sides)), len(free))))
        systems = planes[chosen]
        regular = np.abs(np.linalg.det(systems)) > NEAR
        solved = np.linalg.solve(systems[regular], sides[chosen][regular][..., None])[..., 0]
        points = np.zeros((len(solved), len(self.cost)))
        points[:, free], points[:, whole] = solved, values
        return points

    def optimum(self) -> float | None:
        """The optimum; None if there is no feasible point."""
        points = self.points()
        if not len(points):
            return None
        return self.sign * float((self.sign * (points @ self.cost)).min()) + self.constant

    def status(self) -> str:
        """``optimal``, ``infeasible`` or ``unbounded``: by enumeration with finite bounds, otherwise by SciPy.

        Of bounded models that have rows without terms, SciPy calls some infeasible that are not.
        """
        if (self.low > self.high).any():
            return "infeasible"
        if np.isfinite(self.low).all() and np.isfinite(self.high).all():
            return "optimal" if len(self.points()) else "infeasible"
        low = np.where(self.relations == -1, -np.inf, self.rhs)
        high = np.where(self.relations == 1, np.inf, self.rhs)
        for cost in (np.zeros(len(self.cost)), self.sign * self.cost):
            result = scipy.optimize.milp(
                cost,
                integrality=self.integer.astype(int),
                bounds=scipy.optimize.Bounds(self.low, self.high),
                constraints=[scipy.optimize.LinearConstraint(self.matrix, low, high)] if len(low) else [],
                # The presolve of the HiGHS in SciPy 1.17 calls some feasible models infeasible.
                options={"presolve": False},
            )
            if result.status == 2 and not cost.any():
                return "infeasible"
        return "optimal" if result.status == 0 else "unbounded"

    def changed(self, name: str, places: object, change: object) -> "Plain":
        """The model with some numbers of an array set to a number, or to a function of the numbers there."""
        array = np.array(getattr(self, name), dtype=float)
        array[places] = change(array[places]) if callable(change) else change
        return replace(self, **{name: array})

    def with_row(self, terms: object, relation: int, rhs: float) -> "Plain":
        """The model with one more row."""
        return replace(
            self,
            matrix=np.vstack([self.matrix, np.asarray(terms, dtype=float)]),
            relations=np.append(self.relations, relation),
            rhs=np.append(self.rhs, rhs),
        )

    def without_rows(self, places: list[int]) -> "Plain":
        """The model without some rows."""
        stays = [place for place in range(len(self.rhs)) if place not in places]
        return replace(self, matrix=self.matrix[stays], relations=self.relations[stays], rhs=self.rhs[stays])

    def best_with(self, cost: object, sign: int, constant: float = 0.0) -> "Plain":
        """The model with another objective."""
        return replace(self, cost=np.asarray(cost, dtype=float), sign=sign, constant=constant)

    def within(self, allowance: float) -> "Plain":
        """The model with one more row: the objective is at most so much worse than its optimum."""
        limit = self.optimum() + self.sign * (allowance + 1e-9) - self.constant
        return self.with_row(self.cost, -self.sign, limit)

    def optima(self) -> np.ndarray:
        """The best of the points."""
        points = self.points()
        worths = self.sign * (points @ self.cost)
        return points[worths <= worths.min() + 1e-7]

    def moved(self, **arrays: tuple[int, float]) -> "Plain":
        """The model with one number of an array increased: ``moved(rhs=(0, 0.5))``."""
        fields = {}
        for name, (place, step) in arrays.items():
            fields[name] = getattr(self, name).astype(float).copy()
            fields[name][place] += step
        return replace(self, **fields)

    def model(self) -> IndexedModel:
        """The model of the package."""
        variables = tuple(
            Variable(name, float(low), float(high), VariableKind.INTEGER if whole else VariableKind.CONTINUOUS)
            for name, low, high, whole in zip(self.columns, self.low, self.high, self.integer, strict=False)
        )
        names = [variable.name for variable in variables]
        rows = tuple(
            Row(name, dict(zip(names, line.tolist(), strict=True)), RELATIONS[int(relation)], float(rhs))
            for name, line, relation, rhs in zip(self.rows, self.matrix, self.relations, self.rhs, strict=False)
        )
        objective = Objective(dict(zip(names, self.cost.tolist(), strict=True)), self.constant)
        sense = Sense.MINIMIZE if self.sign > 0 else Sense.MAXIMIZE
        return group_by_names(IndexedModel.from_records(variables, rows, objective, sense))
