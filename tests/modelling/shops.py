"""A small drawn model of a shop, as numbers and as a model of the package, and changes of its numbers.

A model makes two goods, with whole batches of a third, and opens up to two lines. Most drawn models have an optimum at
which several rows bind, because a sum of rows is their objective.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st

from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations import ModelSession
from tests.modelling.enumeration import RELATIONS, Plain

COLUMNS = ("make[a]", "make[b]", "batch", "open[a]", "open[b]")
ROWS = ("room[p]", "room[q]", "need", "tie")
MAKE, BATCH, OPEN = [0, 1], [2], [3, 4]
ROOM, NEED, TIE = [0, 1], [2], [3]
SENSES = {1: "minimize", -1: "maximize"}
small = st.integers(-2, 3)


@dataclass(frozen=True, eq=False)
class Shop(Plain):
    """The model as numbers, with a second objective."""

    waste: np.ndarray = field(default_factory=lambda: np.zeros(5))
    columns: tuple[str, ...] = COLUMNS
    rows: tuple[str, ...] = ROWS

    def model(self) -> IndexedModel:
        """The model of the package, with the stock of rooms and the margins of goods as data."""
        builder = IndexedModelBuilder("shop")
        builder.add_set("good", ["a", "b"])
        builder.add_set("kind", ["p", "q"], is_ordered=True)
        builder.add_parameter("stock", ["kind"], self.rhs[ROOM], unit="t")
        builder.add_parameter("margin", ["good"], self.cost[MAKE], unit="EUR")
        low, high = self.low, self.high
        make = builder.add_variables("make", ["good"], low=low[MAKE], high=high[MAKE], unit="t")
        batch = builder.add_variables("batch", low=low[BATCH], high=high[BATCH], kind="integer")
        lines = builder.add_variables("open", ["good"], high=1, kind="integer")
        every = [*make, *batch, *lines]
        for name, sets, places, rhs in (
            ("room", ["kind"], ROOM, builder.cells("stock")),
            ("need", [], NEED, float(self.rhs[2])),
            ("tie", [], TIE, float(self.rhs[3])),
        ):
            builder.add_rows(
                name,
                sets,
                RELATIONS[int(self.relations[places[0]])],
                rows=np.repeat(np.arange(len(places)), 5),
                columns=every * len(places),
                values=self.matrix[places].ravel(),
                rhs=rhs,
            )
        sense = SENSES[self.sign]
        builder.set_objective("profit", sense, make, builder.cells("margin"), constant=self.constant, unit="EUR")
        builder.set_objective("profit", sense, every[2:], self.cost[2:])
        builder.set_objective("waste", "minimize", every, self.waste, unit="kg")
        return builder.build()

    def session(self) -> ModelSession:
        """A session on the model."""
        return ModelSession(self.model())


@st.composite
def shops(draw: st.DrawFn) -> Shop:
    """A feasible model whose optimum often binds several rows."""
    high = np.array([draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3)), 1, 1], dtype=float)
    point = np.array([draw(st.integers(0, int(end))) for end in high], dtype=float)
    matrix = np.array([[draw(small) for _ in range(5)] for _ in range(4)], dtype=float)
    relations = np.array([-1, -1, 1, 0])
    sign = draw(st.sampled_from([1, -1]))
    cost = np.array([draw(small) for _ in range(5)], dtype=float)
    if draw(st.integers(0, 2)):
        weights = np.array([draw(st.integers(0, 2)) for _ in range(4)]) * np.array([-1, -1, 1, 1])
        cost = sign * (weights @ matrix)
    room = np.array([draw(st.sampled_from([0, 0, 1])) for _ in range(3)] + [0])
    return Shop(
        sign=sign,
        cost=cost,
        low=np.zeros(5),
        high=high,
        matrix=matrix,
        relations=relations,
        rhs=matrix @ point - relations * room,
        integer=np.array([False, False, True, True, True]),
        constant=float(draw(st.integers(-3, 3))),
        waste=np.array([draw(st.integers(0, 3)) for _ in range(5)], dtype=float),
    )


def fixed_shop(sign: int, gains: bool = True) -> Shop:
    """A shop in which the rooms and the tie bind, as goods gain; or the need, as they cost."""
    return Shop(
        sign=sign,
        cost=sign * np.array([-3.0, -2, -4, 1, 2] if gains else [1.0, 3, 1, 0, 2]),
        low=np.zeros(5),
        high=np.array([4.0, 4, 3, 1, 1] if gains else [2.0, 2, 3, 1, 1]),
        matrix=np.array([[2.0, 1, 1, -1, 0], [1, 3, 1, 0, -2], [1, 1, 0, 0, 1], [0, 0, 1, -1, -1]]),
        relations=np.array([-1, -1, 1, 0]),
        rhs=np.array([4.0, 5, 1, 0] if gains else [5.0, 3, 3, -1]),
        integer=np.array([False, False, True, True, True]),
        constant=1.0,
        waste=np.array([1.0, 0, 2, 1, 3]),
    )


def close(value: float | None, truth: float | None) -> bool:
    """Equal within the tolerance of HiGHS for integer models (1e-6 a row) times the largest costs, or both missing."""
    if value is None or truth is None:
        return value is None and truth is None
    return value == pytest.approx(truth, rel=1e-6, abs=2e-5)


def shares(percent: float) -> Callable[[np.ndarray], np.ndarray]:
    """Add a share of the size of each number, in per cent."""
    return lambda values: values + np.abs(values) * percent / 100


def plus(step: float) -> Callable[[np.ndarray], np.ndarray]:
    """Add a number."""
    return lambda values: values + step


def times(factor: float) -> Callable[[np.ndarray], np.ndarray]:
    """Multiply by a number."""
    return lambda values: values * factor


def bounds(places: list[int], low: float | None, high: float | None) -> Callable[[Plain], Plain]:
    """Set both bounds, or one."""

    def change(shop: Plain) -> Plain:
        for name, value in (("low", low), ("high", high)):
            shop = shop if value is None else shop.changed(name, places, value)
        return shop

    return change


def array(name: str, places: object, change: object) -> Callable[[Plain], Plain]:
    """Change numbers of an array."""
    return lambda shop: shop.changed(name, places, change)
