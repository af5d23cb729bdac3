"""Model in mathematical notation, as LaTeX (needs ``amsmath`` and ``amssymb``) and as HTML with MathML."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from html import escape

from oragent.modelling.data.display import number, plain
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Variable
from oragent.modelling.data.model_values import Sense


class Word(Enum):
    """Kind of a token."""

    # Untrusted name.
    NAME = auto()
    NUMBER = auto()
    # ``+`` or ``-``.
    SIGN = auto()
    # ``<=``, ``>=``, ``=`` or "in".
    RELATION = auto()
    # The set Z, or {0, 1}.
    SET = auto()
    # Fixed words: min, max, subject to.
    TEXT = auto()


@dataclass(frozen=True)
class FormulaToken:
    """Smallest part of a line."""

    word: Word
    text: str


LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "|": r"\textbar{}",
}
LATEX_SYMBOLS = {
    "<=": r"\le",
    ">=": r"\ge",
    "=": "=",
    "in": r"\in",
    "Z": r"\mathbb{Z}",
    "R": r"\mathbb{R}",
    "{0, 1}": r"\{0, 1\}",
    "min": r"\min\quad",
    "max": r"\max\quad",
    "+": "+",
    "-": "-",
}
MATHML_SYMBOLS = {"<=": "≤", ">=": "≥", "=": "=", "in": "∈", "Z": "ℤ", "R": "ℝ", "{0, 1}": "{0, 1}", "+": "+", "-": "−"}
# Tags of kinds of tokens. All other kinds are ``mi``.
MATHML_TAGS = {Word.NUMBER: "mn", Word.SIGN: "mo", Word.RELATION: "mo"}


def formula_lines(model: IndexedModel) -> Iterator[tuple[str, list[FormulaToken]]]:
    """Return the lines for objective, rows and domains of variables. Each row has its untrusted name and its tokens."""
    goal = FormulaToken(Word.TEXT, "min" if model.sense is Sense.MINIMIZE else "max")
    yield "", [goal, *_sum_tokens(model.objective_record.terms, model.objective_record.constant)]
    for row in model.row_records:
        relation = FormulaToken(Word.RELATION, str(row.relation))
        yield row.name, [*_sum_tokens(row.terms), relation, *_figure_tokens(row.rhs)]
    yield from (("", list(_domain_tokens(variable))) for variable in model.variable_records)


def _sum_tokens(terms: Mapping[str, float], constant: float = 0.0) -> Iterator[FormulaToken]:
    shown = [(name, value) for name, value in terms.items() if value]
    for index, (name, value) in enumerate(shown):
        if index or value < 0:
            yield FormulaToken(Word.SIGN, "-" if value < 0 else "+")
        if abs(value) != 1:
            yield FormulaToken(Word.NUMBER, number(abs(value)))
        yield FormulaToken(Word.NAME, name)
    if constant and shown:
        yield FormulaToken(Word.SIGN, "-" if constant < 0 else "+")
        yield FormulaToken(Word.NUMBER, number(abs(constant)))
    elif not shown:
        yield from _figure_tokens(constant)


def _figure_tokens(value: float) -> Iterator[FormulaToken]:
    if value < 0:
        yield FormulaToken(Word.SIGN, "-")
    yield FormulaToken(Word.NUMBER, number(abs(value)))


def _domain_tokens(variable: Variable) -> Iterator[FormulaToken]:
    within = FormulaToken(Word.RELATION, "in")
    if variable.is_binary:
        yield from (FormulaToken(Word.NAME, variable.name), within, FormulaToken(Word.SET, "{0, 1}"))
        return
    if math.isfinite(variable.low):
        yield from (*_figure_tokens(variable.low), FormulaToken(Word.RELATION, "<="))
    yield FormulaToken(Word.NAME, variable.name)
    if math.isfinite(variable.high):
        yield from (FormulaToken(Word.RELATION, "<="), *_figure_tokens(variable.high))
    if variable.is_integer:
        yield from (within, FormulaToken(Word.SET, "Z"))
    elif not math.isfinite(variable.low) and not math.isfinite(variable.high):
        yield from (within, FormulaToken(Word.SET, "R"))


def to_latex(model: IndexedModel) -> str:
    """Write a model as an ``align*`` environment, with the names of the rows."""
    model.require_linear("this form in LaTeX")
    lines = []
    for label, tokens in formula_lines(model):
        lines.append(f"& {' '.join(map(_latex_token, tokens))}" + (f" && {_latex_text(label)}" if label else ""))
    body = " \\\\\n".join(lines)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def _latex_token(token: FormulaToken) -> str:
    if token.word is Word.NAME:
        return _latex_text(token.text)
    if token.word is Word.NUMBER:
        mantissa, _, exponent = token.text.partition("e")
        if exponent:
            return f"{mantissa} \\cdot 10^{{{int(exponent)}}}"
        return mantissa
    return LATEX_SYMBOLS[token.text]


def _latex_text(name: str) -> str:
    return "\\text{" + "".join(LATEX_ESCAPES.get(letter, letter) for letter in plain(name)) + "}"


def to_mathml(model: IndexedModel) -> str:
    """Write a model as HTML paragraphs, one per line of the model, with the name of the row at the end.

    Each term is its own ``<math>`` element, so that a browser breaks long lines between terms.
    """
    model.require_linear("this form in MathML")
    paragraphs = []
    for label, tokens in formula_lines(model):
        shown = f' <span class="label">{escape(plain(label))}</span>' if label else ""
        terms = ("".join(map(_mathml_token, part)) for part in _split_terms(tokens))
        paragraphs.append(f"<p>{' '.join(f'<math><mrow>{term}</mrow></math>' for term in terms)}{shown}</p>")
    return f"<div>{''.join(paragraphs)}</div>"


def _split_terms(tokens: Sequence[FormulaToken]) -> Iterator[list[FormulaToken]]:
    """Return the tokens up to each sign or relation. A line may break before it."""
    part: list[FormulaToken] = []
    for token in tokens:
        begins = token.word in (Word.SIGN, Word.RELATION) and part and part[-1].word is not Word.RELATION
        if begins or (part and part[-1].word is Word.TEXT):
            yield part
            part = []
        part.append(token)
    yield part


def _mathml_token(token: FormulaToken) -> str:
    tag = MATHML_TAGS.get(token.word, "mi")
    text = plain(token.text) if token.word is Word.NAME else MATHML_SYMBOLS.get(token.text, token.text)
    return f"<{tag}>{escape(text)}</{tag}>"
