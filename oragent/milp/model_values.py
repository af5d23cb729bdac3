"""Values that models are made of: senses, relations, kinds, and checks of figures and names."""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from numbers import Real
from typing import TypeVar

from oragent._base.errors import MilpError
from oragent.milp.plain import number, quoted

INFINITY = math.inf
# HiGHS refuses coefficients beyond it
LARGEST = 1e15
# HiGHS takes a bound as large as that for none
NO_BOUND = 1e20

Option = TypeVar("Option", bound=StrEnum)


def check_finite(value: object, what: str) -> float:
    """The number, or a complaint that names it."""
    number_value = _to_float(value, what)
    if not abs(number_value) <= LARGEST:
        raise MilpError(f"{what} is {number(number_value)}: expected a finite number, at most {LARGEST:g} in size")
    return number_value


def check_bound(value: object, what: str) -> float:
    """The bound, infinite from ``NO_BOUND`` on, or a complaint that names it."""
    number_value = _to_float(value, what)
    if math.isnan(number_value):
        raise MilpError(f"{what} is nan: expected a number or infinity")
    if abs(number_value) < NO_BOUND:
        return number_value
    return math.copysign(INFINITY, number_value)


def check_terms(terms: object, where: str) -> dict[str, float]:
    """A copy of the coefficients by variable name, or a complaint."""
    if not isinstance(terms, Mapping):
        raise MilpError(f"{where}: its terms are a {type(terms).__name__}: expected a coefficient by variable name")
    what = f"{where}: the coefficient of"
    return {name: check_finite(value, f"{what} {quoted(str(name))}") for name, value in terms.items()}


def check_choice(options: type[Option], value: object, what: str) -> Option:
    """The option of that value, or a complaint that lists them."""
    try:
        return options(str(value))
    except ValueError:
        choices = ", ".join(repr(str(option)) for option in options)
        raise MilpError(f"{what} is {quoted(str(value))}: expected one of {choices}") from None


def require_name(name: object, what: str) -> None:
    """Complain of a name that is empty or no text."""
    require_text((name,), what)
    if not str(name).strip():
        raise MilpError(f"{what} has the name {quoted(str(name))}: expected a text that is not empty")


def require_text(texts: Iterable[object], where: str) -> None:
    """Complain of a text that is none, or that no file can hold."""
    for text in texts:
        if not isinstance(text, str):
            raise MilpError(f"{where}: a name, unit or meaning is a {type(text).__name__}: expected a text")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise MilpError(f"{where}: {quoted(text)} holds half a character (a lone surrogate): remove it") from None


def check_unique(names: Iterable[str], what: str) -> None:
    """Complain of a name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise MilpError(f"two {what} have the name {quoted(name)}: rename one, as names tell them apart")
        seen.add(name)


def _to_float(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise MilpError(f"{what} is {quoted(str(value))}: expected a number")
    try:
        return float(value)
    except OverflowError:
        # A whole number beyond the doubles.
        return math.copysign(INFINITY, 1 if value > 0 else -1)  # type: ignore[operator]  # whole numbers compare


class Sense(StrEnum):
    """Which way the objective is to go."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

    @property
    def sign(self) -> float:
        """1 where less is better, -1 where more is: the factor that turns the objective into a cost."""
        if self is Sense.MINIMIZE:
            return 1.0
        return -1.0


class VariableKind(StrEnum):
    """Which values a variable may take between its bounds; a binary variable is an integer from 0 to 1."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"


class Relation(StrEnum):
    """How the left side of a row stands to its right side."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="
