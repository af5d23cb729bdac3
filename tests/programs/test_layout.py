"""Programs are written in lines that people can read, and stay the same programs."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.programs.layout import INDENT, MAX_WIDTH, write_program

NAMES = st.sampled_from(
    ["x", "distance_matrix", "np.mean(distance_matrix)", "demand[i]", "-0.5", "1e-09", "'ä + ö, if'"]
)


def _join(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(parts, st.sampled_from(["+", "-", "*", "/", "**", "<", "and", "or", "%"]), parts)
    return st.one_of(
        pairs.map(lambda pair: f"({pair[0]} {pair[1]} {pair[2]})"),
        st.tuples(parts, parts, parts).map(lambda three: f"({three[0]} if {three[1]} else {three[2]})"),
        st.lists(parts, min_size=1, max_size=4).map(lambda items: f"np.where({', '.join(items)}, axis=-1)"),
        parts.map(lambda part: f"(lambda y: -y + {part})"),
    )


@given(st.recursive(NAMES, _join, max_leaves=40), st.sampled_from(["return {}", "y = {}", "y[0, 1] += {}"]))
def test_a_program_stays_the_same_and_its_lines_end_in_time(value: str, form: str) -> None:
    tree = ast.parse(f"def f(x):\n    if x:\n        {form.format(value)}\n    return x\n")
    text = write_program(tree)
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(ast.unparse(tree)))
    # A line that stays longer has no operator of two operands, no comma and no condition at which it could be broken.
    for line in text.splitlines():
        assert len(line) <= MAX_WIDTH or line.strip().count(" ") <= ast.unparse(tree).count("'ä + ö, if'") * 3 + 4


def test_the_outermost_and_loosest_operators_begin_lines() -> None:
    mean = "np.mean(distance_matrix)"
    program = f"def f(x):\n    return (1 / x) ** 4 / ({mean} ** 3 + 1 / (1 + 0.474 * {mean})) + 0.158 * {mean}\n"
    lines = write_program(ast.parse(program)).splitlines()
    assert [line.strip()[0] for line in lines] == ["d", "r", "(", "+", ")"]
    assert lines[3] == f"        + 0.158 * {mean}"


@pytest.mark.parametrize("text", ["def f(x):\n    return x + 1", "def f(x):\n    return '" + "a" * 200 + "'"])
def test_short_lines_and_long_constants_stay(text: str) -> None:
    lines = write_program(ast.parse(text)).splitlines()
    assert " ".join(line.strip() for line in lines).replace("( ", "").replace(" )", "") == " ".join(text.split())


def test_a_broken_program_computes_the_same() -> None:
    terms = " + ".join(f"np.sin({k} * x) / (x ** 2 + {k})" for k in range(1, 12))
    source = f"import numpy as np\ndef f(x):\n    return {terms}\n"
    spaces: list[dict[str, object]] = [{}, {}]
    exec(source, spaces[0])
    exec(write_program(ast.parse(source)), spaces[1])
    x = np.linspace(0.0, 3.0, 50)
    assert np.array_equal(spaces[0]["f"](x), spaces[1]["f"](x))  # type: ignore[operator]


def test_a_program_with_as_many_parentheses_as_python_nests_stays() -> None:
    source = "def f(x):\n    return " + "g(" * 200 + "x" + ")" * 200
    assert write_program(ast.parse(source)) == source


def lay_out(line: str) -> list[str]:
    return write_program(ast.parse(line)).splitlines()


@pytest.mark.parametrize("head", ["y = ", "y += ", "ü = ", "return "])
def test_lines_up_to_the_width_stay_and_longer_ones_are_broken(head: str) -> None:
    for width in (MAX_WIDTH, MAX_WIDTH + 1):
        first, second = "a" * 40, "+ " + "b" * (width - len(head) - 43)
        line = f"{head}{first} {second}"
        assert len(line) == width
        # The value is moved first, and broken where it is still too long.
        value = [f"{first} {second}"] if len(head) > INDENT else [first, second]
        broken = [f"{head}(", *(f"    {text}" for text in value), ")"]
        assert lay_out(line) == ([line] if width == MAX_WIDTH else broken)


@pytest.mark.parametrize("width", [MAX_WIDTH, MAX_WIDTH + 1])
def test_a_term_is_broken_within_its_brackets_if_it_alone_is_too_long(width: int) -> None:
    first, second = "b" * 40, "c" * (width - 51)
    term = f"+ f({first}, {second})"
    assert len(f"    {term}") == width
    broken = [term] if width == MAX_WIDTH else [f"+ f({first},", f"    {second})"]
    assert lay_out(f"y = a {term}") == ["y = (", "    a", *(f"    {text}" for text in broken), ")"]


A, B, C = "a" * 30, "b" * 30, "c" * 30


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        (f"{A} + {B} - {C} + 1", [A, f"+ {B}", f"- {C}", "+ 1"]),
        (f"{A} * {B} - -{C} * 2 * -1", [f"{A} * {B}", f"- -{C} * 2 * -1"]),
        (f"-{A} * +{B} / {C} % 2 // 3", [f"-{A}", f"* +{B}", f"/ {C}", "% 2", "// 3"]),
        (f"{A} if not -{B} else -{C} + 1", [A, f"if not -{B}", f"else -{C} + 1"]),
        (f"{A} or ({B} and -{C}) or 2 < 3", [A, f"or ({B} and -{C})", "or 2 < 3"]),
        (f"{A} and {B} < -{C} and (not 2 == 3)", [A, f"and {B} < -{C}", "and (not 2 == 3)"]),
        (f"{A} < {B} + 1 >= {C} != 2 == 3", [A, f"< {B} + 1", f">= {C}", "!= 2", "== 3"]),
        (f"f({A}) + f({B}) @ f({C})", [f"f({A})", f"+ f({B}) @ f({C})"]),
        (f"x[{A}] + [{B}] + {{{C}}} + 2", [f"x[{A}]", f"+ [{B}]", f"+ {{{C}}}", "+ 2"]),
        (f"'{A}' + {B} + '{C}' + ('d' or 'e')", [f"'{A}'", f"+ {B}", f"+ '{C}'", "+ ('d' or 'e')"]),
    ],
)  # fmt: skip
def test_lines_begin_with_the_loosest_operators_and_signs_stay_with_their_operands(
    line: str, broken: list[str]
) -> None:
    assert lay_out(f"y = {line}") == ["y = (", *(f"    {text}" for text in broken), ")"]


def test_arguments_stand_one_to_a_line_below_their_function() -> None:
    assert lay_out(f"if x:\n    y = np.where({A}, {B} + 1, [{C}, 2], axis=-1)") == [
        "if x:",
        "    y = (",
        f"        np.where({A},",
        f"            {B} + 1,",
        f"            [{C}, 2],",
        "            axis=-1)",
        "    )",
    ]


def test_each_of_several_long_statements_is_broken_in_its_place() -> None:
    sum_of_all = f"{A} + {B} + {C}"
    lines = lay_out(
        f"def f(x):\n    y = {sum_of_all}\n    print('between')\n    y += {sum_of_all}\n    return {sum_of_all}"
    )
    assert [line.strip() for line in lines if not line.strip().startswith(("a", "+"))] == [
        "def f(x):", "y = (", ")", "print('between')", "y += (", ")", "return (", ")",
    ]  # fmt: skip
