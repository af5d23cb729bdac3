"""A place in a program at which it can be varied."""

import ast
from dataclasses import dataclass, field
from typing import NamedTuple

from oragent.search.genetics.expressions import Facts

__all__ = ["Block", "Context", "Site", "Sites"]

Block = tuple[list[ast.stmt], ast.stmt]  # a statement, and the statements that it stands among


class Context(NamedTuple):
    """What is known of a place from where it stands."""

    visible: tuple[str, ...]  # names that are bound wherever the expression is evaluated
    outer: bool = True  # what is combined with it is combined, element by element, with the result
    root: bool = False  # it is the result itself
    ordinal: bool = False  # only the order of its values counts
    factor: bool = False  # it scales the result as a whole
    structural: bool = False  # its integers are no values
    assigned: str = ""  # the variable that it goes into


@dataclass(frozen=True)
class Site:
    """A place in a syntax tree that holds an expression.

    Attributes:
        parent, field, index: ``parent.field`` holds it, or ``parent.field[index]``.
        facts: what is known of the names around it.
        block: the statements among which its own stands, and its own.
        returned: it is the whole of what the evolved function returns.
    """

    parent: ast.AST
    field: str
    index: int | None
    facts: Facts
    block: Block
    context: Context
    returned: bool = False

    @property
    def node(self) -> ast.expr:
        """The expression that stands here now."""
        held = getattr(self.parent, self.field)
        found: ast.expr = held if self.index is None else held[self.index]
        return found

    def put(self, node: ast.expr) -> None:
        """Put another expression here."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node

    @property
    def divides(self) -> bool:
        """Whether something is divided by what stands here."""
        return isinstance(self.parent, ast.BinOp) and isinstance(self.parent.op, ast.Div) and self.field == "right"

    @property
    def shape(self) -> int | None:
        """0 for a scalar, 1 for an array, None if unknown; what the evolved function returns is taken for an array."""
        shape = self.facts.shape(self.node)
        return 1 if shape is None and self.returned else shape


@dataclass
class Sites:
    """All the places of a program.

    Attributes:
        numbers: sub-expressions that stand for numbers, the whole before its parts.
        constants: numeric constants that are values.
        compares: comparisons of numbers that choose a value; those that choose what is done next are left alone.
    """

    numbers: list[Site] = field(default_factory=list)
    constants: list[Site] = field(default_factory=list)
    compares: list[ast.Compare] = field(default_factory=list)
