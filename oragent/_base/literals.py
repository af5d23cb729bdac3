"""Read a Python literal that a stranger printed: numbers, texts, and collections of them.

``ast.literal_eval`` evaluates nothing, but it parses anything, and parsing alone can hang a process or fill its memory.
So this reads the few forms that there are by itself, in time that grows with the length of the text alone.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from oragent._base.trees import tree_of

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 40  # collections within collections

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


class _Token(NamedTuple):
    kind: str
    text: str


def read_literal(text: str) -> Any:
    """Read a literal: what ``ast.literal_eval`` reads, and ``nan``, ``inf``, ``np.float64(3.85)`` as numbers print.

    Raises:
        ValueError: it is none, or longer or deeper than any that is meant well.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a literal of {len(text):,} characters, at most {MAX_CHARACTERS:,} are read")
    reader = _Reader(text)
    found = reader.items("")
    if not found.values:
        raise ValueError("no literal")
    return tuple(found.values) if found.commas else found.values[0]


class _Items(NamedTuple):
    values: list[Any]
    keys: list[Any]  # of a dict; else empty
    commas: int


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = next(self._tokens)
        self._depth = 0

    def items(self, closing: str) -> _Items:
        """Values with commas between them, up to a closing bracket, which is taken; empty: up to the end."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(f"a literal nested deeper than {MAX_DEPTH} levels")
        values: list[Any] = []
        keys: list[Any] = []
        commas = 0
        while self._next.text != closing:
            if len(values) > commas:
                raise ValueError("a comma is missing")
            values.append(self._value())
            if closing == "}" and self._took(":"):
                keys.append(values[-1])
                values[-1] = self._value()
            commas += self._took(",")
        self._take()
        self._depth -= 1
        if keys and len(keys) != len(values):
            raise ValueError("a dict needs a key for each value")
        return _Items(values, keys, commas)

    def _value(self) -> Any:
        found = self._signed()
        while self._next.text in ("+", "-") and self._next.kind == "sign" and type(found) in (int, float):
            other = self._signed()  # with its sign
            if not isinstance(other, complex):
                raise ValueError("only complex numbers are sums")
            found = found + other
        return found

    def _signed(self) -> Any:
        sign = self._take().text if self._next.kind == "sign" and self._next.text in ("+", "-") else ""
        found = self._plain()
        if sign and type(found) not in (int, float, complex):
            raise ValueError("only numbers have signs")
        return -found if sign == "-" else found

    def _plain(self) -> Any:
        kind, text = self._take()
        if kind == "number":
            return _number(text)
        if kind == "text":
            return self._texts(text)
        if kind == "name":
            return self._named(text)
        if text == "...":
            return ...
        if text not in _CLOSING:
            raise ValueError(f"{text!r} where a value was expected")
        return _collected(text, self.items(_CLOSING[text]))

    def _texts(self, text: str) -> Any:
        """A text, or several that stand one behind the other."""
        found = [_text(text)]
        while self._next.kind == "text":
            found.append(_text(self._take().text))
        if len({type(one) for one in found}) > 1:
            raise ValueError("bytes and text do not mix")
        return (b"" if isinstance(found[0], bytes) else "").join(found)

    def _named(self, name: str) -> Any:
        if name in ("np", "numpy") and self._took("."):
            self._take("name")
            return self._wrapped()
        if name == "set" and self._took("("):
            self._take(")")
            return set()
        if name not in _NAMES:
            raise ValueError(f"{name!r} is no value")
        return _NAMES[name]

    def _wrapped(self) -> Any:
        """The first argument of a call; arguments by name only say how it is stored."""
        self._take("(")
        found = self._value()
        while self._took(",") and self._next.text != ")":
            self._take("name")
            self._take("=")
            if self._next.kind == "name" and self._next.text not in _NAMES:
                self._take()
            else:
                self._value()
        self._take(")")
        return found

    def _took(self, text: str) -> bool:
        if self._next.kind == "sign" and self._next.text == text:
            self._take()
            return True
        return False

    def _take(self, wanted: str = "") -> _Token:
        token = self._next
        if wanted and wanted not in (token.text, token.kind):
            raise ValueError(f"{token.text!r} where {wanted!r} was expected")
        self._next = next(self._tokens, token)
        return token


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"{text[place : place + 10]!r} is no part of a literal")
        place = found.end()
        if found.lastgroup and found.lastgroup != "space":
            yield _Token(found.lastgroup, found[0])
    yield _Token("end", "")


def _collected(opening: str, found: _Items) -> Any:
    values, keys, commas = found
    if opening == "[":
        return values
    if opening == "(":
        return tuple(values) if commas or not values else values[0]
    try:
        return dict(zip(keys, values, strict=True)) if keys or not values else set(values)
    except TypeError:
        raise ValueError("a key that cannot be one") from None


def _number(text: str) -> int | float | complex:
    try:
        if text[0] == "0" and text[1:2] in ("x", "X", "o", "O", "b", "B"):
            return int(text, 0)
        if text[-1] in "jJ":
            return complex(text)
        return float(text) if set(text) & set(".eE") else int(text, 0)
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is no number") from None


def _text(token: str) -> Any:
    try:
        return ast.literal_eval(tree_of(token, "eval"))  # one string: nothing in it nests
    except (ValueError, SyntaxError):
        raise ValueError(f"{token[:40]!r} is no text") from None
