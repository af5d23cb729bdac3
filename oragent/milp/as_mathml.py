"""A model as HTML with MathML, which browsers show without any script."""

from collections.abc import Iterator, Sequence
from html import escape

from oragent.milp.mathematics import FormulaLine, Token, Word, lines
from oragent.milp.model import Milp
from oragent.milp.plain import plain

FIXED = {"<=": "≤", ">=": "≥", "=": "=", "in": "∈", "Z": "ℤ", "R": "ℝ", "{0, 1}": "{0, 1}", "+": "+", "-": "−"}
TAGS = {Word.NAME: "mi", Word.NUMBER: "mn", Word.SIGN: "mo", Word.RELATION: "mo", Word.SET: "mi", Word.TEXT: "mi"}


def to_mathml(milp: Milp) -> str:
    """Write a model as paragraphs of HTML, one a line of the model, with the name of the row at its end.

    Each term is a ``<math>`` element of its own, so that a browser breaks long lines between terms.
    """
    return f"<div>{''.join(map(_line, lines(milp)))}</div>"


def _line(line: FormulaLine) -> str:
    label = f' <span class="label">{escape(plain(line.label))}</span>' if line.label else ""
    parts = " ".join(f"<math><mrow>{''.join(map(_token, part))}</mrow></math>" for part in _parts(line.tokens))
    return f"<p>{parts}{label}</p>"


def _parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens up to each sign or relation, before which a line may break."""
    part: list[Token] = []
    for token in tokens:
        begins = token.word in (Word.SIGN, Word.RELATION) and part and part[-1].word is not Word.RELATION
        if begins or (part and part[-1].word is Word.TEXT):
            yield part
            part = []
        part.append(token)
    yield part


def _token(token: Token) -> str:
    tag = TAGS[token.word]
    text = plain(token.text) if token.word is Word.NAME else FIXED.get(token.text, token.text)
    return f"<{tag}>{escape(text)}</{tag}>"
