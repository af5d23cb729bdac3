"""Building blocks of a problem: expressions over the function's arguments, with optional types."""

from typing import Any, Self

# By name: whether it is an array, and whether it is never below zero; None where reading the expression tells.
TYPES: dict[str, tuple[bool, bool]] = {
    "number": (False, False),
    "array": (True, False),
    "nonnegative number": (False, True),
    "nonnegative array": (True, True),
}
KEYS = {"expression", "type"}


class Primitive(str):
    """An expression whose type is told; one that is a plain text is read for what it may be.

    Attributes:
        type: Name of its type, one of ``TYPES``.
    """

    type: str

    @classmethod
    def make(cls, expression: str, type: str) -> Self:
        """An expression of a type."""
        primitive = cls(expression)
        primitive.type = type
        return primitive

    @property
    def is_array(self) -> bool:
        """True if it comes to an array; otherwise to a number."""
        return TYPES[self.type][0]

    @property
    def is_nonnegative(self) -> bool:
        """True if it is never below zero."""
        return TYPES[self.type][1]


def read_primitive(value: Any) -> str:
    """A building block as ``problem.yaml`` has it: a text, or a mapping with ``expression`` and ``type``.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or set(value) != KEYS or not isinstance(value["expression"], str):
        raise ValueError("a primitive is an expression, or {expression: ..., type: ...}")
    if value["type"] not in TYPES:
        raise ValueError(f"the type of a primitive is one of {', '.join(TYPES)}, not {value['type']!r}")
    return Primitive.make(value["expression"], value["type"])
