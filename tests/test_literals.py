"""Literals that strangers print are read as Python reads them, and nothing else is."""

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.literals import MAX_CHARACTERS, MAX_DEPTH, read_literal

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.complex_numbers(allow_nan=False)
ATOMS = st.none() | st.booleans() | NUMBERS | st.text() | st.binary()
KEYS = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
LITERALS = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner) | st.dictionaries(KEYS, inner) | st.tuples(inner, inner) | st.tuples(inner) | st.sets(KEYS)
    ),
    max_leaves=12,
)
PIECES = [
    *"()[]{},:+-.'\"\\#=0123456789eEjJ_xb \n\t", "True", "None", "nan", "np", "np.float64(", "set()", "'a'", "b'x'",
    "...", "0x1F", "1e5", "{1: 2}", "'''", "r'\\'", "1_000", "lambda", "f'{1}'", "**", "if", "for", "\ud800", "é",
]  # fmt: skip


@pytest.mark.slow
@given(LITERALS)
def test_a_literal_is_read_as_python_writes_it(value: object) -> None:
    text = repr(value)
    if "inf" not in text:  # in complex numbers, which nobody prints
        assert read_literal(text) == value
        assert type(read_literal(text)) is type(value)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_is_read_is_what_python_reads(text: str) -> None:
    try:
        found = read_literal(text)
    except ValueError:
        return
    if not any(name in text for name in ("nan", "inf", "np")):
        assert found == ast.literal_eval(text.strip())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("np.float64(3.85)", 3.85),
        ("'a' \\\n 'b' # c\n", "ab"),
        ("('a'\n'b',\n1)", ("ab", 1)),
        ("{'a': np.float64(-1.5), 'b': numpy.int64(3)}", {"a": -1.5, "b": 3}),
        ("np.array([1.0, 2.0], dtype=float32)", [1.0, 2.0]),
        ("2, 0, 1", (2, 0, 1)),
        ("(1)", 1),
        ("(1,)", (1,)),
        ("()", ()),
        ("{}", {}),
        ("set()", set()),
        ("'a' 'b'", "ab"),
        ("r'\\d'", r"\d"),
        ("1 + 2j", 1 + 2j),
        ("-0x1F", -31),
        ("[1, # one\n 2,]", [1, 2]),
        ("-inf", -math.inf),
    ],
)
def test_forms_that_evaluators_print(text: str, value: object) -> None:
    assert read_literal(text) == value
    assert type(read_literal(text)) is type(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "__import__('os')",
        "[1 2]",
        "[1,,2]",
        "[,]",
        "{1: 2, 3}",
        "{1, 2: 3}",
        "{[]: 1}",
        "{[]}",
        "(1",
        "1)",
        "-'a'",
        "-True",
        "1 + 2",
        "f'{1}'",
        "'a' b'b'",
        "'a",
        "'\\x'",
        "1.2.3",
        "007",
        "0x",
        "1__0",
        "9" * 5_000,
        "np.float64(1, 2)",
        "np.float64",
        "os.getcwd()",
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "[" * 100_000,
        "(" * 50 + ")" * 49 + "1 1",
        " " * (MAX_CHARACTERS + 1),
        "'" * MAX_CHARACTERS,
        "-" * MAX_CHARACTERS,
        "1" + "+1j" * 2,
    ],
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_literal(text)
