"""The notation says what the model says, and a name in it stays a name."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.convert.mathematics import (
    MATHML_SYMBOLS,
    FormulaToken,
    Word,
    formula_lines,
    to_latex,
    to_mathml,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from tests.modelling.models import models, steel

INF = float("inf")


def small(name: str = "x", row: str = "cap") -> IndexedModel:
    variables = (
        Variable(name, -2, 5),
        Variable("n", kind=VariableKind.INTEGER),
        Variable("b", 0, 1, VariableKind.INTEGER),
    )
    rows = (Row(row, {name: -1, "n": 2.5, "b": 1e-12}, Relation.AT_LEAST, -3),)
    return IndexedModel.from_records(
        (*variables, Variable("f", -float("inf"))), rows, Objective({"n": 1, name: -4}, 7), Sense.MAXIMIZE
    )


def test_latex() -> None:
    assert to_latex(small()) == (
        "\\begin{align*}\n"
        "& \\max\\quad - 4 \\text{x} + \\text{n} + 7 \\\\\n"
        "& - \\text{x} + 2.5 \\text{n} + 1 \\cdot 10^{-12} \\text{b} \\ge - 3 && \\text{cap} \\\\\n"
        "& - 2 \\le \\text{x} \\le 5 \\\\\n"
        "& 0 \\le \\text{n} \\in \\mathbb{Z} \\\\\n"
        "& \\text{b} \\in \\{0, 1\\} \\\\\n"
        "& \\text{f} \\in \\mathbb{R}\n"
        "\\end{align*}\n"
    )


@pytest.mark.parametrize(
    ("low", "high", "kind", "line"),
    [
        (2, 7, VariableKind.CONTINUOUS, "2 <= x <= 7"),
        (-INF, 7, VariableKind.CONTINUOUS, "x <= 7"),
        (2, INF, VariableKind.CONTINUOUS, "2 <= x"),
        (-INF, INF, VariableKind.CONTINUOUS, "x in R"),
        (-INF, 7, VariableKind.INTEGER, "x <= 7 in Z"),
        (-INF, INF, VariableKind.INTEGER, "x in Z"),
        (0, 1, VariableKind.INTEGER, "x in {0, 1}"),
        (0, 1, VariableKind.CONTINUOUS, "0 <= x <= 1"),
    ],
)
def test_a_domain_has_the_bounds_and_the_kind_of_the_variable(
    low: float, high: float, kind: VariableKind, line: str
) -> None:
    milp = IndexedModel.from_records([Variable("x", low, high, kind)], [], Objective({"x": 1}), Sense.MINIMIZE)
    _, tokens = list(formula_lines(milp))[-1]
    assert " ".join(token.text for token in tokens) == line


def test_mathml_shows_every_row_and_variable() -> None:
    tree = ET.fromstring(to_mathml(steel()))
    texts = ["".join(line.itertext()) for line in tree.iter("p")]
    assert texts[0] == "max 25bands +30coils +29plate"  # a line can be broken at each space
    assert texts[1] == "0.005bands +0.007142857143coils +0.00625plate ≤40 hours"
    assert texts[2] == "1000 ≤bands ≤6000"


TAGS = ("div", "p", "span", "math", "mrow", "mi", "mn", "mo")
HOSTILE = ["<script>alert(1)</script>", "\\input{/etc/passwd}", "$^_&%#~{}", "\x1b[2J", '" onload="x']


@given(st.sampled_from(HOSTILE) | st.text(min_size=1).filter(str.strip))
def test_a_foreign_name_stays_a_name(name: str) -> None:
    milp = small(name if name not in "nbf" else "x", name)
    tree = ET.fromstring(to_mathml(milp))
    assert {part.tag.rpartition("}")[2] for part in tree.iter()} <= {*TAGS}
    latex = to_latex(milp)
    assert "\\input" not in latex
    assert "\x1b" not in latex
    assert latex.replace("\\{", "").count("{") == latex.replace("\\}", "").count("}")


def worth(tokens: list, point: dict[str, float]) -> float:
    """The value of a sum of tokens at a point."""
    total, sign, factor = 0.0, 1.0, None
    for token in [*tokens, FormulaToken(Word.SIGN, "+")]:
        if token.word is Word.NUMBER:
            factor = float(token.text)
        elif token.word is Word.NAME:
            total, factor = total + sign * (1.0 if factor is None else factor) * point[token.text], None
        elif token.word is Word.SIGN:
            total += sign * (factor or 0.0)
            sign, factor = -1.0 if token.text == "-" else 1.0, None
    return total


@given(models(columns=3), st.lists(st.integers(-3, 3), min_size=3, max_size=3))
def test_lines_have_the_values_of_their_sums(milp: IndexedModel, values: list[int]) -> None:
    point = dict(zip([variable.name for variable in milp.variable_records], map(float, values), strict=False))
    lines = list(formula_lines(milp))
    goal, *tokens = lines[0][1]
    assert (goal.text, lines[0][0]) == ("min" if milp.sense is Sense.MINIMIZE else "max", "")
    objective = milp.objective_record
    expected = sum(value * point[name] for name, value in objective.terms.items()) + objective.constant
    assert worth(tokens, point) == pytest.approx(expected)
    assert len(lines) == 1 + len(milp.row_records) + len(milp.variable_records)
    for row, (label, tokens) in zip(milp.row_records, lines[1:], strict=False):
        (at,) = (place for place, token in enumerate(tokens) if token.word is Word.RELATION)
        assert (label, tokens[at].text) == (row.name, str(row.relation))
        assert worth(tokens[:at], point) == pytest.approx(sum(value * point[name] for name, value in row.terms.items()))
        assert worth(tokens[at + 1 :], point) == row.rhs
    # Lines of MathML may break before each sign and relation, and nowhere else.
    for paragraph, (_, tokens) in zip(ET.fromstring(to_mathml(milp)).iter("p"), lines, strict=True):
        parts = ["".join(part.itertext()) for part in paragraph.iter("math")]
        shown = "".join(MATHML_SYMBOLS.get(token.text, token.text) for token in tokens)
        assert "".join(parts) == shown
        assert all(part[0] in "−+≤≥=∈" for part in parts[1:]) or tokens[0].word is Word.TEXT
        assert all(not set(part[1:-1]) & set("+∈") for part in parts)
