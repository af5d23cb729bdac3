"""Building blocks of a problem: expressions over the function's arguments, which may say what they come to."""

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
    def of(cls, expression: str, type: str) -> Self:
        """An expression of a type."""
        made = cls(expression)
        made.type = type
        return made

    @property
    def is_array(self) -> bool:
        """Whether it comes to an array; otherwise to a number."""
        return TYPES[self.type][0]

    @property
    def is_nonnegative(self) -> bool:
        """Whether it is never below zero."""
        return TYPES[self.type][1]


def read(told: Any) -> str:
    """A building block as ``problem.yaml`` has it: a text, or a mapping with ``expression`` and ``type``.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(told, str):
        return told
    if not isinstance(told, dict) or set(told) != KEYS or not isinstance(told["expression"], str):
        raise ValueError("a primitive is an expression, or {expression: ..., type: ...}")
    if told["type"] not in TYPES:
        raise ValueError(f"the type of a primitive is one of {', '.join(TYPES)}, not {told['type']!r}")
    return Primitive.of(told["expression"], told["type"])
