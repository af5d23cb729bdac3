"""SEARCH/REPLACE edits of a parent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ReplyError
from oragent.programs.blocks import MAX_LINES, MAX_SHOWN, NEAREST, apply_edits
from oragent.programs.extract import extract_program

PARENT = """import numpy as np


def heuristics(distances):
    weights = 1.0 / distances
    for i in range(3):
        weights[i] *= 2.0
    return weights
"""


def edit(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


def fail(reply: str, parent: str | None = PARENT) -> str:
    with pytest.raises(ReplyError) as caught:
        extract_program(reply, "heuristics", parent)
    return str(caught.value)


@pytest.mark.parametrize("dress", ["{}", "```\n{}```", "I double it:\n```python\n{}```\nDone.", "<think>?</think>{}"])
def test_an_edit_is_applied_to_the_parent(dress: str) -> None:
    reply = dress.format(edit("    weights = 1.0 / distances", "    weights = 2.0 / distances"))
    assert extract_program(reply, "heuristics", PARENT) == PARENT.replace("1.0", "2.0")


def test_edits_are_applied_one_after_the_other() -> None:
    reply = edit("    return weights", "    extra = 1\n    return weights") + edit("    extra = 1", "    extra = 2")
    assert "    extra = 2\n    return weights\n" in extract_program(reply, "heuristics", PARENT)


def test_lines_can_be_deleted() -> None:
    reply = "<<<<<<< SEARCH\n    for i in range(3):\n        weights[i] *= 2.0\n=======\n>>>>>>> REPLACE"
    assert extract_program(reply, "heuristics", PARENT) == PARENT.replace(
        "    for i in range(3):\n        weights[i] *= 2.0\n", ""
    )


def test_white_space_may_differ_and_the_indentation_follows_the_parent() -> None:
    reply = edit("for i in  range(3):\n    weights[i]  *= 2.0", "for i in range(5):\n    weights[i] *= 3.0")
    expected = PARENT.replace("range(3)", "range(5)").replace("2.0", "3.0")
    assert extract_program(reply, "heuristics", PARENT) == expected


def test_an_exact_match_goes_before_a_tolerant_one() -> None:
    parent = "if True:\n    a = 1\na = 1\ndef heuristics(x): return a\n"
    assert extract_program(edit("a = 1", "a = 2"), "heuristics", parent) == (
        "if True:\n    a = 1\na = 2\ndef heuristics(x): return a\n"
    )


def test_an_import_that_an_edit_needs_is_added() -> None:
    code = extract_program(edit("    return weights", "    return weights * math.pi"), "heuristics", PARENT)
    assert "import math" in code


def test_the_first_edit_that_finds_nothing_is_named() -> None:
    reply = edit("    return weights", "    return 2 * weights") + edit("    gone = 1", "x") + edit("    gone = 2", "x")
    message = fail(reply)
    assert "block 2 of 3" in message
    assert "'gone = 1'" in message


def test_an_edit_without_its_end_is_told() -> None:
    assert "no end" in fail("<<<<<<< SEARCH\n    return weights\n=======\n    return")


def test_an_empty_search_is_told() -> None:
    assert "empty" in fail(edit("", "x = 1"))


def test_an_edit_without_a_parent_is_told() -> None:
    assert "no parent" in fail(edit("a", "b"), parent=None)


def test_an_edit_that_breaks_the_program_is_told() -> None:
    assert fail(edit("    return weights", "    return (weights")).startswith("after the edits: syntax error in line")


def test_an_edit_that_renames_the_function_is_told() -> None:
    assert "does not define 'heuristics'" in fail(edit("def heuristics(distances):", "def weigh(distances):"))


@pytest.mark.slow
@given(st.data())
def test_any_line_of_any_parent_can_be_replaced(data: st.DataObject) -> None:
    names = st.sampled_from(["alpha", "beta", "gamma"])
    body = data.draw(st.lists(st.tuples(names, st.integers(0, 9)), min_size=1, max_size=8, unique=True))
    lines = ["def heuristics(x):", *(f"    {name} = {value}" for name, value in body), "    return x"]
    row = data.draw(st.integers(1, len(lines) - 2))
    changed = [*lines[:row], "    delta = 5", *lines[row + 1 :]]
    margin = data.draw(st.sampled_from(["", "  ", "    ", "\t"]))  # however the model indents it
    reply = edit(margin + lines[row].strip(), f"{margin}delta = 5")
    assert extract_program(reply, "heuristics", "\n".join(lines)) == "\n".join(changed) + "\n"


def test_a_text_that_occurs_once_is_replaced_inside_its_line() -> None:
    parent = "def f(x):\n    return 2 * x + 1\n"
    assert apply_edits(edit("2 * x", "3 * x"), parent) == "def f(x):\n    return 3 * x + 1\n"
    assert (
        apply_edits(edit("x):\n    return 2", "x, y=5):\n    return y"), parent)
        == "def f(x, y=5):\n    return y * x + 1\n"
    )


def test_a_text_that_occurs_twice_inside_lines_is_not_replaced() -> None:
    with pytest.raises(ReplyError):
        apply_edits(edit("2 * x", "3 * x"), "def f(x):\n    y = 2 * x + 1\n    return 2 * x + y\n")


def find_hint(search: str, parent: str) -> list[str]:
    """Return the lines of the parent that a failed edit is answered with."""
    with pytest.raises(ReplyError) as caught:
        apply_edits(edit(search, "x"), parent)
    return str(caught.value).partition(f"{NEAREST}\n")[2].splitlines()


@pytest.mark.parametrize(
    ("search", "hint"),
    [
        ("    a = b + d\n    e = f", ["    a = b + c", "    e = f"]),
        ("    e = f\n    return x", ["    e = f", "    return g"]),
        # At least half of the words are shared, counted with their repetitions.
        ("return g h i", ["    return g"]),
        ("return g h i j", []),
        ("g g g", []),
        ("def h(x):\n    a = b + c\n    e = f\n    return g\n    more", ["def h(x):", "    a = b + c", "    e = f", "    return g"]),
        ("far away", []),
    ],
)  # fmt: skip
def test_the_hint_of_a_failed_edit_is_the_lines_that_share_most_words(search: str, hint: list[str]) -> None:
    assert find_hint(search, "def h(x):\n    a = b + c\n    e = f\n    return g\n") == hint


def test_hints_are_short() -> None:
    long = "a = " + "b" * 200
    assert find_hint("c = " + "b" * 200, long) == [long[:200]]
    for count, is_shown in ((MAX_LINES, True), (MAX_LINES + 1, False)):
        assert bool(find_hint("a = 2", "a = 1\n" + "x\n" * (count - 1))) is is_shown
    for count, is_shown in ((MAX_SHOWN, True), (MAX_SHOWN + 1, False)):
        lines = "".join(f"a{number} = 1\n" for number in range(count))
        assert len(find_hint(lines.replace("a0 =", "a0 +=").strip(), lines)) == count * is_shown


@pytest.mark.parametrize(
    ("edits", "changed"),
    [
        # The first match is replaced; the last line can be one.
        (edit("b", "c"), "a\nc\n  b\na\nb\n"),
        (edit("a\nb", "c"), "c\n  b\na\nb\n"),
        (edit("  b\na\nb", "c"), "a\nb\nc\n"),
        (edit("a\nb\n  b\na\nb", "c"), "c\n"),
        # White space counts only if some lines match with it, and the margin is that of the lines found.
        (edit("    b\n    a", "    c\n      d\n\n    e"), "a\nb\n  c\n    d\n\n  e\nb\n"),
        (edit("\n  a\n  b\n\n", "\n  c\n"), "c\n  b\na\nb\n"),
    ],
)  # fmt: skip
def test_lines_are_found_from_the_first_to_the_last(edits: str, changed: str) -> None:
    assert apply_edits(edits, "a\nb\n  b\na\nb\n") == changed
