"""Literals that strangers print are read as Python reads them, and nothing else is."""

import ast
import math
import re
import warnings

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


SMALL = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.sampled_from([0.5, -1e300, 2j, 1 - 2j, "a'b", b"\x00", ...]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=2) | st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=6,
)  # fmt: skip


@given(SMALL, st.data())
def test_a_literal_with_one_piece_changed_is_read_as_python_reads_it(value: object, data: st.DataObject) -> None:
    pieces = [piece for piece in re.split(r"(\w+|\W)", repr(value).replace("Ellipsis", "...")) if piece]
    place = data.draw(st.integers(0, len(pieces)))
    kind = data.draw(st.sampled_from(["none", "drop", "double", "insert"]))
    if kind == "insert":
        pieces.insert(
            place, data.draw(st.sampled_from([*"()[]{},:+-= \n", "\\\n", "# c\n", "True", "'x'", "1", "..."]))
        )
    elif kind != "none":
        pieces[place : place + 1] = pieces[place : place + 1] * (2 if kind == "double" else 0)
    text = "".join(pieces).strip()
    try:
        with warnings.catch_warnings(action="ignore"):
            expected = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        with pytest.raises(ValueError):  # noqa: PT011
            read_literal(text)
    else:
        assert (type(read_literal(text)), read_literal(text)) == (type(expected), expected)


@pytest.mark.parametrize(
    "text",
    [
        "np.f(1 2)",
        "np.f(1 a=2)",
        "np.f(1, 2)",
        "np.f(1, a=2 b=3)",
        "np.f(1, a=f(2))",
        "np.f()",
        "np.f(1,, a=2)",
        "np.f",
        "np.(1)",
    ],
)
def test_calls_of_numpy_have_one_argument_and_names(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_literal(text)


@pytest.mark.parametrize(("depth", "is_read"), [(MAX_DEPTH - 1, True), (MAX_DEPTH, False)])
@pytest.mark.parametrize("brackets", ["[]", "()", "{}"])
def test_the_depth_of_brackets_is_limited(depth: int, is_read: bool, brackets: str) -> None:
    opening, closing = brackets[0] + ("1:" if brackets == "{}" else ""), brackets[1]
    text = opening * depth + "1" + closing * depth
    if is_read:
        assert read_literal(text) == ast.literal_eval(text)
    else:
        with pytest.raises(ValueError):  # noqa: PT011
            read_literal(text)
    # Brackets beside each other are not deeper.
    assert read_literal(f"[{'[[]],' * 100}]") == [[[]]] * 100


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("np.float64(3.85)", 3.85),
        ("'a' \\\n 'b' # c\n", "ab"),
        ("('a'\n'b',\n1)", ("ab", 1)),
        ("{'a': np.float64(-1.5), 'b': numpy.int64(3)}", {"a": -1.5, "b": 3}),
        ("np.array([1.0, 2.0], dtype=float32)", [1.0, 2.0]),
        ("np.array([1], dtype=nan, copy=True,)", [1]),
        ("np.array([], shape=(0, 3), dtype=float64)", []),
        ("np.array([1], fill_value=-1, dtype='O')", [1]),
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
        ("[0xFE, 0b11, 0o17]", [254, 3, 15]),
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
