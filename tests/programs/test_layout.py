"""Programs are written in lines that people can read, and stay the same programs."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.programs.layout import MAX_WIDTH, write_program

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
