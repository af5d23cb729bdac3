"""A model as MathML, which browsers show without any script."""

from html import escape

from oragent.milp.mathematics import Line, Token, Word, lines
from oragent.milp.model import Milp
from oragent.milp.plain import plain

__all__ = ["to_mathml"]

FIXED = {"<=": "≤", ">=": "≥", "=": "=", "in": "∈", "Z": "ℤ", "R": "ℝ", "{0, 1}": "{0, 1}", "+": "+", "-": "−"}
TAGS = {Word.NAME: "mi", Word.NUMBER: "mn", Word.SIGN: "mo", Word.RELATION: "mo", Word.SET: "mi", Word.TEXT: "mi"}


def to_mathml(milp: Milp) -> str:
    """Write a model as one ``<math>`` element: a table with a row for each line, names of rows beside them."""
    body = "".join(_line(line) for line in lines(milp))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block"><mtable>{body}</mtable></math>'


def _line(line: Line) -> str:
    label = f"<mtext>{escape(plain(line.label))}</mtext>" if line.label else ""
    cells = (f"<mrow>{''.join(_token(token) for token in line.tokens)}</mrow>", label)
    return "<mtr>" + "".join(f'<mtd style="text-align: left">{cell}</mtd>' for cell in cells) + "</mtr>"


def _token(token: Token) -> str:
    tag = TAGS[token.word]
    text = plain(token.text) if token.word is Word.NAME else FIXED.get(token.text, token.text)
    return f"<{tag}>{escape(text)}</{tag}>"
