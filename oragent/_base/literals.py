"""Reader of untrusted Python literals: numbers, texts, and collections of them.

``ast.literal_eval`` evaluates nothing, but its parser alone can hang a process or fill its memory. This reader accepts
only the forms of literals, in time linear in the length of the text.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from oragent._base.ast_utils import tree_of

MAX_CHARACTERS = 1_000_000
# Maximum depth of nested collections.
MAX_DEPTH = 40

_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r\n\f]|\#[^\n]*|\\\n)+)
    |(?P<text>(?:[rRuUbB]|[bB][rR]|[rR][bB])?(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"
        |'(?!'')(?:[^'\\\n]|\\.)*+'|"(?!"")(?:[^"\\\n]|\\.)*+"))
    |(?P<number>0[xXoObB]\w++|(?:\d[\d_]*+\.?[\d_]*+|\.\d[\d_]*+)(?:[eE][+-]?\d[\d_]*+)?[jJ]?)
    |(?P<name>[^\W\d]\w*+)
    |(?P<sign>\.\.\.|[-+()\[\]{},:.=])""",
    re.VERBOSE | re.DOTALL,
)
_NAMES = {"True": True, "False": False, "None": None, "nan": float("nan"), "inf": float("inf")}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LINE_END = re.compile(r"[\r\n]")


class _Token(NamedTuple):
    kind: str
    text: str


def read_literal(text: str) -> Any:
    """Read a literal as ``ast.literal_eval`` does, also with ``nan``, ``inf`` and ``np.float64(3.85)``.

    Raises:
        ValueError: The text is not a literal, or exceeds ``MAX_CHARACTERS`` or ``MAX_DEPTH``.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a literal of {len(text):,} characters, at most {MAX_CHARACTERS:,} are read")
    reader = _Reader(text)
    items = reader.read_items("")
    if not items.values:
        raise ValueError("no literal")
    if items.commas:
        return tuple(items.values)
    return items.values[0]


class _Items(NamedTuple):
    values: list[Any]
    # Keys of a dict; otherwise empty.
    keys: list[Any]
    commas: int


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = _split_tokens(text)
        self._next = next(self._tokens)
        self._depth = 0

    def read_items(self, closing: str) -> _Items:
        """Read comma-separated values through a closing bracket; an empty ``closing`` stands for the end."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(f"a literal nested deeper than {MAX_DEPTH} levels")
        values: list[Any] = []
        keys: list[Any] = []
        commas = 0
        while self._next.text != closing:
            if len(values) > commas:
                raise ValueError("a comma is missing")
            values.append(self._read_value())
            if closing == "}" and self._take_if(":"):
                keys.append(values[-1])
                values[-1] = self._read_value()
            commas += self._take_if(",")
        self._take_token()
        self._depth -= 1
        if keys and len(keys) != len(values):
            raise ValueError("a dict needs a key for each value")
        return _Items(values, keys, commas)

    def _read_value(self) -> Any:
        value = self._read_signed()
        while self._next.text in ("+", "-") and self._next.kind == "sign" and type(value) in (int, float):
            # The sign belongs to the addend.
            addend = self._read_signed()
            if not isinstance(addend, complex):
                raise ValueError("only complex numbers are sums")
            value = value + addend
        return value

    def _read_signed(self) -> Any:
        sign = self._take_token().text if self._next.kind == "sign" and self._next.text in ("+", "-") else ""
        number = self._read_unsigned()
        if sign and type(number) not in (int, float, complex):
            raise ValueError("only numbers have signs")
        if sign == "-":
            return -number
        return number

    def _read_unsigned(self) -> Any:
        kind, text = self._take_token()
        if kind == "number":
            return _parse_number(text)
        if kind == "text":
            return self._join_texts(text)
        if kind == "name":
            return self._read_name(text)
        if text == "...":
            return ...
        if text not in _CLOSING:
            raise ValueError(f"{text!r} where a value was expected")
        return _build_collection(text, self.read_items(_CLOSING[text]))

    def _join_texts(self, text: str) -> Any:
        """Read a text, or several adjacent ones as one."""
        pieces = [_parse_text(text)]
        while self._next.kind == "text":
            pieces.append(_parse_text(self._take_token().text))
        if len({type(piece) for piece in pieces}) > 1:
            raise ValueError("bytes and text do not mix")
        return (b"" if isinstance(pieces[0], bytes) else "").join(pieces)

    def _read_name(self, name: str) -> Any:
        if name in ("np", "numpy") and self._take_if("."):
            self._take_token("name")
            return self._read_numpy_call()
        if name == "set" and self._take_if("("):
            self._take_token(")")
            return set()
        if name not in _NAMES:
            raise ValueError(f"{name!r} is not a value")
        return _NAMES[name]

    def _read_numpy_call(self) -> Any:
        """Read the first argument of a numpy call; keyword arguments, such as ``dtype``, are skipped."""
        self._take_token("(")
        value = self._read_value()
        while self._take_if(",") and self._next.text != ")":
            self._take_token("name")
            self._take_token("=")
            if self._next.kind == "name" and self._next.text not in _NAMES:
                self._take_token()
            else:
                self._read_value()
        self._take_token(")")
        return value

    def _take_if(self, text: str) -> bool:
        if self._next.kind == "sign" and self._next.text == text:
            self._take_token()
            return True
        return False

    def _take_token(self, expected: str = "") -> _Token:
        token = self._next
        if expected and expected not in (token.text, token.kind):
            raise ValueError(f"{token.text!r} where {expected!r} was expected")
        self._next = next(self._tokens, token)
        return token


def _split_tokens(text: str) -> Iterator[_Token]:
    position = depth = 0
    # Outside of brackets, a literal ends with its line.
    is_begun = has_ended = False
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"{text[position : position + 10]!r} is not part of a literal")
        position = match.end()
        if match.lastgroup == "space":
            has_ended |= is_begun and depth == 0 and bool(_LINE_END.search(match.group().replace("\\\n", "")))
        elif match.lastgroup:
            if has_ended:
                raise ValueError(f"{match.group()[:40]!r} on a line after the literal")
            is_begun = True
            depth += (match.group() in _CLOSING) - (match.group() in _CLOSING.values())
            yield _Token(match.lastgroup, match.group())
    yield _Token("end", "")


def _build_collection(opening: str, items: _Items) -> Any:
    values, keys, commas = items
    if opening == "[":
        return values
    if opening == "(":
        if commas or not values:
            return tuple(values)
        return values[0]
    try:
        if keys or not values:
            return dict(zip(keys, values, strict=True))
        return set(values)
    except TypeError:
        raise ValueError("a key that cannot be one") from None


def _parse_number(text: str) -> int | float | complex:
    try:
        if text[0] == "0" and text[1:2] in ("x", "X", "o", "O", "b", "B"):
            return int(text, 0)
        if text[-1] in "jJ":
            return complex(text)
        if set(text) & set(".eE"):
            return float(text)
        return int(text, 0)
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is not a number") from None


def _parse_text(token: str) -> Any:
    try:
        # The parser gets a single string, so nothing is nested.
        return ast.literal_eval(tree_of(token, "eval"))
    except (ValueError, SyntaxError):
        raise ValueError(f"{token[:40]!r} is not a text") from None
