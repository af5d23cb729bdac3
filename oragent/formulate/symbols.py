"""Stand-ins for the values of variables, which add up to linear expressions and refuse everything else.

A checker that is called with them tells its rows. What is not linear, or asks how large a value is, raises: then there
are no rows, and nothing is made up.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

NOT_LINEAR = "a check with variables must be linear: it may not {what} them"


class Affine:
    """A linear expression.

    Attributes:
        terms: Coefficient by name of the column.
        constant: Added to the terms.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, terms: Mapping[str, float], constant: float = 0.0) -> None:
        self.terms, self.constant = dict(terms), float(constant)

    def __add__(self, other: Any) -> "Affine":
        if not isinstance(other, Affine):
            return Affine(self.terms, self.constant + float(other))
        terms = dict(self.terms)
        for name, value in other.terms.items():
            terms[name] = terms.get(name, 0.0) + value
        return Affine(terms, self.constant + other.constant)

    __radd__ = __add__

    def __mul__(self, other: Any) -> "Affine":
        if isinstance(other, Affine):
            if other.terms and self.terms:
                raise TypeError(NOT_LINEAR.format(what="multiply"))
            return self * other.constant if not other.terms else other * self.constant
        factor = float(other)
        return Affine({name: factor * value for name, value in self.terms.items()}, factor * self.constant)

    __rmul__ = __mul__

    def __neg__(self) -> "Affine":
        return self * -1.0

    def __pos__(self) -> "Affine":
        return self

    def __sub__(self, other: Any) -> "Affine":
        return self + (-other if isinstance(other, Affine) else -float(other))

    def __rsub__(self, other: Any) -> "Affine":
        return -self + float(other)

    def __truediv__(self, other: Any) -> "Affine":
        if isinstance(other, Affine):
            raise TypeError(NOT_LINEAR.format(what="divide by"))
        return self * (1.0 / float(other))

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(NOT_LINEAR.format(what="compare or round"))

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __round__ = __abs__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # equality is refused


def symbolic(values: Any, columns: Any) -> Any:
    """The values with a symbol in every place that ``columns`` names; others stay numbers."""
    if isinstance(columns, str):
        return Affine({columns: 1.0})
    if isinstance(columns, dict) and isinstance(values, dict):
        return {key: symbolic(values.get(key), item) for key, item in columns.items()}
    if isinstance(columns, list) and isinstance(values, list):
        return [symbolic(value, item) for value, item in zip(values, columns, strict=False)]
    return values
