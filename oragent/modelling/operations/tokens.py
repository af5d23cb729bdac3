"""Tokens of the text syntax of operations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain

MAX_LINE_CHARACTERS = 20_000
TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>\w+)
    |(?P<sign>\.\.|\+=|-=|\*=|<=|>=|[=\[\](){},:;*%+.\-])""",
    re.VERBOSE,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class TokenKind(Enum):
    """Kind of a token."""

    STRING = auto()
    NUMBER = auto()
    WORD = auto()
    SIGN = auto()
    END = auto()


KINDS = {"string": TokenKind.STRING, "number": TokenKind.NUMBER, "word": TokenKind.WORD, "sign": TokenKind.SIGN}


@dataclass(frozen=True)
class Token:
    """Token of a line."""

    kind: TokenKind
    # Text without quotes.
    text: str
    # Position in the line, from 0.
    start: int

    def is_word(self, *words: str) -> bool:
        """Return True if it is one of these words without quotes, in any case."""
        return self.kind is TokenKind.WORD and self.text.casefold() in words

    def is_sign(self, *signs: str) -> bool:
        """Return True if it is one of these signs."""
        return self.kind is TokenKind.SIGN and self.text in signs


def split_tokens(line: str) -> Sequence[Token]:
    """Return the tokens of a line, with an end token.

    Raises:
        ModellingError: The line is too long, or a character does not belong to any token.
    """
    if len(line) > MAX_LINE_CHARACTERS:
        raise ModellingError(f"the line has {len(line):,} characters; expected at most {MAX_LINE_CHARACTERS:,}")
    tokens, position = [], 0
    while position < len(line):
        match = TOKEN.match(line, position)
        if match is None:
            raise ModellingError(
                f"character {position + 1} of '{plain(line, 200)}' cannot be read: put names with spaces or signs in "
                'double quotes, as in "Saint-Denis"'
            )
        if match.lastgroup and match.lastgroup != "space":
            kind, text = KINDS[match.lastgroup], match.group()
            if kind is TokenKind.STRING:
                text = ESCAPE.sub(r"\1", text[1:-1])
            tokens.append(Token(kind, text, position))
        position = match.end()
    return [*tokens, Token(TokenKind.END, "", len(line))]
