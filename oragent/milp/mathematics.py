"""A model in mathematical notation: what LaTeX and MathML have in common.

A model is turned into lines of tokens once; each notation says how a token is written.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from oragent.milp.model import Milp, Sense, Variable
from oragent.milp.plain import number


class Word(Enum):
    """What a token is."""

    NAME = auto()  # foreign text
    NUMBER = auto()
    SIGN = auto()  # + or -
    RELATION = auto()  # <=, >=, =, in
    SET = auto()  # Z, or {0, 1}
    TEXT = auto()  # ours: min, max, subject to


@dataclass(frozen=True)
class Token:
    """The smallest part of a line."""

    word: Word
    text: str


@dataclass(frozen=True)
class FormulaLine:
    """A line of a model: objective, row or domain.

    Attributes:
        label: Name of the row; empty for the others. Foreign text.
        tokens: From left to right.
    """

    label: str
    tokens: tuple[Token, ...]


def lines(milp: Milp) -> Iterator[FormulaLine]:
    """Objective, rows, then the domain of every variable."""
    goal = "min" if milp.sense is Sense.MINIMIZE else "max"
    objective = tuple(_sum(milp.objective.terms, milp.objective.constant))
    yield FormulaLine("", (Token(Word.TEXT, goal), *objective))
    for row in milp.rows:
        relation = Token(Word.RELATION, str(row.relation))
        yield FormulaLine(row.name, (*_sum(row.terms), relation, *_figure(row.rhs)))
    for variable in milp.variables:
        yield FormulaLine("", tuple(_domain(variable)))


def _sum(terms: Mapping[str, float], constant: float = 0.0) -> Iterator[Token]:
    shown = [(name, value) for name, value in terms.items() if value]
    for place, (name, value) in enumerate(shown):
        if place or value < 0:
            yield Token(Word.SIGN, "-" if value < 0 else "+")
        if abs(value) != 1:
            yield Token(Word.NUMBER, number(abs(value)))
        yield Token(Word.NAME, name)
    if constant and shown:
        yield Token(Word.SIGN, "-" if constant < 0 else "+")
        yield Token(Word.NUMBER, number(abs(constant)))
    elif not shown:
        yield from _figure(constant)


def _figure(value: float) -> Iterator[Token]:
    if value < 0:
        yield Token(Word.SIGN, "-")
    yield Token(Word.NUMBER, number(abs(value)))


def _domain(variable: Variable) -> Iterator[Token]:
    within = Token(Word.RELATION, "in")
    if variable.is_binary:
        yield from (Token(Word.NAME, variable.name), within, Token(Word.SET, "{0, 1}"))
        return
    if math.isfinite(variable.low):
        yield from (*_figure(variable.low), Token(Word.RELATION, "<="))
    yield Token(Word.NAME, variable.name)
    if math.isfinite(variable.high):
        yield from (Token(Word.RELATION, "<="), *_figure(variable.high))
    if variable.is_integer:
        yield from (within, Token(Word.SET, "Z"))
    elif not math.isfinite(variable.low) and not math.isfinite(variable.high):
        yield from (within, Token(Word.SET, "R"))
