"""A model as LaTeX, to be pasted into a paper; needs ``amsmath`` and ``amssymb``."""

from oragent.milp.mathematics import FormulaLine, Token, Word, lines
from oragent.milp.model import Milp
from oragent.milp.plain import plain

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "|": r"\textbar{}",
}  # fmt: skip
FIXED = {
    "<=": r"\le", ">=": r"\ge", "=": "=", "in": r"\in", "Z": r"\mathbb{Z}", "R": r"\mathbb{R}", "{0, 1}": r"\{0, 1\}",
    "min": r"\min\quad", "max": r"\max\quad", "+": "+", "-": "-",
}  # fmt: skip


def to_latex(milp: Milp) -> str:
    """Write a model as an ``align*`` environment, the rows' names beside them."""
    body = " \\\\\n".join(_line(line) for line in lines(milp))
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def _line(line: FormulaLine) -> str:
    label = f" && {_text(line.label)}" if line.label else ""
    return "& " + " ".join(_token(token) for token in line.tokens) + label


def _token(token: Token) -> str:
    if token.word is Word.NAME:
        return _text(token.text)
    if token.word is Word.NUMBER:
        mantissa, _, exponent = token.text.partition("e")
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa
    return FIXED[token.text]


def _text(name: str) -> str:
    return "\\text{" + "".join(SPECIAL.get(letter, letter) for letter in plain(name)) + "}"
