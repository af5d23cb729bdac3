"""Vectors of figures that refer to data cells, so that a change of data changes the model."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ModellingError

Vector = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Links:
    """References to data cells. ``factors[k]`` times cell ``cells[k]`` is added to the figure at ``places[k]``."""

    # ``(k,)`` positions in the vector. A position may occur several times.
    places: Positions
    # ``(k,)`` positions in the vector of all cells of the model.
    cells: Positions
    # ``(k,)`` factors.
    factors: Vector

    @classmethod
    def none(cls) -> Self:
        """Return an empty set of references."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))

    def __len__(self) -> int:
        return len(self.places)

    def shift(self, places: int) -> Self:
        """Return the references shifted to later positions of the vector."""
        return replace(self, places=self.places + places)

    def keep(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the references that a mask selects."""
        return replace(self, places=self.places[chosen], cells=self.cells[chosen], factors=self.factors[chosen])

    def append(self, after: "Links") -> Self:
        """Return these references followed by others."""
        return replace(
            self,
            places=np.concatenate([self.places, after.places]),
            cells=np.concatenate([self.cells, after.cells]),
            factors=np.concatenate([self.factors, after.factors]),
        )


@dataclass(frozen=True, eq=False)
class LinkedVector:
    """Figures of a model: numbers, to which factors times data cells are added."""

    # ``(n,)`` part that does not depend on data. It may be infinite.
    base: Vector
    links: Links

    @classmethod
    def of_numbers(cls, values: Vector) -> Self:
        """Return figures without references."""
        return cls(np.asarray(values, dtype=float), Links.none())

    def __len__(self) -> int:
        return len(self.base)

    @cached_property
    def is_linked(self) -> NDArray[np.bool_]:
        """Return a ``(n,)`` mask of the figures that refer to data."""
        mask = np.zeros(len(self.base), dtype=bool)
        mask[self.links.places] = True
        return mask

    def evaluate(self, cells: Vector) -> Vector:
        """Return the ``(n,)`` figures for the given cells."""
        if not len(self.links):
            return self.base
        added = np.bincount(self.links.places, self.links.factors * cells[self.links.cells], len(self.base))
        return np.asarray(self.base + added)

    def with_values(self, places: Positions, values: Vector | float) -> Self:
        """Return the vector with numbers at some positions, which then have no references."""
        base = self.base.copy()
        base[places] = values
        replaced = np.zeros(len(base), dtype=bool)
        replaced[places] = True
        return replace(self, base=base, links=self.links.keep(~replaced[self.links.places]))

    def select(self, chosen: Positions) -> Self:
        """Return the figures at some positions, by increasing position."""
        is_chosen = np.zeros(len(self.base), dtype=bool)
        is_chosen[chosen] = True
        links = self.links.keep(is_chosen[self.links.places])
        places = np.cumsum(is_chosen)[links.places] - 1
        return replace(self, base=self.base[chosen], links=replace(links, places=places))

    def append(self, after: "LinkedVector") -> Self:
        """Return this vector followed by another."""
        links = self.links.append(after.links.shift(len(self.base)))
        return replace(self, base=np.concatenate([self.base, after.base]), links=links)


@dataclass(frozen=True, eq=False)
class LinkedFigures:
    """Figures for a builder: numbers plus factors times cells of one parameter.

    ``IndexedModelBuilder.cells`` creates them; ``-figures``, ``2 * figures`` and ``figures + 3`` create others.
    """

    # Name of the parameter.
    parameter: str
    # ``(k,)`` positions among the parameter's cells. -1 means a figure without a reference.
    cells: Positions
    # ``(k,)`` factors.
    factors: Vector
    # ``(k,)`` constants that are added.
    base: Vector

    # An array on the left side leaves the product to this class, instead of an array of products.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        if not len(self.cells) == len(self.factors) == len(self.base):
            raise ModellingError(
                f"figures of '{self.parameter}' have {len(self.cells)} cells, {len(self.factors)} factors"
            )

    def __len__(self) -> int:
        return len(self.cells)

    def __mul__(self, factor: float | Vector) -> Self:
        return replace(self, factors=self.factors * factor, base=self.base * factor)

    __rmul__ = __mul__

    def __neg__(self) -> Self:
        return self * -1.0

    def __add__(self, number: float | Vector) -> Self:
        return replace(self, base=self.base + number)
