"""Enumerations of models (senses, relations, kinds), and validation of figures and names."""

import math
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from numbers import Real
from typing import TypeVar

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import number, quoted

INFINITY = math.inf
# Largest coefficient that HiGHS accepts.
MAX_FIGURE = 1e15
# HiGHS treats a bound of this size as infinite.
NO_BOUND = 1e20

Option = TypeVar("Option", bound=StrEnum)


def check_finite(value: object, what: str) -> float:
    """Return the number. If it is not finite, raise an error with its name."""
    number_value = _to_float(value, what)
    if not abs(number_value) <= MAX_FIGURE:
        raise ModellingError(
            f"{what} is {number(number_value)}: expected a finite number, at most {MAX_FIGURE:g} in size"
        )
    return number_value


def check_bound(value: object, what: str) -> float:
    """Return the bound, which is infinite from ``NO_BOUND`` on. If it is invalid, raise an error with its name."""
    number_value = _to_float(value, what)
    if math.isnan(number_value):
        raise ModellingError(f"{what} is nan: expected a number or infinity")
    if abs(number_value) < NO_BOUND:
        return number_value
    return math.copysign(INFINITY, number_value)


def check_terms(terms: object, where: str) -> dict[str, float]:
    """Return a copy of the coefficients by variable name. An invalid one raises an error."""
    if not isinstance(terms, Mapping):
        raise ModellingError(
            f"{where}: its terms are a {type(terms).__name__}: expected a coefficient by variable name"
        )
    what = f"{where}: the coefficient of"
    return {
        name: value if is_plain_figure(value) else check_finite(value, f"{what} {quoted(str(name))}")
        for name, value in terms.items()
    }


def is_plain_figure(value: object) -> bool:
    """Return True for a finite float of permitted size, which needs no further check."""
    return type(value) is float and -MAX_FIGURE <= value <= MAX_FIGURE


def is_plain_text(text: object) -> bool:
    """Return True for an ASCII text, which needs no further check."""
    return type(text) is str and text.isascii()


def check_choice(options: type[Option], value: object, what: str) -> Option:
    """Return the enumeration member of a value. An unknown value raises an error that lists all members."""
    try:
        return options(str(value))
    except ValueError:
        choices = ", ".join(repr(str(option)) for option in options)
        raise ModellingError(f"{what} is {quoted(str(value))}: expected one of {choices}") from None


def require_name(name: object, what: str) -> None:
    """Raise an error for a name that is empty or not a text."""
    require_text((name,), what)
    if not str(name).strip():
        raise ModellingError(f"{what} has the name {quoted(str(name))}: expected a text that is not empty")


def require_text(texts: Iterable[object], where: str) -> None:
    """Raise an error for a value that is not a text, or that a file cannot contain."""
    for text in texts:
        if not isinstance(text, str):
            raise ModellingError(f"{where}: a name, unit or meaning is a {type(text).__name__}: expected a text")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ModellingError(
                f"{where}: {quoted(text)} contains half a character (a lone surrogate): remove it"
            ) from None


def check_unique(names: Iterable[str], what: str) -> None:
    """Raise an error for a name that occurs twice."""
    listed = list(names)
    if len(set(listed)) == len(listed):
        return
    seen: set[str] = set()
    for name in listed:
        if name in seen:
            raise ModellingError(f"two {what} have the name {quoted(name)}: rename one, because names must be unique")
        seen.add(name)


def round_digits(value: float, digits: int) -> float:
    """Round to a number of significant digits."""
    return float(f"{value:.{digits}g}") + 0.0


def free_name(name: str, taken: set[str]) -> str:
    """Return an unused name and mark it as used."""
    free = f"{name}'" if name in taken else name
    # Counting from the size keeps files with many rows of one name fast.
    number = len(taken)
    while free in taken:
        free, number = f"{name}'{number}", number + 1
    taken.add(free)
    return free


def numbered_name(name: str, taken: Collection[str], between: str = "") -> str:
    """Return an unused name, with a number from 2 on at its end if necessary."""
    free, number_at_end = name, 1
    while free in taken:
        number_at_end += 1
        free = f"{name}{between}{number_at_end}"
    return free


def _to_float(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ModellingError(f"{what} is {quoted(str(value))}: expected a number")
    try:
        return float(value)
    except OverflowError:
        # The whole number exceeds the range of doubles.
        return INFINITY if value == abs(value) else -INFINITY


class Sense(StrEnum):
    """Direction of the objective."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

    @property
    def sign(self) -> float:
        """Factor that turns the objective into a cost: 1 for minimisation, -1 for maximisation."""
        if self is Sense.MINIMIZE:
            return 1.0
        return -1.0

    @property
    def opposite(self) -> "Sense":
        """The other direction."""
        if self is Sense.MINIMIZE:
            return Sense.MAXIMIZE
        return Sense.MINIMIZE


class VariableKind(StrEnum):
    """Domain of a variable between its bounds. A binary variable is an integer from 0 to 1."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"


class Relation(StrEnum):
    """Relation of the left side of a row to its right side."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="
