"""Which sentence of the problem stands behind which row of a program: that of a check that says the same."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from oragent.milp.model import Milp, Relation

TURNED = {"<=": ">=", ">=": "<=", "=": "="}
SIGNS = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">=", "=": "=", "==": "="}


class Check(Protocol):
    """What is known of a check: left side less right side by column, relation, right side, sentence."""

    @property
    def terms(self) -> Mapping[str, float]:
        """Left side less right side, by column."""

    @property
    def relation(self) -> str:
        """Relation, such as ``<=``."""

    @property
    def rhs(self) -> float:
        """Right side."""

    @property
    def sentence(self) -> str:
        """Sentence of the problem behind it."""


Form = tuple[tuple[tuple[str, float], ...], str, float]


def sentences_behind(milp: Milp, checks: Sequence[Check]) -> dict[str, str]:
    """The sentence of the check that is a row's, up to a factor, by the row's name; rows without one are left out."""
    found = {
        form: check.sentence
        for check in reversed(checks)
        if check.sentence and check.relation in SIGNS
        and (form := _form(check.terms, SIGNS[check.relation], check.rhs)) is not None
    }  # fmt: skip
    forms = {row.name: _form(row.terms, str(Relation(row.relation)), row.rhs) for row in milp.rows}
    return {name: found[form] for name, form in forms.items() if form in found}


def _form(terms: Mapping[str, float], relation: str, rhs: float) -> Form | None:
    """A row divided by its largest coefficient, in the order of its columns; None of an empty one."""
    kept = sorted((name, value) for name, value in terms.items() if value)
    if not kept:
        return None
    largest = max((value for _, value in kept), key=abs)
    scaled = tuple((name, _rounded(value / largest)) for name, value in kept)
    return scaled, relation if largest > 0 else TURNED[relation], _rounded(rhs / largest)


def _rounded(value: float) -> float:
    return float(f"{value:.9g}") + 0.0
